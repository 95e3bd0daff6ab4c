package agent

import (
	"log/slog"
	"syscall"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/procs"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// listener is an agent whose posted work is done at once, with a server that joins.
func listener(t *testing.T) *agent {
	t.Helper()
	proc, err := server.Start(&procs.Table{}, server.Command{Path: "/bin/sleep", Args: []string{"60"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proc.Kill)
	a := &agent{Options: Options{Name: "a-cluster-with-a-long-name-shop-2", Logger: slog.New(slog.DiscardHandler), Output: func(string) {}},
		events: make(chan func(), 10)}
	a.proc, a.run = proc, running{note: &datadir.Joining{Transfer: true}}
	a.join = &agentapi.Join{Kind: agentapi.JoinSST, Donor: "shop-1"}
	return a
}

func (a *agent) hear(line string) {
	a.serverLine(line)
	for len(a.events) > 0 {
		(<-a.events)()
	}
}

func TestHandshakesAreHeard(t *testing.T) {
	a := listener(t)
	for _, line := range []string{
		"2026/11/22 12:06:47 socat[10] N SSL proto version used: TLSv1.3",
		"2026/11/22 12:06:47 socat[10] N SSL connection using TLS_AES_256_GCM_SHA384",
		"anything else",
	} {
		a.hear(line)
	}
	if a.join.Protocol != "TLSv1.3" || a.join.Cipher != "TLS_AES_256_GCM_SHA384" {
		t.Errorf("%+v", *a.join)
	}
	a.run.note = nil // it has joined, and gives to another one
	a.hear("2026/11/22 12:06:47 socat[10] N SSL connection using TLS_AES_128_GCM_SHA256")
	if a.join.Cipher != "TLS_AES_256_GCM_SHA384" {
		t.Errorf("another transfer's suite: %+v", *a.join)
	}
}

// TestRejectedIsBegunAnew: Galera itself would wait for ever.
func TestRejectedIsBegunAnew(t *testing.T) {
	said := func(name string) string {
		return "2026-11-22 12:15:04 0 [Warning] WSREP: Rejecting JOIN message from 0.0 (" + name + "): new State Transfer required."
	}
	a := listener(t)
	a.hear(said("shop-1"))
	if a.run.givenUp || a.failure != nil {
		t.Fatalf("another one's: %+v", a.failure)
	}
	a.hear(said(agentapi.GroupName(a.Name)))
	<-a.proc.Done()
	if !a.run.givenUp || a.failures != 1 || a.failure == nil || a.failure.Reason != agentapi.FailureTransfer || a.proc.Exit().Signal != syscall.SIGKILL {
		t.Errorf("given up: %v, failures: %d, %+v, ended by %v", a.run.givenUp, a.failures, a.failure, a.proc.Exit())
	}
	a.hear(said(agentapi.GroupName(a.Name)))
	if a.failures != 1 {
		t.Error("counted twice")
	}

	a = listener(t)
	a.run.note = nil
	a.hear(said(agentapi.GroupName(a.Name)))
	if a.run.givenUp {
		t.Error("one that has joined was ended")
	}
}
