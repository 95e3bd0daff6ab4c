package certs

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/platform/paths"
	"github.com/galera-operator/galera-operator/internal/agent/room"
)

func TestAnotherKindOfKeyNeedsARestart(t *testing.T) {
	pair := func(kind x509.PublicKeyAlgorithm) Bundle {
		return Bundle{Pair: tls.Certificate{Leaf: &x509.Certificate{PublicKeyAlgorithm: kind}}}
	}
	for name, tc := range map[string]struct {
		provider bool
		loaded   []x509.PublicKeyAlgorithm
		want     bool
	}{
		"nothing was loaded":       {true, nil, false},
		"the same kind":            {true, []x509.PublicKeyAlgorithm{x509.ECDSA}, false},
		"another kind":             {true, []x509.PublicKeyAlgorithm{x509.RSA}, true},
		"there and back":           {true, []x509.PublicKeyAlgorithm{x509.RSA, x509.ECDSA}, true},
		"the provider has no keys": {false, []x509.PublicKeyAlgorithm{x509.RSA}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var r Room
			r.Open(room.Loop{Logger: slog.New(slog.DiscardHandler)}, paths.Places{}, nil, func() {})
			r.Started(7, Run{Provider: tc.provider, Pair: pair(x509.ECDSA)})
			for _, kind := range tc.loaded {
				r.onReloaded(7, pair(kind), nil, true, time.Second)
			}
			if got := r.KeepsOldKey(); got != tc.want {
				t.Errorf("%t, want %t", got, tc.want)
			}
		})
	}
}
