package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// fresh is an agent that has been started in a directory of its own. Its volume answers at once.
func fresh(t *testing.T) *agent {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	p := platform.Places{Volume: dir, Data: at("data"), State: at("state"), Run: at("run"), Tmp: at("tmp"),
		Config: at("config"), TLS: at("tls"), Root: at("root")}
	if err := os.MkdirAll(p.Run, 0o750); err != nil {
		t.Fatal(err)
	}
	a, err := newAgent(Options{Name: "a-cluster-with-a-long-name-shop-0", Address: "10.0.0.7", Places: p,
		Logger: slog.New(slog.DiscardHandler), Output: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.conn.Close)
	a.openVolume(a.initState)
	a.volume = datadir.Volume{}
	return a
}

func (a *agent) markers() datadir.Markers { return datadir.Markers{Dir: a.Places.State} }

// joinerAgent is an agent whose server joins with a full copy.
func joinerAgent(t *testing.T) *agent {
	t.Helper()
	a := fresh(t)
	a.run.Proc, a.run.Note = agenttest.Server(t), &datadir.Joining{SST: true}
	a.joiner.Join = &agentapi.Join{Kind: agentapi.JoinSST, Donor: "shop-1"}
	return a
}

func (a *agent) handleLogLine(line string) {
	a.serverLine(line)
	for len(a.queue.Events) > 0 {
		(<-a.queue.Events)()
	}
}

func TestHandshakesAreReadFromTheLog(t *testing.T) {
	a := joinerAgent(t)
	for _, line := range []string{
		"2026/11/22 12:06:47 socat[10] N SSL proto version used: TLSv1.3",
		"2026/11/22 12:06:47 socat[10] N SSL connection using TLS_AES_256_GCM_SHA384",
		"anything else",
	} {
		a.handleLogLine(line)
	}
	if a.joiner.Join.Protocol != "TLSv1.3" || a.joiner.Join.Cipher != "TLS_AES_256_GCM_SHA384" {
		t.Errorf("%+v", *a.joiner.Join)
	}
	a.run.Note = nil // it has joined, and gives to another one
	a.handleLogLine("2026/11/22 12:06:47 socat[10] N SSL connection using TLS_AES_128_GCM_SHA256")
	if a.joiner.Join.Cipher != "TLS_AES_256_GCM_SHA384" {
		t.Errorf("another transfer's suite: %+v", *a.joiner.Join)
	}
}

// TestRejectedJoinIsRetried: Galera itself would wait forever.
func TestRejectedJoinIsRetried(t *testing.T) {
	said := func(name string) string {
		return "2026-11-22 12:15:04 0 [Warning] WSREP: Rejecting JOIN message from 0.0 (" + name +
			"): new State Transfer required."
	}
	a := joinerAgent(t)
	a.handleLogLine(said("shop-1"))
	if a.run.GivenUp || a.run.Attempts.Failure != nil {
		t.Fatalf("another one's: %+v", a.run.Attempts.Failure)
	}
	a.handleLogLine(said(agentapi.GroupName(a.Name)))
	<-a.run.Proc.Done()
	if !a.run.GivenUp || a.run.Attempts.Failed != 1 || a.run.Attempts.Failure == nil ||
		a.run.Attempts.Failure.Reason != agentapi.FailureTransfer || a.run.Proc.Exit().Signal != syscall.SIGKILL {
		t.Errorf("given up: %v, failures: %d, %+v, ended by %v", a.run.GivenUp, a.run.Attempts.Failed, a.run.Attempts.Failure,
			a.run.Proc.Exit())
	}
	a.handleLogLine(said(agentapi.GroupName(a.Name)))
	if a.run.Attempts.Failed != 1 {
		t.Error("counted twice")
	}

	a = joinerAgent(t)
	a.run.Note = nil
	a.handleLogLine(said(agentapi.GroupName(a.Name)))
	if a.run.GivenUp {
		t.Error("one that has joined was ended")
	}
}
