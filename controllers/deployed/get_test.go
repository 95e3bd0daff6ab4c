package deployed

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/pki"
)

// TestGet: the program's certificate is compared, and shown to it where its key is known.
func TestGet(t *testing.T) {
	own, key, err := pki.SelfSignServer(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), "own")
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := pki.SelfSignServer(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), "other")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(own, key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Date") != "x" {
			http.Error(w, "", http.StatusBadRequest)
		} else if _, err := w.Write([]byte{'0' + byte(len(r.TLS.PeerCertificates))}); err != nil {
			t.Error(err)
		}
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	defer s.Close()
	address, ok := s.Listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal(s.Listener.Addr())
	}
	for name, c := range map[string]struct {
		leaf  []byte
		date  string
		shown int
		says  string
	}{
		"its certificate":         {own, "x", 0, ""},
		"with its key":            {append(append([]byte{}, own...), key...), "x", 1, ""},
		"another one":             {other, "x", 0, "it shows another certificate"},
		"none":                    {nil, "x", 0, "holds no certificate"},
		"an answer that is wrong": {own, "", 0, "it answers 400"},
	} {
		shown, err := Get[int](t.Context(), address.IP.String(), address.Port, "/", c.leaf, http.Header{"Date": {c.date}})
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || shown != c.shown {
			t.Errorf("%s: %d, %v", name, shown, err)
		}
	}
}
