package agent

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestAnotherKindOfKeyNeedsARestart(t *testing.T) {
	pair := func(kind x509.PublicKeyAlgorithm) certs.Bundle {
		return certs.Bundle{Pair: tls.Certificate{Leaf: &x509.Certificate{PublicKeyAlgorithm: kind}}}
	}
	for name, tc := range map[string]struct {
		socket galera.SocketMode
		loaded []x509.PublicKeyAlgorithm
		want   bool
	}{
		"nothing was loaded":       {galera.SocketStrict, nil, false},
		"the same kind":            {galera.SocketStrict, []x509.PublicKeyAlgorithm{x509.ECDSA}, false},
		"another kind":             {galera.SocketStrict, []x509.PublicKeyAlgorithm{x509.RSA}, true},
		"there and back":           {galera.SocketDynamic, []x509.PublicKeyAlgorithm{x509.RSA, x509.ECDSA}, true},
		"the provider has no keys": {galera.SocketPlain, []x509.PublicKeyAlgorithm{x509.RSA}, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := &agent{Options: Options{Logger: slog.New(slog.DiscardHandler)}}
			a.proc = &server.Process{PID: 7}
			a.run = running{output: servercnf.Output{Socket: tc.socket}, pair: pair(x509.ECDSA)}
			for _, kind := range tc.loaded {
				a.onReloaded(7, pair(kind), nil, true, time.Second)
			}
			if got := keepsOldKey(a.run); got != tc.want {
				t.Errorf("%t, want %t", got, tc.want)
			}
		})
	}
}
