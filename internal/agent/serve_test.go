package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestCopiedMemberServes once its copy is on the disk, and not before.
func TestCopiedMemberServes(t *testing.T) {
	a := joinerAgent(t)
	if err := os.MkdirAll(a.Places.Data, 0o750); err != nil {
		t.Fatal(err)
	}
	a.run.Status = &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true,
		ClusterUUID: agenttest.UUID, Index: 1}
	a.run.Position = agenttest.At(7)
	if a.judgeServer(); a.run.Served {
		t.Fatal("before it is on the disk")
	}
	agenttest.Next(t, a.queue)
	if !a.run.Served || a.run.Note != nil {
		t.Errorf("served: %v, noted: %+v", a.run.Served, a.run.Note)
	}
}

// TestStopEndsWithoutAPosition: a member that is stopped by order runs nothing, whether or not its position can be
// found out.
func TestStopEndsWithoutAPosition(t *testing.T) {
	stop := &agentapi.Order{ID: "x", Epoch: 1, Kind: agentapi.OrderStop}
	trouble := &agentapi.Failure{Reason: agentapi.FailureRecovery}
	for name, c := range map[string]struct {
		edit func(*agent)
		ends bool
	}{
		"not checked yet":       {func(*agent) {}, false},
		"checked":               {func(a *agent) { a.exam.Done = true }, true},
		"the check failed":      {func(a *agent) { a.exam.Trouble = trouble }, true},
		"another check goes on": {func(a *agent) { a.exam.Trouble = trouble; a.exam.Begin() }, false},
		"a server runs": {func(a *agent) { a.exam.Trouble, a.run.Proc = trouble, agenttest.Server(t) },
			false},
		"there is no mariadbd to look with":  {func(a *agent) { a.image.Mariadbd = "" }, true},
		"the first settings are checked":     {func(a *agent) { a.config.Node, a.config.Checking = nil, true }, false},
		"there is no configuration to go by": {func(a *agent) { a.config.Node = nil }, true},
	} {
		s := onSlowVolume(t)
		s.release()
		s.exam.Done, s.orders.Current = false, stop
		c.edit(s.agent)
		if s.commands.EndStop(); (s.orders.Current == nil) != c.ends {
			t.Errorf("%s: ends %v", name, s.orders.Current == nil)
		}
	}
}

// TestOnlyAStopEndsAnExamination that takes too long; whatever else is asked for waits for it.
func TestOnlyAStopEndsAnExamination(t *testing.T) {
	for kind, cut := range map[agentapi.OrderKind]bool{agentapi.OrderStop: true, agentapi.OrderRestart: false, "": false} {
		a := fresh(t)
		a.image.Mariadbd = filepath.Join(a.Places.Run, "mariadbd")
		if err := os.WriteFile(a.image.Mariadbd, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(a.Places.Data, "mysql"), 0o750); err != nil {
			t.Fatal(err)
		}
		if a.exam.Begin(); kind != "" {
			a.orders.Current = &agentapi.Order{ID: "x", Kind: kind}
		}
		a.commands.EndExamination(time.Now().Add(time.Hour))
		if !cut {
			select {
			case <-a.queue.Events:
				t.Fatalf("%q: cut", kind)
			case <-time.After(300 * time.Millisecond):
				a.queue.Drain()
			}
		}
		if agenttest.Next(t, a.queue); a.exam.Trouble == nil {
			t.Errorf("%q: it has ended by itself", kind)
		}
	}
}

// TestSuccessorKnowsMembers: a successor answers the members of the published configuration before it has taken it
// over; that of another namespace is a copy.
func TestSuccessorKnowsMembers(t *testing.T) {
	for config, want := range map[string]int{
		`{"namespace":"demo","cluster":"shop","members":[{"name":"shop-0"},{"name":"shop-1"}]}`: 2,
		`{"namespace":"prod","cluster":"shop","members":[{"name":"shop-0"},{"name":"shop-1"}]}`: 0,
		`{`: 0, "": 0,
	} {
		a := &agent{Options: Options{Name: "shop-0", Namespace: "demo", Places: platform.Places{Config: t.TempDir()}}}
		if config != "" {
			if err := os.WriteFile(filepath.Join(a.Places.Config, agentapi.ConfigKey), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		knowMembers(a)
		if of, members := a.group.Members(); len(members) != want || want > 0 && of.Cluster != "shop" {
			t.Errorf("%s: %v of %v", config, members, of)
		}
	}
}
