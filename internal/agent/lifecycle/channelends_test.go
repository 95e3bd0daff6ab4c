package lifecycle

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestChannelPause: a channel that ends one server after another without progress is opened less and less often, and
// one that has gone on is opened at once.
func TestChannelPause(t *testing.T) {
	at := func(position string, ends int) agentapi.ChannelEnds {
		return agentapi.ChannelEnds{Position: position, Ends: ends}
	}
	for name, tc := range map[string]struct {
		position string
		own      agentapi.ChannelEnds
		other    agentapi.ChannelEnds
		want     time.Duration
	}{
		"never":                     {position: "0-1-7"},
		"the own server, once":      {position: "0-1-7", own: at("0-1-7", 1), want: 30 * time.Second},
		"another server":            {position: "0-1-7", other: at("0-1-7", 1), want: 30 * time.Second},
		"both":                      {position: "0-1-7", own: at("0-1-7", 1), other: at("0-1-7", 2), want: 2 * time.Minute},
		"very often":                {position: "0-1-7", own: at("0-1-7", 1000), want: 30 * time.Minute},
		"it has gone on since":      {position: "0-1-8", own: at("0-1-7", 3), other: at("0-1-7", 3)},
		"the position is not known": {own: at("", 3)},
	} {
		ends := ChannelEndsAt(tc.position, tc.own, map[string]agentapi.PeerView{"n-1": {ChannelEnds: tc.other}})
		if got := ChannelPause(ends); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
