package agentapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// agentServer is a TLS server with httptest's certificate, whose name is example.com.
func agentServer(t *testing.T, handler http.HandlerFunc) (string, *x509.CertPool) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return strings.TrimPrefix(server.URL, "https://"), pool
}

func reply(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func TestClientStatus(t *testing.T) {
	var query string
	host, pool := agentServer(t, func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		reply(w, http.StatusOK, Report{Name: "a", Generation: 7})
	})
	c := NewClient(tls.Certificate{}, pool, "example.com")
	defer c.Close()
	for want, ask := range map[string]func() (Report, error){
		"":                func() (Report, error) { return c.Status(context.Background(), host, -1, time.Second) },
		"since=3&wait=2s": func() (Report, error) { return c.Status(context.Background(), host, 3, 2*time.Second) },
	} {
		r, err := ask()
		if err != nil || r.Name != "a" || r.Generation != 7 || query != want {
			t.Errorf("%+v %v, query %q, want %q", r, err, query, want)
		}
	}
	if _, err := NewClient(tls.Certificate{}, pool, "other.name").Status(context.Background(), host, -1, 0); err == nil {
		t.Error("an agent with another name was believed")
	}
	if _, err := NewClient(tls.Certificate{}, x509.NewCertPool(), "example.com").Status(context.Background(), host, -1,
		0); err == nil {
		t.Error("an agent of another CA was believed")
	}
}

// TestOneConnectionStays: a request sent during a question needs a second connection, and only one of the two is kept.
func TestOneConnectionStays(t *testing.T) {
	asked, reported := make(chan struct{}), make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == PathStatus {
			close(asked)
			<-reported
		}
		reply(w, http.StatusOK, Report{})
	}))
	closed := make(chan struct{}, 2)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	c, host := NewClient(tls.Certificate{}, pool, "example.com"), strings.TrimPrefix(server.URL, "https://")
	answered := make(chan error)
	go func() {
		_, err := c.Status(t.Context(), host, 1, time.Minute)
		answered <- err
	}()
	<-asked
	if err := c.ReportPrimary(t.Context(), host, Primary{Name: "shop-0"}); err != nil {
		t.Fatal(err)
	}
	close(reported)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("both connections are kept")
	}
}

func TestClientOrder(t *testing.T) {
	status, body := 0, any(nil)
	var got Order
	host, pool := agentServer(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&got)
		reply(w, status, body)
	})
	c := NewClient(tls.Certificate{}, pool, "example.com")
	defer c.Close()
	order := Order{ID: "x", Epoch: 2, Kind: OrderStop}
	for _, s := range []struct {
		status int
		body   any
		state  OrderState
		busy   bool
		fails  bool
	}{
		{200, OrderResult{State: OrderAccepted}, OrderAccepted, false, false},
		{200, OrderResult{State: OrderFailed}, OrderFailed, false, false},
		{409, OrderResult{State: OrderRefused, Message: "no"}, OrderRefused, false, false},
		{503, OrderResult{Message: "busy"}, "", true, true},
		{400, OrderResult{State: OrderRefused}, "", false, true},
		{200, "nonsense", "", false, true},
	} {
		status, body = s.status, s.body
		r, err := c.Order(context.Background(), host, order)
		if r.State != s.state || errors.Is(err, errBusy) != s.busy || (err != nil) != s.fails || !got.Same(order) {
			t.Errorf("%d %v: %+v %v (sent %+v)", s.status, s.body, r, err, got)
		}
	}
}

func TestWithPort(t *testing.T) {
	for in, want := range map[string]string{"10.0.0.1": "10.0.0.1:8443", "fd00::1": "[fd00::1]:8443",
		"shop-0.nodes": "shop-0.nodes:8443", "127.0.0.1:99": "127.0.0.1:99"} {
		if got := withPort(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
