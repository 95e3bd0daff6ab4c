package agentapi

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// all are the ways of asking an agent.
func all(c *Client, host string) map[string]error {
	ctx := context.Background()
	_, status := c.Status(ctx, host, -1, 0)
	_, order := c.Order(ctx, host, Order{})
	return map[string]error{"status": status, "order": order, "primary": c.ReportPrimary(ctx, host, Primary{Name: "a"}),
		"evict": c.Evict(ctx, host, Eviction{}), "events": c.ChangeEvents(ctx, host, nil)}
}

// TestRedirectsAreNotFollowed: a server in an agent's place sends the operator nowhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var asked atomic.Int32
	elsewhere, _ := agentServer(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		reply(w, http.StatusOK, Report{Name: "forged"})
	})
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect} {
		host, pool := agentServer(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://"+elsewhere+r.URL.Path, code)
		})
		c := NewClient(tls.Certificate{}, pool, "example.com")
		defer c.Close()
		for of, err := range all(c, host) {
			if err == nil || !strings.Contains(err.Error(), "redirects are never followed") {
				t.Errorf("%d, %s: %v", code, of, err)
			}
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// TestEndlessAnswers: neither a body nor a header is read forever.
func TestEndlessAnswers(t *testing.T) {
	var sent atomic.Int64
	words := []byte(strings.Repeat(" ", 8<<10))
	host, pool := agentServer(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			n, err := w.Write(words)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	c := NewClient(tls.Certificate{}, pool, "example.com")
	defer c.Close()
	for of, err := range all(c, host) {
		if err == nil || !strings.Contains(err.Error(), "longer than") {
			t.Errorf("%s: %v", of, err)
		}
	}
	if n := sent.Load(); n > 64<<20 { // what buffers hold of five answers
		t.Errorf("%d bytes were taken", n)
	}
	host, pool = agentServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X", strings.Repeat("x", maxHeader))
		reply(w, http.StatusOK, Report{})
	})
	long := NewClient(tls.Certificate{}, pool, "example.com")
	defer long.Close()
	for of, err := range all(long, host) {
		if err == nil {
			t.Errorf("%s: a header of any length is read", of)
		}
	}
}

// TestLargeReport: the report of a large cluster in trouble is read.
func TestLargeReport(t *testing.T) {
	r := Report{Name: "a", Failure: &Failure{Message: strings.Repeat("word ", 4<<10)}}
	r.TLS.Peers = map[string]ChannelFact{}
	for _, name := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		r.TLS.Peers[name] = ChannelFact{Problem: strings.Repeat("x", 2<<10), CheckedAt: time.Now()}
	}
	host, pool := agentServer(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, r) })
	c := NewClient(tls.Certificate{}, pool, "example.com")
	defer c.Close()
	if got, err := c.Status(context.Background(), host, -1, 0); err != nil || len(got.TLS.Peers) != 26 {
		t.Errorf("%v", err)
	}
}
