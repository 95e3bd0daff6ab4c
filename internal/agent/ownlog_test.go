package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestOwnLog: what is reported is never earlier than the first transaction that the node itself has logged, whatever
// was started in between, and by which agent.
func TestOwnLog(t *testing.T) {
	a := fresh(t)
	logs := config.Output{WritesBinlog: true}
	check := func(what string, output config.Output, uuid string, at, want int64) {
		t.Helper()
		a.run.Proc = agenttest.Server(t)
		a.logged.began()
		a.config.Started(a.run.Proc.PID, config.Run{Output: output})
		a.run.Status = &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true,
			ClusterUUID: uuid}
		a.run.Served, a.run.Position = false, galera.Position{UUID: uuid, Seqno: at - 100} // from where it joins
		a.logged.check(time.Now())
		if a.logged.since.Known() || a.logged.busy {
			t.Errorf("%s: before it has served: %s", what, a.logged.since)
		}
		a.run.Served, a.run.Position.Seqno = true, at
		if a.logged.check(time.Now()); a.logged.busy {
			agenttest.Next(t, a.queue)
		}
		if got := a.logged.since; got.Known() != (want > 0) || want > 0 && got != (galera.Position{UUID: uuid, Seqno: want}) {
			t.Errorf("%s: %s, want %d", what, got, want)
		}
	}
	check("for the first time", logs, agenttest.UUID, 100, 100)
	check("started again", logs, agenttest.UUID, 200, 100)
	a.logged.began() // by another agent
	check("started again", logs, agenttest.UUID, 210, 100)
	check("the data are of before that", logs, agenttest.UUID, 90, 90)
	if err := a.logged.forget(); err != nil {
		t.Fatal(err)
	}
	check("after a full copy", logs, agenttest.UUID, 300, 300)
	check("in another history", logs, "6f9619ff-8b86-d011-b42d-00cf4fc964fe", 500, 500)
	a.logged.node = "demo/another" // its volume is a copy of this one
	check("on another node", logs, "6f9619ff-8b86-d011-b42d-00cf4fc964fe", 600, 600)
	check("without a binary log", config.Output{}, agenttest.UUID, 400, 0)
}

// TestOwnLogOfTheServerBefore: a slow volume answers when another server runs, which may have data of before.
func TestOwnLogOfTheServerBefore(t *testing.T) {
	a := fresh(t)
	a.volume.Open(a.Places, a.queue.Post, datadir.NewVolumeWatch(func() error { return nil }, time.Now))
	serve := func(at int64) {
		a.run.Proc = agenttest.Server(t)
		a.config.Started(a.run.Proc.PID, config.Run{Output: config.Output{WritesBinlog: true}})
		a.run.Status = &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true,
			ClusterUUID: agenttest.UUID}
		a.run.Served, a.run.Position = true, agenttest.At(at)
		a.logged.began()
	}
	serve(100)
	a.logged.check(time.Now())
	serve(90)
	agenttest.Next(t, a.queue)
	if a.logged.since.Known() {
		t.Errorf("of the server before: %s", a.logged.since)
	}
	a.logged.check(time.Now())
	if agenttest.Next(t, a.queue); a.logged.since.Seqno != 90 {
		t.Errorf("of this server: %s", a.logged.since)
	}
}

// TestStartWithoutBinlog: a server that is started without a binary log ends what is known of it, before it begins.
func TestStartWithoutBinlog(t *testing.T) {
	for all, want := range map[string]int64{"ON": 7, "OFF": 0} {
		a := fresh(t)
		if err := os.MkdirAll(a.Places.Tmp, 0o750); err != nil {
			t.Fatal(err)
		}
		a.image.Mariadbd = filepath.Join(a.Places.Run, "mariadbd")
		if err := os.WriteFile(a.image.Mariadbd, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		a.config.Node = &agentapi.NodeConfig{Settings: map[string]string{"log_bin": "binlog", "log_slave_updates": all}}
		a.config.Output = config.Build(config.Input{Config: *a.config.Node, Name: a.Name, Address: a.Address,
			Places: a.Places})
		a.exam.Found = process.Found{Data: galera.DataPresent, Position: agenttest.At(7)}
		if err := a.markers().SetLoggedSince(a.logged.node, agenttest.At(7)); err != nil {
			t.Fatal(err)
		}
		a.start.ToJoin(lifecycle.JoinDecision{})
		agenttest.Next(t, a.queue) // started
		if got := a.markers().LoggedSince(a.logged.node); got.Seqno != want {
			t.Errorf("log_slave_updates=%s: %s", all, got)
		}
	}
}
