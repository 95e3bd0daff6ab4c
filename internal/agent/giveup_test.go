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
)

// A joiner that is ended because it leads nowhere has failed once, so that its next attempt dials another peer.
func TestGiveUpCounts(t *testing.T) {
	table := &procs.Table{}
	proc, err := server.Start(table, server.Command{Path: "/bin/sleep", Args: []string{"60"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proc.Kill)
	a := &agent{Options: Options{Logger: slog.New(slog.DiscardHandler)}}
	a.proc, a.run = proc, running{note: &datadir.Joining{}, nowhereSince: time.Now().Add(-time.Minute)}
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
