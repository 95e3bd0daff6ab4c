package follow

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestOutage: an error is reported while the channel is tried again, and until it goes on.
func TestOutage(t *testing.T) {
	purged := &agentapi.ChannelState{Applying: true, ErrorNumber: 1236, Error: "purged"}
	starts, runs := &agentapi.ChannelState{Running: true, Applying: true}, &agentapi.ChannelState{Running: true,
		Applying: true, Connected: true}
	type reading struct {
		at      int // seconds
		channel *agentapi.ChannelState
		applied string
	}
	for name, tc := range map[string]struct {
		of   []reading
		want bool
	}{
		"it stops":          {[]reading{{0, purged, "0-1-7"}}, true},
		"it is tried again": {[]reading{{0, purged, "0-1-7"}, {1, starts, "0-1-7"}}, true},
		"it connects":       {[]reading{{0, purged, "0-1-7"}, {1, starts, "0-1-7"}, {2, runs, "0-1-7"}}, true},
		"it goes on":        {[]reading{{0, purged, "0-1-7"}, {1, runs, "0-1-8"}}, false},
		"it has gone":       {[]reading{{0, purged, "0-1-7"}, {1, nil, "0-1-7"}}, false},
		"nothing is to do": {[]reading{{0, purged, "0-1-7"}, {1, runs, "0-1-7"}, {5, runs, "0-1-7"}, {9, runs, "0-1-7"},
			{12, runs, "0-1-7"}}, false},
		"it connects twice, and was not read between": {[]reading{{0, purged, "0-1-7"}, {1, runs, "0-1-7"},
			{12, runs, "0-1-7"}, {13, runs, "0-1-7"}}, true},
		"it connects for 9s": {[]reading{{0, purged, "0-1-7"}, {1, runs, "0-1-7"}, {9, runs, "0-1-7"}}, true},
		"it connects now and then": {[]reading{{0, purged, "0-1-7"}, {1, runs, "0-1-7"}, {9, starts, "0-1-7"},
			{12, runs, "0-1-7"}}, true},
		"it connects and stops": {[]reading{{0, purged, "0-1-7"}, {1, runs, "0-1-7"}, {9, purged, "0-1-7"},
			{12, runs, "0-1-7"}}, true},
		"it has never stopped": {[]reading{{0, starts, "0-1-7"}, {1, runs, "0-1-7"}}, false},
	} {
		var o outage
		began := time.Now()
		for _, r := range tc.of {
			o.see(agentapi.Following{Applied: r.applied, Channel: r.channel}, began.Add(time.Duration(r.at)*time.Second))
		}
		if got := o.state != nil; got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
