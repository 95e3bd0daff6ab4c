package agentapi

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestReportsAreBounded: an agent's report takes no more memory than a report needs.
func TestReportsAreBounded(t *testing.T) {
	var names strings.Builder
	for i := range maxEntries {
		fmt.Fprintf(&names, `"%d":{},`, i)
	}
	for name, tc := range map[string]struct{ body, says string }{
		"two bytes for each entry": {`{"away":[{}` + strings.Repeat(`,{}`, 80<<10) + `]}`, "values, more than"},
		"a long list":              {`{"tls":{"trustedCAs":["a"` + strings.Repeat(`,"a"`, maxEntries) + `]}}`, "a list"},
		"many names":               {`{"tls":{"peers":{` + names.String() + `"last":{}}}}`, "a map"},
		"a long name":              {`{"tls":{"peers":{"` + strings.Repeat("a", maxEntries+1) + `":{}}}}`, "a name"},
	} {
		host, pool := agentServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write([]byte(tc.body))
		})
		c := NewClient(tls.Certificate{}, pool, "example.com")
		defer c.Close()
		if r, err := c.Status(t.Context(), host, -1, 0); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %d entries, %v", name, len(r.Away), err)
		}
	}
}

// TestNamesOfEventsCount: the names of events, which clients choose, make no report too large.
func TestNamesOfEventsCount(t *testing.T) {
	const name = `,"\,<`
	e := ScheduledEvent{Name: strings.Repeat(name, 25), Database: strings.Repeat(name, 12),
		Event: strings.Repeat(name, 12), Status: EventEnabled, Modified: 1}
	sent := Report{Name: "shop-0", Scheduled: &Scheduled{Events: slices.Repeat([]ScheduledEvent{e}, MaxEvents)}}
	host, pool := agentServer(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, sent) })
	c := NewClient(tls.Certificate{}, pool, "example.com")
	defer c.Close()
	got, err := c.Status(t.Context(), host, -1, 0)
	if err != nil || !slices.Equal(got.Scheduled.Events, sent.Scheduled.Events) {
		t.Errorf("%+v, %v", got.Scheduled, err)
	}
}

func TestTextsOfReportsAreClipped(t *testing.T) {
	long := strings.Repeat("ä", maxText)
	sent := Report{Name: "shop-0", Waiting: long, Failure: &Failure{Message: long}, TLS: TLSReport{
		Channels: map[string]ChannelFact{ChannelClients: {}, "made-up": {}},
		Peers:    map[string]ChannelFact{"shop-1": {Protocol: long}}}}
	host, pool := agentServer(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, sent) })
	c := NewClient(tls.Certificate{}, pool, "example.com")
	defer c.Close()
	got, err := c.Status(t.Context(), host, -1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"waiting": got.Waiting, "failure": got.Failure.Message,
		"peers": got.TLS.Peers["shop-1"].Protocol} {
		if text != long[:maxText] {
			t.Errorf("%s has %d bytes", what, len(text))
		}
	}
	if len(got.TLS.Channels) != 1 || got.Name != "shop-0" {
		t.Errorf("the report of %q has the channels %v", got.Name, got.TLS.Channels)
	}
}

// FuzzReport: no bytes in a report's place make the operator fail, or keep more than the bounds allow.
func FuzzReport(f *testing.F) {
	whole, err := json.Marshal(Report{Name: "shop-0", Boot: "b", Position: galera.Position{},
		Donations: map[string]int64{"IST": 1},
		TLS:       TLSReport{Channels: map[string]ChannelFact{ChannelClients: {}}, TrustedCAs: []string{"a"}}})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{whole, []byte(`{}`), []byte(`{"away":[{}]}`), []byte(`{"position":{"seqno":1e9}}`),
		[]byte(`[]`)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Report
		if countable(data) != nil || json.Unmarshal(data, &r) != nil || r.bound() != nil {
			return
		}
		for channel := range r.TLS.Channels {
			if !slices.Contains(Channels, channel) {
				t.Errorf("the channel %q is kept", channel)
			}
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		if len(again) > 8*(len(data)+4096) {
			t.Errorf("%d bytes became %d", len(data), len(again))
		}
	})
}
