package plugin

import (
	"errors"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/external"
)

// replicaAt is a replica that has applied what it has received.
func replicaAt(position, received string) external.Upstream {
	return external.Upstream{Position: position, Logs: true, Applied: position, Logged: position,
		Channels: []external.Channel{{Source: "up:3306", IO: "Yes", SQL: "Yes", GTID: true, Received: received, Behind: "0"}}}
}

// TestRefusesUpstream: what other servers write does not end with read_only, so that a person has to confirm
// that it has ended.
func TestRefusesUpstream(t *testing.T) {
	stopped := replicaAt("0-1-7", "0-1-7")
	stopped.Channels[0].IO, stopped.Channels[0].SQL = "No", "No"
	ofReplica := []string{"up:3306", "--writes-stopped", "RESET SLAVE ALL"}
	for name, c := range map[string]struct {
		of   external.Upstream
		says []string // nil for nothing
	}{
		"a server of its own":                 {external.Upstream{Position: "0-1-7"}, nil},
		"a replica":                           {replicaAt("0-1-7", "0-1-7"), ofReplica},
		"a replica whose threads are stopped": {stopped, ofReplica},
		"a node": {external.Upstream{Galera: &external.GaleraNode{State: "Synced"}}, []string{"a Galera cluster",
			"--writes-stopped"}},
	} {
		if err := refusesUpstream(c.of, true); err != nil {
			t.Errorf("%s, whose writes have ended: %v", name, err)
		}
		err := refusesUpstream(c.of, false)
		if (err == nil) != (c.says == nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestQuiet: a source is at its last position when it says twice that nothing is outstanding, and nothing has come in
// between. What its own source has not sent is for a person to compare, before the end.
func TestQuiet(t *testing.T) {
	behind, rests := replicaAt("0-1-7", "0-1-9"), replicaAt("0-1-7", "0-1-7")
	alone := func(position string) external.Upstream { return external.Upstream{Position: position} }
	const compare = "on up:3306 has to be 0-1-7"
	for name, c := range map[string]struct {
		answers []external.Upstream
		done    bool
		line    string
		err     error
	}{
		"once":             {[]external.Upstream{alone("0-1-7")}, false, "", nil},
		"twice":            {[]external.Upstream{alone("0-1-7"), alone("0-1-7")}, true, "", nil},
		"it writes":        {[]external.Upstream{alone("0-1-7"), alone("0-1-8")}, false, "", nil},
		"it has no log":    {[]external.Upstream{alone("")}, false, "", errNoBinaryLog},
		"a replica, twice": {[]external.Upstream{rests, rests}, true, compare, nil},
		"a replica, once":  {[]external.Upstream{rests}, false, compare, nil},
		"a long transaction": {[]external.Upstream{behind, behind, behind}, false,
			"waiting for the source: the channel from up:3306 has received, and not applied yet: 0-1-9", nil},
		"it was at rest in between": {[]external.Upstream{rests, behind, rests}, false, compare, nil},
		"it receives what it has": {[]external.Upstream{replicaAt("0-1-7", "0-1-5"), replicaAt("0-1-7", "0-1-6")}, false,
			"", nil},
	} {
		var q quiet
		var line string
		var done bool
		var err error
		for _, u := range c.answers {
			line, done, err = q.next(u)
		}
		if done != c.done || !errors.Is(err, c.err) || !strings.Contains(line, c.line) {
			t.Errorf("%s: %q, %v, %v", name, line, done, err)
		}
		if done && q.position != "0-1-7" {
			t.Errorf("%s: %s", name, q.position)
		}
	}
	q := quiet{}
	if _, _, err := q.next(behind); err != nil || !strings.Contains(q.why, "0-1-9") {
		t.Errorf("%q, %v", q.why, err)
	}
}
