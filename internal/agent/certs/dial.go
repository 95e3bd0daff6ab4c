package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	dialTimeout = 2 * time.Second
	// serverSpeaksFirstTimeout is how long a server that speaks first without TLS is waited for. A plain gcomm
	// acceptor answers within a millisecond, a dynamic one after 750 ms; a strict one never.
	serverSpeaksFirstTimeout = 2500 * time.Millisecond
	// plainGreetingTimeout is how long a plain acceptor is waited for: longer than it takes, shorter than a dynamic one.
	plainGreetingTimeout = 300 * time.Millisecond
)

// Credentials are what the agent presents and trusts: its own node's.
type Credentials struct {
	Pair  *tls.Certificate
	Roots *x509.CertPool
	// Name is a name that the other side's certificate must carry, "" for any.
	Name string
}

// config asks for no name: Galera itself checks the chain only. Verification is done by hand after the
// handshake, so that an unverified chain is still shown.
func (c Credentials) config() *tls.Config {
	conf := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // see describe
	if c.Pair != nil {
		conf.Certificates = []tls.Certificate{*c.Pair}
	}
	return conf
}

// anonymous presents no certificate: port 3306 refuses that of a node.
func (c Credentials) anonymous() Credentials { return Credentials{Roots: c.Roots, Name: c.Name} }

// describe returns what a finished handshake showed.
func (c Credentials) describe(state tls.ConnectionState, now time.Time) agentapi.ChannelFact {
	fact := agentapi.ChannelFact{
		Observed: agentapi.ObservedTLS, CheckedAt: now,
		Protocol: protocolName(state.Version), Cipher: tls.CipherSuiteName(state.CipherSuite),
	}
	if len(state.PeerCertificates) == 0 {
		fact.Problem = "no certificate was presented"
		return fact
	}
	leaf := state.PeerCertificates[0]
	notAfter := leaf.NotAfter.UTC()
	fact.Serial, fact.NotAfter = leaf.SerialNumber.Text(16), &notAfter
	intermediates := x509.NewCertPool()
	for _, cert := range state.PeerCertificates[1:] {
		intermediates.AddCert(cert)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: c.Roots, Intermediates: intermediates, CurrentTime: now,
		DNSName:   c.Name,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		fact.Problem = "the certificate that was presented is not trusted: " + err.Error()
		return fact
	}
	fact.Verified = true
	return fact
}

func protocolName(version uint16) string {
	switch version {
	case tls.VersionTLS13:
		return "TLSv1.3"
	case tls.VersionTLS12:
		return "TLSv1.2"
	}
	return tls.VersionName(version)
}

func unknown(problem string, now time.Time) agentapi.ChannelFact {
	return agentapi.ChannelFact{Observed: agentapi.ObservedUnknown, Problem: problem, CheckedAt: now}
}

// groupTLS dials group communication with TLS and the node's own certificate. It waits for the first
// bytes inside the channel: with TLS 1.3 only they show that the certificate was accepted, and
// a connection that ends after them leaves no line in the peer's log. With listen, it first waits for a plain
// acceptor to speak: a handshake would leave "Failed to unserialize message" in its log.
func groupTLS(ctx context.Context, addr string, c Credentials, listen bool) agentapi.ChannelFact {
	now := time.Now()
	conn, err := dial(ctx, addr)
	if err != nil {
		return unknown(err.Error(), now)
	}
	defer func() { _ = conn.Close() }()
	if listen {
		if speaksPlain(conn) {
			return agentapi.ChannelFact{Observed: agentapi.ObservedPlaintext, CheckedAt: now}
		}
		_ = conn.SetDeadline(time.Now().Add(2 * dialTimeout))
	}
	secure := tls.Client(conn, c.config())
	if err := secure.HandshakeContext(ctx); err != nil {
		var notTLS tls.RecordHeaderError
		if errors.As(err, &notTLS) {
			return agentapi.ChannelFact{Observed: agentapi.ObservedPlaintext, CheckedAt: now}
		}
		return unknown("TLS handshake: "+err.Error(), now)
	}
	fact := c.describe(secure.ConnectionState(), now)
	if _, err := secure.Read(make([]byte, 64)); err != nil && fact.Problem == "" {
		fact.Problem = "the peer ended the connection after the handshake: " + err.Error()
	}
	return fact
}

// groupPlain connects to group communication without TLS and reports whether it spoke to us. An error
// means that nothing was learnt.
func groupPlain(ctx context.Context, addr string) (accepted bool, err error) {
	conn, err := dial(ctx, addr)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(serverSpeaksFirstTimeout))
	said := make([]byte, 64)
	n, err := conn.Read(said)
	switch {
	case isTLS(said[:n]):
		return false, nil // it hangs up, in TLS
	case n > 0:
		return true, nil
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return false, nil
	}
	return false, err
}

// speaksPlain reports whether a plain acceptor speaks to us, which it does at once.
func speaksPlain(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(plainGreetingTimeout))
	said := make([]byte, 64)
	n, _ := conn.Read(said)
	return n > 0 && !isTLS(said[:n])
}

// isTLS reports whether a TLS record begins so: an alert or a part of a handshake, of any version
// (RFC 8446, section 5.1). A gcomm message cannot: by its length, which comes first, it would be one of 66 KiB or more.
func isTLS(said []byte) bool {
	return len(said) >= 3 && (said[0] == 21 || said[0] == 22) && said[1] == 3 && said[2] >= 1 && said[2] <= 4
}

func dial(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetNoDelay(true)
	}
	return conn, conn.SetDeadline(time.Now().Add(2 * dialTimeout))
}
