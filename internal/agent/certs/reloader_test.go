package certs

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/platform"
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
			var r Reloader
			r.Open(eventloop.Loop{Logger: slog.New(slog.DiscardHandler)}, platform.Places{}, nil, func() {})
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

// TestReplacedAt: a running server's pair is being replaced from its installation on; what a server is started with is
// not.
func TestReplacedAt(t *testing.T) {
	defer func(before time.Time) { now = before }(now)
	now = time.Now() // Read judges by the clock
	var r Reloader
	places := platform.Places{TLS: t.TempDir(), Run: t.TempDir()}
	r.Open(eventloop.Loop{Logger: slog.New(slog.DiscardHandler)}, places, nil, func() {})
	publish := func() {
		t.Helper()
		m := material(t, ca(t, nil))
		for name, data := range map[string][]byte{"tls.crt": m.Cert, "tls.key": m.Key, "ca.crt": m.CA,
			agentapi.ControlCAKey: m.ControlCA} {
			if err := os.WriteFile(filepath.Join(places.TLS, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if !r.Read() {
			t.Fatal("not installed")
		}
	}
	publish()
	r.Started(7, Run{Provider: true, Pair: r.Installed()})
	if at := r.ReplacedAt(); !at.IsZero() {
		t.Errorf("started with it: %s", at)
	}
	publish()
	installed := r.ReplacedAt()
	if installed.IsZero() {
		t.Error("it is to be loaded")
	}
	r.onReloaded(7, r.Installed(), nil, true, time.Second)
	if loaded := r.ReplacedAt(); !loaded.After(installed) {
		t.Errorf("loaded: %s, and installed %s", loaded, installed)
	}
	r.Started(8, Run{Provider: true, Pair: r.Installed()})
	if at := r.ReplacedAt(); !at.IsZero() {
		t.Errorf("started anew: %s", at)
	}
}
