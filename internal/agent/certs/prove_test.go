package certs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// self is a self-signed pair and a pool that trusts it.
func self(t *testing.T) Credentials {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(0xabc), Subject: pkix.Name{CommonName: "x"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return Credentials{Pair: &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert}, Roots: pool}
}

// listen runs handle for every connection.
func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				handle(conn)
			})
		}
	}()
	return l.Addr().String()
}

// The three ways a gcomm acceptor behaves, as seen on 11.8.6.
func plainGroup(conn net.Conn) {
	_, _ = conn.Write([]byte("$\x00\x00\x02handshake"))
	_, _ = io.Copy(io.Discard, conn)
}

func strictGroup(c Credentials) func(net.Conn) {
	return func(conn net.Conn) {
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*c.Pair},
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: c.Roots})
		if secure.Handshake() == nil {
			_, _ = secure.Write([]byte("$\x00\x00\x02handshake"))
			_, _ = io.Copy(io.Discard, secure)
		}
	}
}

func TestGroupTLS(t *testing.T) {
	t.Parallel()
	own, foreign := self(t), self(t)
	strict := listen(t, strictGroup(own))
	fact := groupTLS(context.Background(), strict, own, false)
	if fact.Observed != agentapi.ObservedTLS || !fact.Verified || fact.Problem != "" || fact.Protocol != "TLSv1.3" ||
		fact.Serial != "abc" || fact.NotAfter == nil {
		t.Errorf("strict: %+v", fact)
	}
	fact = groupTLS(context.Background(), strict, Credentials{Pair: own.Pair, Roots: foreign.Roots}, false)
	if fact.Observed != agentapi.ObservedTLS || fact.Verified || fact.Problem == "" {
		t.Errorf("a chain we do not trust: %+v", fact)
	}
	fact = groupTLS(context.Background(), strict, Credentials{Pair: foreign.Pair, Roots: own.Roots}, false)
	if fact.Problem == "" {
		t.Errorf("a certificate the peer does not trust must show, also with TLS 1.3: %+v", fact)
	}
	if fact := groupTLS(context.Background(), listen(t, plainGroup), own,
		false); fact.Observed != agentapi.ObservedPlaintext {
		t.Errorf("plain: %+v", fact)
	}
	var heard []byte
	done := make(chan struct{})
	quiet := listen(t, func(conn net.Conn) {
		_, _ = conn.Write([]byte("$\x00\x00\x02handshake"))
		heard, _ = io.ReadAll(conn)
		close(done)
	})
	if fact := groupTLS(context.Background(), quiet, own, true); fact.Observed != agentapi.ObservedPlaintext {
		t.Errorf("plain, as is expected: %+v", fact)
	}
	if <-done; len(heard) > 0 {
		t.Errorf("a plain acceptor got %d bytes, of which it would complain in its log", len(heard))
	}
	if fact := groupTLS(context.Background(), strict, own, true); fact.Observed != agentapi.ObservedTLS || !fact.Verified {
		t.Errorf("strict, where plaintext is expected: %+v", fact)
	}
	if fact := groupTLS(context.Background(), "127.0.0.1:1", own, false); fact.Observed != agentapi.ObservedUnknown ||
		fact.Problem == "" {
		t.Errorf("no peer: %+v", fact)
	}
}

func TestGroupPlain(t *testing.T) {
	t.Parallel()
	own := self(t)
	for name, c := range map[string]struct {
		handle func(net.Conn)
		want   bool
	}{
		"plain": {plainGroup, true},
		"dynamic": {func(conn net.Conn) { time.Sleep(750 * time.Millisecond); plainGroup(conn) },
			true},
		"strict": {strictGroup(own), false},
		"plain, with a message of 789 bytes": {func(conn net.Conn) { _, _ = conn.Write([]byte{21, 3, 0, 0, 1, 2, 3, 4}) },
			true},
		"strict, with an alert at the end": {func(conn net.Conn) { _, _ = conn.Write([]byte{21, 3, 1, 0, 2, 1, 0}) },
			false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := groupPlain(context.Background(), listen(t, c.handle)); err != nil || got != c.want {
				t.Errorf("accepted %v, %v; want %v", got, err, c.want)
			}
		})
	}
	if _, err := groupPlain(context.Background(), "127.0.0.1:1"); err == nil {
		t.Error("no peer there proves nothing")
	}
	hangsUp := listen(t, func(net.Conn) {})
	if _, err := groupPlain(context.Background(), hangsUp); err == nil {
		t.Error("a connection that is closed at once proves nothing")
	}
}

// mysqld is as much of a server as the probe sees of one.
type mysqld struct {
	creds    *Credentials // nil: offers no TLS
	required uint16       // the error a login without TLS gets, 0 for none
	shown    *atomic.Int64
}

func (m mysqld) handle(conn net.Conn) {
	greeting := append([]byte{10}, "11.8.6-MariaDB\x00"...)
	greeting = append(greeting, make([]byte, 13)...)
	caps := uint16(capProtocol41 | capSecure)
	if m.creds != nil {
		caps |= capSSL
	}
	greeting = binary.LittleEndian.AppendUint16(greeting, caps)
	_ = writePacket(conn, 0, append(greeting, make([]byte, 30)...))
	first, err := readPacket(conn)
	if err != nil {
		return
	}
	if binary.LittleEndian.Uint32(first)&capSSL != 0 && m.creds != nil {
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*m.creds.Pair},
			ClientAuth: tls.RequestClientCert, VerifyConnection: func(state tls.ConnectionState) error {
				if m.shown != nil && len(state.PeerCertificates) > 0 {
					m.shown.Add(1)
				}
				return nil
			}})
		if _, err := readPacket(secure); err == nil && m.shown != nil {
			_ = writePacket(secure, 3, append(binary.LittleEndian.AppendUint16([]byte{answerError}, codeDenied), "#28000no"...))
		} else if err == nil {
			_ = writePacket(secure, 3, []byte("\xfemysql_native_password\x00"))
		}
		return
	}
	if m.required != 0 {
		_ = writePacket(conn, 2, append(binary.LittleEndian.AppendUint16([]byte{answerError}, m.required), "#08004no"...))
		return
	}
	_ = writePacket(conn, 2, []byte("\xfemysql_native_password\x00"))
}

func TestClients(t *testing.T) {
	t.Parallel()
	own := self(t)
	for name, c := range map[string]struct {
		m        mysqld
		observed string
		accepted bool
	}{
		"required":       {mysqld{creds: &own, required: codeInsecure}, agentapi.ObservedTLS, false},
		"required, 10.x": {mysqld{creds: &own, required: codeDenied}, agentapi.ObservedTLS, false},
		"preferred":      {mysqld{creds: &own, required: 0}, agentapi.ObservedTLS, true},
		"disabled":       {mysqld{creds: nil, required: 0}, agentapi.ObservedPlaintext, true},
	} {
		addr := listen(t, c.m.handle)
		fact := clientsTLS(context.Background(), addr, own)
		if fact.Observed != c.observed || fact.Problem != "" || fact.Verified != (c.observed == agentapi.ObservedTLS) {
			t.Errorf("%s: %+v", name, fact)
		}
		if got, err := ClientsPlain(context.Background(), addr); err != nil || got != c.accepted {
			t.Errorf("%s: accepted %v, %v", name, got, err)
		}
	}
	busy := listen(t, func(conn net.Conn) { _ = writePacket(conn, 0, []byte("\xff\x10\x04Too many connections")) })
	if fact := clientsTLS(context.Background(), busy, own); fact.Observed != agentapi.ObservedUnknown ||
		!strings.Contains(fact.Problem, "Too many") {
		t.Errorf("%+v", fact)
	}
	if _, err := ClientsPlain(context.Background(), busy); err == nil {
		t.Error("too many connections is no proof of refused plaintext")
	}
}

func TestJudgeLogin(t *testing.T) {
	for _, answer := range [][]byte{nil, {answerError}, {answerError, 1}, {42}, {answerError, 0x10, 0x04}} {
		if accepted, err := judgeLogin(answer); err == nil {
			t.Errorf("%v: accepted %v, no error", answer, accepted)
		}
	}
}

func TestJudges(t *testing.T) {
	tlsFact := agentapi.ChannelFact{Observed: agentapi.ObservedTLS}
	plain := agentapi.ChannelFact{Observed: agentapi.ObservedPlaintext}
	for name, c := range map[string]struct {
		got     agentapi.ChannelFact
		want    string
		refused bool
		problem bool
	}{
		"strict, refused":   {judgeGroup(tlsFact, galera.SocketStrict, RefusedYes), agentapi.ObservedTLS, true, false},
		"strict, not tried": {judgeGroup(tlsFact, galera.SocketStrict, RefusedUnknown), agentapi.ObservedTLS, false, false},
		"strict, accepted":  {judgeGroup(tlsFact, galera.SocketStrict, RefusedNo), agentapi.ObservedMixed, false, true},
		"dynamic": {judgeGroup(tlsFact, galera.SocketDynamic, RefusedUnknown), agentapi.ObservedMixed, false,
			false},
		"dynamic, refused": {judgeGroup(tlsFact, galera.SocketDynamic, RefusedYes), agentapi.ObservedMixed, false, false},
		"plain": {judgeGroup(plain, galera.SocketPlain, RefusedUnknown), agentapi.ObservedPlaintext, false,
			false},
		"required, refused":  {judgeClients(tlsFact, galera.PolicyRequired, RefusedYes), agentapi.ObservedTLS, true, false},
		"required, accepted": {judgeClients(tlsFact, galera.PolicyRequired, RefusedNo), agentapi.ObservedMixed, false, true},
		"required, not tried": {judgeClients(tlsFact, galera.PolicyRequired, RefusedUnknown), agentapi.ObservedTLS, false,
			false},
		"preferred": {judgeClients(tlsFact, galera.PolicyPreferred, RefusedUnknown), agentapi.ObservedMixed, false,
			false},
		"disabled": {judgeClients(plain, galera.PolicyDisabled, RefusedUnknown), agentapi.ObservedPlaintext, false,
			false},
	} {
		if c.got.Observed != c.want || c.got.PlaintextRefused != c.refused || (c.got.Problem != "") != c.problem {
			t.Errorf("%s: %+v", name, c.got)
		}
	}
}

// TestNoCertificateOnPort3306: a server that trusts the clients' CA alone would end the handshake.
func TestNoCertificateOnPort3306(t *testing.T) {
	t.Parallel()
	own, shown := self(t), atomic.Int64{}
	addr := listen(t, mysqld{creds: &own, shown: &shown}.handle)
	if fact := clientsTLS(t.Context(), addr, own); fact.Observed != agentapi.ObservedTLS || !fact.Verified {
		t.Errorf("%+v", fact)
	}
	if _, err := loginPlain(t.Context(), addr, "word", own); err == nil {
		t.Error("this server takes no login")
	}
	if n := shown.Load(); n != 0 {
		t.Errorf("port 3306 was shown a node's certificate %d times", n)
	}
}

// TestPlainIsRememberedPerKey: what was refused under one configuration is no evidence about the next,
// also when that looks the same as an earlier one, and nothing at all when it changed meanwhile.
func TestPlainIsRememberedPerKey(t *testing.T) {
	key := int64(1)
	p := NewProver(func() ProofSubject { return ProofSubject{Key: key} }, nil)
	accepted, tries := false, 0
	try := func(context.Context, string) (bool, error) { tries++; return accepted, nil }
	ask := func(wanted bool) PlainRefusal {
		return p.plain(context.Background(), ProofSubject{Key: key}, "a", wanted, try)
	}
	if got := ask(false); got != RefusedUnknown || tries != 0 {
		t.Errorf("not wanted: %v after %d tries", got, tries)
	}
	if got := []PlainRefusal{ask(true), ask(true)}; got[0] != RefusedYes || got[1] != RefusedYes || tries != 1 {
		t.Errorf("%v after %d tries", got, tries)
	}
	key, accepted = 2, true
	if got := ask(true); got != RefusedNo || tries != 2 {
		t.Errorf("%v after %d tries", got, tries)
	}
	accepted = false
	if got := ask(true); got != RefusedYes || tries != 3 {
		t.Errorf("an alarm is not repeated from memory: %v after %d tries", got, tries)
	}
	stale := ProofSubject{Key: 2}
	key = 3
	if got := p.plain(context.Background(), stale, "b", true, try); got != RefusedUnknown {
		t.Errorf("an attempt during a change proves nothing: %v", got)
	}
	fails := func(context.Context, string) (bool, error) { return false, errors.New("no route") }
	if got := p.plain(context.Background(), ProofSubject{Key: 3}, "c", true, fails); got != RefusedUnknown {
		t.Errorf("an attempt that failed proves nothing: %v", got)
	}
}

// TestPlainPeer: a peer that spoke plaintext gets no handshake the next time, of which Galera complains in its log. Any
// other gets it at once: a dynamic one holds the group up until it comes.
func TestPlainPeer(t *testing.T) {
	t.Parallel()
	own := self(t)
	heard := make(chan int, 1)
	plain := listen(t, func(conn net.Conn) {
		_, _ = conn.Write([]byte("$\x00\x00\x02handshake"))
		all, _ := io.ReadAll(conn)
		heard <- len(all)
	})
	p, s := NewProver(nil, nil), ProofSubject{Running: true, Socket: galera.SocketPlain, Credentials: own}
	for i, handshake := range []bool{true, false, false} {
		if fact := p.peer(t.Context(), s, plain); fact.Observed != agentapi.ObservedPlaintext {
			t.Errorf("look %d: %+v", i, fact)
		}
		if n := <-heard; (n > 0) != handshake {
			t.Errorf("look %d: a plain peer got %d bytes", i, n)
		}
	}
	strict := listen(t, strictGroup(own))
	for _, before := range []bool{true, false} { // it may have been a plain one
		p.spoke[strict] = before
		if fact := p.peer(t.Context(), s, strict); !fact.Verified || p.spoke[strict] {
			t.Errorf("a peer with TLS: %+v; waited for the next time: %t", fact, p.spoke[strict])
		}
	}
}

// TestNoDialWhileCertificatesAreReplaced: nothing is dialled before NotBefore, even when the prover is kicked.
func TestNoDialWhileCertificatesAreReplaced(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	notBefore := time.Now().Add(300 * time.Millisecond)
	seen := make(chan time.Time, 1)
	p := NewProver(func() ProofSubject { return ProofSubject{Key: 1, NotBefore: notBefore} }, func(ProofResult) {
		select {
		case seen <- time.Now():
		default:
		}
	})
	p.Kick()
	go p.Run(ctx)
	if at := <-seen; at.Before(notBefore) {
		t.Errorf("it looked %s too early", notBefore.Sub(at))
	}
}
