package process

import (
	"syscall"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

func TestEndedAs(t *testing.T) {
	primary := agentapi.Server{Component: galera.ComponentPrimary, ViewID: 7, NodeUUID: agenttest.Other}
	lost := primary
	lost.Component = galera.ComponentNonPrimary
	for name, tc := range map[string]struct {
		status  *agentapi.Server
		view    int64
		orderly bool
		known   bool
	}{
		"killed":                        {status: &primary, view: 7, known: true},
		"stopped in good order":         {status: &primary, view: 7, orderly: true},
		"never answered":                {},
		"without quorum":                {status: &lost, view: 7},
		"reported a view not seen yet":  {status: &primary, view: 0},
		"seen in another than reported": {status: &primary, view: 6},
	} {
		if got := endedAs(tc.status, tc.view, tc.orderly); (got != nil) != tc.known || tc.known &&
			(got.ViewID != 7 || got.NodeUUID != agenttest.Other) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestIncompleteAfterCrash: what a note of a join would make of the data after a crash is what the member reports of
// them before.
func TestIncompleteAfterCrash(t *testing.T) {
	has := datadir.Contents{Database: true, Tablespace: true}
	for name, note := range map[string]*datadir.Joining{
		"no join":              nil,
		"a full copy":          {SST: true},
		"an increment":         {Method: "MariaBackup"},
		"any join by rsync":    {Method: "Rsync"},
		"a full copy by rsync": {Method: "Rsync", SST: true},
	} {
		if got, want := incompleteAfterCrash(note), datadir.Classify(has, note) == galera.DataIncomplete; got != want {
			t.Errorf("%s: %v, the examination finds %v", name, got, want)
		}
	}
}

func TestOnlyOneThatServedLeavesService(t *testing.T) {
	a := Supervisor{}
	in := agentapi.Server{Component: galera.ComponentPrimary, Ready: true}
	alone := agentapi.Server{Component: galera.ComponentNonPrimary}
	see := func(s agentapi.Server) {
		a.Status = &s
		a.watchService()
	}
	if see(alone); a.Service.Away() {
		t.Fatal("a start is no loss of service")
	}
	a.Served = true
	if see(alone); !a.Service.Away() {
		t.Fatal("it is away")
	}
	if see(in); a.Service.Away() {
		t.Fatal("it is back")
	}
	a.leaveService()
	a.Stopping = true
	see(in)
	if !a.Service.Away() {
		t.Error("it reports that it serves, but it stops and refuses queries")
	}
}

// TestGiveUpCounts: a joiner that is ended because it leads nowhere has failed once, so that its next attempt dials
// another member.
func TestGiveUpCounts(t *testing.T) {
	r, _ := member(t)
	r.group.Views = nil
	r.Note, r.giveUpSince = &datadir.Joining{}, time.Now().Add(-time.Minute)
	r.GiveUp(false)
	<-r.Proc.Done()
	r.GiveUp(false)
	if !r.GivenUp || r.Attempts.Failed != 1 || r.Proc.Exit().Signal != syscall.SIGKILL {
		t.Errorf("given up: %v, failures: %d, ended by %v", r.GivenUp, r.Attempts.Failed, r.Proc.Exit())
	}
}

// TestGiveUpSST: a joiner whose SST no one sends is ended, and one that has received some of it is not.
func TestGiveUpSST(t *testing.T) {
	r, _ := member(t)
	r.group.Views = map[string]agentapi.PeerView{"b": {Name: "b"}}
	r.Note, r.giveUpSince = &datadir.Joining{SST: true}, time.Now().Add(-time.Minute)
	if r.GiveUp(true); r.GivenUp || !r.giveUpSince.IsZero() {
		t.Error("it may have all of it")
	}
	r.giveUpSince = time.Now().Add(-time.Minute)
	if r.GiveUp(false); !r.GivenUp {
		t.Fatal("it waits for ever")
	}
	<-r.Proc.Done()
}

// TestPassingFailure: what the next attempt does not meet is no failure of the member, unless it is met again.
func TestPassingFailure(t *testing.T) {
	_, loop := agenttest.Loop()
	r := Supervisor{loop: loop}
	exit := mariadbd.Exit{Code: 1,
		Lines: []string{"WSREP: failed to open gcomm backend connection: 131: A node with the same UUID already exists in " +
			"the cluster. (FATAL)"}}
	if r.CountEnd(Run{}, exit, false, ""); r.Attempts.Failure != nil || r.Attempts.Failed != 1 {
		t.Errorf("at first: %+v", r.Attempts)
	}
	if r.CountEnd(Run{}, exit, false, ""); r.Attempts.Failure == nil {
		t.Error("it is met again, and not reported")
	}
	r = Supervisor{loop: loop}
	if r.CountEnd(Run{}, mariadbd.Exit{Code: 1, Lines: []string{"[ERROR] Aborting"}}, false,
		""); r.Attempts.Failure == nil {
		t.Error("another end is not reported")
	}
}

// TestEndedInOrder: only a server that was asked to stop, and ended without an error, has written all that it had. What
// is on the volume counts as its own until another one is started.
func TestEndedInOrder(t *testing.T) {
	for name, c := range map[string]struct {
		asked  bool
		script string
		want   bool
	}{
		"asked": {true, "exit 0", true}, "by itself": {false, "exit 0", false}, "with an error": {true, "exit 1", false},
		"killed": {true, "kill -9 $$", false},
	} {
		r, _ := member(t)
		proc, err := mariadbd.Start(&platform.ProcessTable{}, mariadbd.Command{Path: "/bin/sh",
			Args: []string{"-c", c.script}, Log: func(string) {}})
		if err != nil {
			t.Fatal(err)
		}
		r.Began(Run{Stopping: c.asked}, proc)
		<-proc.Done()
		if r.Exited(); r.EndedInOrder != c.want {
			t.Errorf("%s: %t", name, r.EndedInOrder)
		}
		if r.Began(Run{}, proc); r.EndedInOrder {
			t.Errorf("%s: it still counts when another one runs", name)
		}
	}
}
