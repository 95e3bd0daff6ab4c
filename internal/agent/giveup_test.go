package agent

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/procs"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestLeadsNowhere(t *testing.T) {
	note := &datadir.Joining{}
	nonPrimary := primary("a", func(p *agentapi.PeerView) { p.Component = galera.ComponentNonPrimary })
	up := func(c galera.ComponentState) *agentapi.Server { return &agentapi.Server{Component: c} }
	for name, c := range map[string]struct {
		status *agentapi.Server
		run    running
		peers  map[string]agentapi.PeerView
		want   time.Duration
	}{
		"joining":                        {nil, running{note: note}, primary("a", nil), 0},
		"nobody is Primary any more":     {nil, running{note: note}, nonPrimary, hopeless},
		"nobody answers":                 {nil, running{note: note}, nil, deaf},
		"in a full transfer":             {nil, running{note: &datadir.Joining{Transfer: true}}, nonPrimary, 0},
		"bootstrapping":                  {nil, running{}, nonPrimary, 0},
		"served, busy":                   {nil, running{served: true}, nonPrimary, 0},
		"running":                        {up(galera.ComponentPrimary), running{served: true}, nil, 0},
		"without quorum":                 {up(galera.ComponentNonPrimary), running{served: true}, nil, 0},
		"left the group, as if for good": {up(galera.ComponentDisconnected), running{served: true}, primary("a", nil), cutOff},
	} {
		a := &agent{state: state{status: c.status, run: c.run, peers: c.peers}}
		if why, got := a.leadsNowhere(); got != c.want || (why != "") != (c.want != 0) {
			t.Errorf("%s: %s (%q), want %s", name, got, why, c.want)
		}
	}
}

// A joiner that is ended because it leads nowhere has failed once, so that its next attempt dials another peer.
func TestGiveUpCounts(t *testing.T) {
	table := &procs.Table{}
	proc, err := server.Start(table, server.Command{Path: "/bin/sleep", Args: []string{"60"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proc.Kill)
	a := &agent{Options: Options{Logger: slog.New(slog.DiscardHandler)}}
	a.proc, a.run = proc, running{note: &datadir.Joining{}, nowhereSince: time.Now().Add(-deaf - time.Second)}
	a.giveUp()
	<-proc.Done()
	a.giveUp()
	if !a.run.givenUp || a.failures != 1 || proc.Exit().Signal != syscall.SIGKILL {
		t.Errorf("given up: %v, failures: %d, ended by %v", a.run.givenUp, a.failures, proc.Exit())
	}
}

func TestNotStarted(t *testing.T) {
	full := fmt.Errorf("a note: %w", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	if f := notStarted(full); f.Reason != agentapi.FailureDiskFull || !strings.Contains(f.Message, "could not be started: a note: write x: no space") {
		t.Errorf("%+v", f)
	}
	if f := notStarted(os.ErrPermission); f.Reason != agentapi.FailureStart {
		t.Errorf("%+v", f)
	}
}
