package api

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// port serves a handler on a port of its own, as an agent does.
func port(t *testing.T, h http.Handler, conf *tls.Config) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limits := probeLimits
	if conf != nil {
		limits = controlLimits
	}
	serveOn(t.Context(), l, h, conf, limits, slog.New(slog.DiscardHandler))
	return l.Addr().String()
}

func dial(t *testing.T, address, from string) net.Conn {
	t.Helper()
	d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ended waits until the other side has closed a connection, for so long.
func ended(c net.Conn, within time.Duration) bool {
	_ = c.SetReadDeadline(time.Now().Add(within))
	_, err := io.Copy(io.Discard, c)
	return err == nil || !strings.Contains(err.Error(), "timeout")
}

// TestProbeIsNotStarved: when a client holds connections, from one address or from many, kubelet's new one is answered
// within its two seconds, and an agent holds no more than its limit.
func TestProbeIsNotStarved(t *testing.T) {
	for name, from := range map[string]func(i int) string{
		"one address, another's": func(int) string { return "127.0.0.2" },
		"one address, kubelet's": func(int) string { return "127.0.0.1" },
		"many addresses":         func(i int) string { return fmt.Sprintf("127.0.%d.%d", 1+i/200, 1+i%200) },
	} {
		t.Run(name, func(t *testing.T) {
			address := port(t, probe(serving(), time.Now()), nil)
			held := make([]net.Conn, 1000)
			for i := range held {
				held[i] = dial(t, address, from(i))
			}
			client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
			for range 3 {
				resp, err := client.Get("http://" + address + agentapi.PathReady)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Fatal(resp.Status)
				}
			}
			if over := held[len(held)-1-probeLimits.total]; !ended(over, time.Second) {
				t.Error("more connections are open than the limit")
			}
		})
	}
}

// TestSlowHeader: who sends its request bit by bit is not waited for.
func TestSlowHeader(t *testing.T) {
	t.Parallel()
	c := dial(t, port(t, probe(serving(), time.Now()), nil), "127.0.0.1")
	if _, err := io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: "); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(probeLimits.header/2, func() { _, _ = io.WriteString(c, "more") })
	defer stop.Stop()
	if !ended(c, probeLimits.header+5*time.Second) {
		t.Error("still waited for")
	}
}

// TestSlowHandshake: nor is who never begins with TLS on the control port.
func TestSlowHandshake(t *testing.T) {
	t.Parallel()
	c := dial(t, port(t, http.NotFoundHandler(), &tls.Config{MinVersion: tls.VersionTLS13}), "127.0.0.1")
	if !ended(c, controlLimits.header+5*time.Second) {
		t.Error("still waited for")
	}
}

// TestBodiesAreBounded on both ports, whatever the handler reads.
func TestBodiesAreBounded(t *testing.T) {
	for _, l := range []limits{probeLimits, controlLimits} {
		read := make(chan int64, 1)
		s := l.newServer(l.listener(nil), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			read <- n
		}))
		body := strings.NewReader(strings.Repeat("x", int(l.bodyBytes)+1))
		s.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", body))
		if n := <-read; n > l.bodyBytes {
			t.Errorf("%d bytes were read", n)
		}
	}
}

// TestWaitOutlastsTheTimeouts: a question that waits for news is not cut off by what bounds reading and answering.
func TestWaitOutlastsTheTimeouts(t *testing.T) {
	before := controlLimits
	t.Cleanup(func() { controlLimits = before })
	controlLimits.body, controlLimits.answer = time.Second, time.Second
	store := NewReportStore(serving())
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bounded := controlLimits.listener(l)
	s := controlLimits.newServer(bounded, ControlHandler{Reports: store}.Handler())
	go func() { _ = s.Serve(bounded) }()
	t.Cleanup(func() { _ = s.Close() })
	c := dial(t, l.Addr().String(), "127.0.0.1")
	began := time.Now()
	if _, err := io.WriteString(c, "GET "+agentapi.PathStatus+"?since=1&wait=3s HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if took := time.Since(began); took < 2900*time.Millisecond || resp.StatusCode != http.StatusOK {
		t.Errorf("%s after %s", resp.Status, took)
	}
}
