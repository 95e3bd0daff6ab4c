package agentapi

import (
	"crypto/tls"
	"net/http"
	"testing"
	"time"
)

// TestControlCharacters: no control character of an agent's answer gets further than its receipt, wherever in the
// report it stands.
func TestControlCharacters(t *testing.T) {
	const evil = "a\x1b[2J\x07b\u009b31m\u202ec\nd\te"
	const good = "a[2Jb31mc\nd\te"
	when := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	sent := Report{Name: evil, Failure: &Failure{Message: evil}, Waiting: evil}
	sent.TLS.Channels = map[string]ChannelFact{"cli\x07ents": {Problem: evil, CheckedAt: when}}
	sent.Image.Missing = []string{evil}
	host, pool := agentServer(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, sent) })
	c := NewClient(tls.Certificate{}, pool, "example.com")
	defer c.Close()
	got, err := c.Status(t.Context(), host, -1, 0)
	if err != nil {
		t.Fatal(err)
	}
	fact, ok := got.TLS.Channels[ChannelClients]
	if got.Name != good || got.Failure.Message != good || got.Waiting != good || got.Image.Missing[0] != good ||
		!ok || fact.Problem != good || !fact.CheckedAt.Equal(when) {
		t.Errorf("%q %q %q %q %v", got.Name, got.Failure.Message, got.Waiting, got.Image.Missing, ok)
	}
}
