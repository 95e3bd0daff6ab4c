package follow

import (
	"context"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// silent is a server that these tests do not ask.
type silent struct{ Server }

func (silent) Close(context.Context) error { return nil }

// TestAsked: a primary whose position is not known runs no channel once the source's last position is: it may have
// applied everything, and the source may have written since, for others. One that may run it already goes on.
func TestAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		until   string
		read    *agentapi.Following
		unknown bool
		want    bool
	}{
		"follows":                                  {read: &agentapi.Following{Applied: "0-1-7"}, want: true},
		"follows, its position is not known":       {want: true},
		"applies the rest":                         {until: "0-1-9", read: &agentapi.Following{Applied: "0-1-7"}, want: true},
		"has applied everything":                   {until: "0-1-9", read: &agentapi.Following{Applied: "0-1-9"}},
		"may have applied everything":              {until: "0-1-9"},
		"may have applied everything, and runs it": {until: "0-1-9", unknown: true, want: true},
	} {
		run := &process.Supervisor{Status: &agentapi.Server{Group: []agentapi.GroupMember{{Name: "n-0"}, {Name: "n-1"}}}}
		f := New(eventloop.Loop{}, platform.Places{}, "n-0", silent{}, Dependencies{Run: run, Group: &api.Peers{},
			Wanted:   func() (*agentapi.Follow, bool) { return &agentapi.Follow{Host: "db", Until: tc.until}, true },
			Primary:  func() string { return "n-0" },
			Draining: func() bool { return false }})
		f.read = tc.read
		if got := f.asked(tc.unknown); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestForeignChannel: the channel that a person has made on a node of a cluster that follows nothing stays as it is.
// The server is not asked for it, and nothing ends it, also by an agent that has taken the server over.
func TestForeignChannel(t *testing.T) {
	run := &process.Supervisor{Proc: &mariadbd.Process{}, Status: &agentapi.Server{}}
	f := New(eventloop.Loop{}, platform.Places{}, "n-0", silent{}, Dependencies{Run: run, Group: &api.Peers{},
		Wanted:    func() (*agentapi.Follow, bool) { return nil, true },
		Primary:   func() string { return "n-0" },
		Published: func() agentapi.Report { return agentapi.Report{} },
		Draining:  func() bool { return false }})
	f.TakenOver()
	f.Check(time.Now())
	if f.reading || f.gate.Busy() {
		t.Errorf("the server is asked: %v, its channel is ended: %v", f.reading, f.gate.Busy())
	}
}
