package external

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// TestVerify: a source is believed by its CA, and with Identity by its name, too.
func TestVerify(t *testing.T) {
	s := httptest.NewTLSServer(nil) // its certificate names example.com
	defer s.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	foreign := authority(t)
	for name, c := range map[string]struct {
		server Server
		good   bool
	}{
		"its name":         {Server{Host: "example.com", CA: ca, Identity: true}, true},
		"another name":     {Server{Host: "example.org", CA: ca, Identity: true}, false},
		"its CA":           {Server{Host: "example.org", CA: ca}, true},
		"no CA of its own": {Server{Host: "example.com", CA: foreign, Identity: true}, false},
		"a foreign CA":     {Server{Host: "example.com", CA: foreign}, false},
	} {
		config, err := c.server.verify()
		if err != nil {
			t.Fatal(err)
		}
		conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
		if err == nil {
			_ = conn.Close()
		}
		if (err == nil) != c.good || err != nil && !Refused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (Server{CA: []byte("none")}).Open(); err == nil {
		t.Error("a CA without a certificate is taken")
	}
}

// authority is the certificate of another CA.
func authority(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestErrors: what the source refuses, what does not answer, and what has changed are distinguished.
func TestErrors(t *testing.T) {
	answer := func(n uint16) error { return ofSource("reading", &mysql.MySQLError{Number: n}) }
	for name, c := range map[string]struct {
		err                           error
		refused, changed, unreachable bool
	}{
		"a password": {answer(1045), true, false, false}, "a host": {answer(1130), true, false, false},
		"an altered table": {answer(1412), false, true, false}, "a dropped table": {answer(1146), false, true, false},
		"a dropped column": {answer(1054), false, true, false},
		"no route": {ofSource("connecting", &net.OpError{Op: "dial", Err: context.DeadlineExceeded}), false, false,
			true},
		"a broken stream": {ofSource("reading", fmt.Errorf("x: %w", io.ErrUnexpectedEOF)), false, false, true},
	} {
		if Refused(c.err) != c.refused || errors.Is(c.err, ErrChanged) != c.changed || Unreachable(c.err) != c.unreachable {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}

// TestRefuses: what passes by itself is no refusal of a definition, so that a copy is tried again.
func TestRefuses(t *testing.T) {
	for number, want := range map[uint16]bool{1005: true, 1050: true, 1064: true, 1142: true, 1273: true,
		1021: false, 1047: false, 1053: false, 1114: false, 1205: false, 1213: false, 1290: false, 1317: false, 1927: false} {
		if is := refuses(fmt.Errorf("x: %w", &mysql.MySQLError{Number: number})); is != want {
			t.Errorf("%d: %t", number, is)
		}
	}
	if refuses(mysql.ErrInvalidConn) {
		t.Error("a broken connection is a refusal")
	}
}
