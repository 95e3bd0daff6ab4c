package follow

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
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

// opening is a server whose channel is opened, or not.
type opening struct {
	Server
	err error
}

func (o opening) Open(context.Context, wsrep.Source) error { return o.err }

// TestFenced: a channel that runs ends at the last position once it was opened up to there. One that could not be
// opened again may go on as before: no member may accept writes meanwhile.
func TestFenced(t *testing.T) {
	const until = "0-1-9"
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"opened":     {want: true},
		"not opened": {err: errors.New("too many connections")},
	} {
		dir := t.TempDir()
		for _, file := range []string{userFile, passwordFile} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		run := &process.Supervisor{Proc: &mariadbd.Process{}, Status: &agentapi.Server{}}
		source := &agentapi.Follow{Host: "db", Plain: true, Until: until}
		f := New(eventloop.Loop{Post: func(event func()) { event() }}, platform.Places{Source: dir}, "n-0",
			opening{err: tc.err}, Dependencies{Run: run, Group: &api.Peers{},
				Wanted: func() (*agentapi.Follow, bool) { return source, true }})
		f.gate.See(true)
		if f.fenced(until, time.Now()) {
			t.Errorf("%s: fenced before", name)
		}
		if err := f.open()(t.Context()); !errors.Is(err, tc.err) {
			t.Errorf("%s: %v", name, err)
		}
		if got := f.fenced(until, time.Now()); got != tc.want {
			t.Errorf("%s: fenced %v", name, got)
		}
	}
}

// TestClosed: a member that has applied everything names the other members it waits for, also when its channel could
// not be opened before.
func TestClosed(t *testing.T) {
	const until = "0-1-9"
	serves := &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true, ClusterUUID: "u",
		Group: []agentapi.GroupMember{{Name: "n-0"}, {Name: "n-1"}}}
	run := &process.Supervisor{Proc: &mariadbd.Process{}, Status: serves, Asked: time.Now().Add(time.Minute)}
	source := &agentapi.Follow{Host: "db", Plain: true, Until: until}
	f := New(eventloop.Loop{}, platform.Places{}, "n-0", silent{}, Dependencies{Run: run, Group: &api.Peers{},
		Wanted:    func() (*agentapi.Follow, bool) { return source, true },
		Primary:   func() string { return "n-0" },
		Published: func() agentapi.Report { return agentapi.Report{ChannelUntil: until} },
		Draining:  func() bool { return false }})
	f.gate.Launched()
	f.reading, f.wanted, f.failed = true, until, "this server has applied everything"
	f.read = &agentapi.Following{Applied: until, ReadOnly: true}
	f.Check(time.Now())
	var r agentapi.Report
	f.Report(&r)
	if r.Following == nil || !strings.HasSuffix(r.Following.Waiting, "is not known of n-1") {
		t.Errorf("%+v", r.Following)
	}
}

// TestDiverged: a member that has applied what another server has written than the last position names both, and is not
// asked more often than one that follows.
func TestDiverged(t *testing.T) {
	serves := &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true, ClusterUUID: "u",
		Group: []agentapi.GroupMember{{Name: "n-0"}, {Name: "n-1"}}}
	run := &process.Supervisor{Proc: &mariadbd.Process{}, Status: serves, Asked: time.Now().Add(time.Minute)}
	source := &agentapi.Follow{Host: "db", Plain: true, Until: "0-2-105"}
	f := New(eventloop.Loop{}, platform.Places{}, "n-0", silent{}, Dependencies{Run: run, Group: &api.Peers{},
		Wanted:    func() (*agentapi.Follow, bool) { return source, true },
		Primary:   func() string { return "n-0" },
		Published: func() agentapi.Report { return agentapi.Report{ChannelUntil: source.Until} },
		Draining:  func() bool { return false }})
	f.gate.Launched()
	f.reading, f.wanted, f.failed = true, source.Until, "this server has applied everything"
	f.read = &agentapi.Following{Applied: "0-1-110", ReadOnly: true}
	f.Check(time.Now())
	var r agentapi.Report
	f.Report(&r)
	const says = "has applied 0-1-110, and the last position is 0-2-105"
	if r.Following == nil || !strings.Contains(r.Following.Waiting, says) || f.setting || !f.diverged || f.asked(false) {
		t.Errorf("%+v, %v", r.Following, f.setting)
	}
	source.Ended = true // all have accepted writes: this one was restarted
	f.Check(time.Now())
	if f.diverged {
		t.Error("a cluster that has accepted writes does not go on")
	}
}

// TestShownAnew: the last position may be where the channel is held already. That the others can see it is found out
// anew: before, they could see no last position.
func TestShownAnew(t *testing.T) {
	const until = "0-1-9"
	serves := &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true, ClusterUUID: "u",
		Group: []agentapi.GroupMember{{Name: "n-0"}}}
	run := &process.Supervisor{Proc: &mariadbd.Process{}, Status: serves, Asked: time.Now().Add(time.Minute)}
	source := &agentapi.Follow{Host: "db", Plain: true, Hold: until, HoldEnds: time.Now().Add(time.Hour)}
	var published agentapi.Report
	f := New(eventloop.Loop{}, platform.Places{}, "n-0", silent{}, Dependencies{Run: run, Group: &api.Peers{},
		Wanted:    func() (*agentapi.Follow, bool) { return source, true },
		Primary:   func() string { return "n-0" },
		Published: func() agentapi.Report { return published },
		Draining:  func() bool { return false }, Ask: func() {}})
	f.gate.Launched()
	f.reading, f.wanted = true, until
	f.read = &agentapi.Following{Applied: until, ReadOnly: true}
	f.Check(time.Now())
	var r agentapi.Report
	if f.Report(&r); r.Following.Held != source.Held() {
		t.Errorf("held: %+v", r.Following)
	}
	source = &agentapi.Follow{Host: "db", Plain: true, Until: until}
	if f.Check(time.Now()); f.setting || f.closed == "" {
		t.Errorf("accepts writes before the others can see the last position: %q", f.closed)
	}
}
