package store

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// anotherCA is the certificate of a CA that has signed nothing.
func anotherCA(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestRenewedCA: the store's CA alone is trusted, as it is now. What is no CA, or cannot be read, does not have the
// public ones trusted in its place.
func TestRenewedCA(t *testing.T) {
	var connections atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.StartTLS()
	defer s.Close()
	right := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	dir := t.TempDir()
	file := filepath.Join(dir, task.CA)
	client := place{task.Store{}, dir}.client()
	for _, c := range []struct {
		name string
		ca   []byte
		says string
	}{
		{"its CA", right, ""},
		{"another one", anotherCA(t), "x509"},
		{"its CA again", right, ""},
		{"none in PEM", []byte("-----BEGIN"), "holds no certificate in PEM"},
		{"both", append(anotherCA(t), right...), ""},
		{"none at all", nil, "x509"},
	} {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if c.ca != nil {
			if err := os.WriteFile(file, c.ca, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before := connections.Load()
		for range 3 {
			ask(t, client, s.URL, c.name, c.says)
		}
		if n := connections.Load() - before; c.says == "" && n != 1 {
			t.Errorf("with %s there are %d connections", c.name, n)
		}
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	ask(t, client, s.URL, "one that cannot be read", "is a directory")
}

func ask(t *testing.T, client *http.Client, url, name, says string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("with %s: %v", name, err)
	}
}

// TestRedirection: a redirection is not followed: credentials are for the endpoint alone.
func TestRedirection(t *testing.T) {
	var followed atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	ask(t, place{task.Store{}, t.TempDir()}.client(), s.URL, "a redirection", "")
	if followed.Load() {
		t.Error("it is followed")
	}
}

// TestPublic: a service that does not answer is not waited for without end, and no old TLS is spoken.
func TestPublic(t *testing.T) {
	if p := public(); p.TLSClientConfig.MinVersion != tls.VersionTLS12 || p.TLSClientConfig.InsecureSkipVerify ||
		p.ResponseHeaderTimeout != time.Minute || p.TLSHandshakeTimeout != 10*time.Second {
		t.Errorf("%+v", p)
	}
}
