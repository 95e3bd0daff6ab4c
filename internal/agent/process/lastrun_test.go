package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestLastRun: an agent that was killed with its server finds in which Primary view that was; after an orderly end, and
// a bad note, it finds nothing.
func TestLastRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "last-run.json")
	killed := func(what string, want *agentapi.Ended) *lastRun {
		t.Helper()
		l, got := openLastRun(path)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
		return l
	}
	note := func(l *lastRun, e *agentapi.Ended) {
		t.Helper()
		if err := l.note(e); err != nil {
			t.Fatal(err)
		}
	}
	first, second := &agentapi.Ended{NodeUUID: "a", ViewID: 3}, &agentapi.Ended{NodeUUID: "a", ViewID: 4}
	l := killed("a new pod", nil)
	note(l, nil)
	note(l, first)
	note(l, second)
	l = killed("it was Primary", second)
	note(l, second)
	l = killed("noted again", second)
	note(l, nil)
	killed("an orderly end", nil)
	if err := os.WriteFile(path, []byte(`{"nodeUUID":"a","view`), 0o600); err != nil {
		t.Fatal(err)
	}
	l = killed("torn", nil)
	note(l, first)
	killed("and written again", first)
}

// TestKilledWithItsServer: the next agent of the pod reports the end for a while.
func TestKilledWithItsServer(t *testing.T) {
	_, loop := agenttest.Loop()
	path := filepath.Join(t.TempDir(), "last-run.json")
	start := func() Supervisor {
		return NewSupervisor(loop, "shop-0", path, nil, unresponsiveConns{}, nil, nil, SupervisorEvents{})
	}
	killed := start()
	killed.notes.keep(&agentapi.Ended{NodeUUID: "a", ViewID: 3}, loop.Logger)
	next := start()
	var r agentapi.Report
	if next.Report(&r); r.Ended == nil || r.Ended.ViewID != 3 {
		t.Errorf("%+v", r.Ended)
	}
	next.DownSince = time.Now().Add(-endedTime)
	r = agentapi.Report{}
	if next.Report(&r); r.Ended != nil {
		t.Errorf("for ever: %+v", r.Ended)
	}
}
