package agent

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestDiskWatch(t *testing.T) {
	var fails error
	clock := time.Unix(1000, 0)
	d := &diskWatch{write: func() error { return fails }, now: func() time.Time { return clock }, poke: make(chan struct{}, 1)}
	for name, c := range map[string]struct {
		err    error
		reason string
	}{
		"well":        {nil, ""},
		"read-only":   {&os.PathError{Op: "open", Path: "x", Err: syscall.EROFS}, agentapi.FailureReadOnly},
		"broken":      {syscall.EIO, agentapi.FailureReadOnly},
		"full":        {syscall.ENOSPC, agentapi.FailureDiskFull},
		"quota":       {syscall.EDQUOT, agentapi.FailureDiskFull},
		"not allowed": {os.ErrPermission, agentapi.FailureReadOnly},
	} {
		fails = c.err
		d.try()
		f := d.failure()
		if (f == nil) != (c.reason == "") || f != nil && (f.Reason != c.reason || !strings.Contains(f.Message, c.err.Error())) {
			t.Errorf("%s: %+v", name, f)
		}
		fails = nil
		if d.try(); d.failure() != nil || !d.answers(clock.Add(-time.Second)) {
			t.Errorf("%s: not well again", name)
		}
	}
	d.since = clock
	for after, want := range map[time.Duration]bool{frozenAfter: false, frozenAfter + time.Second: true, time.Hour: true} {
		clock = time.Unix(1000, 0).Add(after)
		if d.frozen() != want || want && d.answers(time.Time{}) {
			t.Errorf("after %s: frozen %v", after, d.frozen())
		}
	}
	if (*diskWatch)(nil).frozen() || (*diskWatch)(nil).answers(time.Time{}) {
		t.Error("no watch, and an answer")
	}
}

// TestUnwrittenOrderIsTold: the book cannot be written, the order is answered with an error, and the volume is tried at once.
func TestUnwrittenOrderIsTold(t *testing.T) {
	s := onSlowVolume(t)
	s.release()
	if err := os.RemoveAll(s.Places.State); err != nil {
		t.Fatal(err)
	}
	var answer error
	s.accept(agentapi.Order{ID: "x", Epoch: 1, Kind: agentapi.OrderStop}, time.Now(), func(_ agentapi.OrderResult, err error) { answer = err })
	s.nextEvent(t)
	if answer == nil || s.current != nil || s.recording != nil || s.book.Content().Held || len(s.disk.poke) != 1 {
		t.Errorf("%v; %+v", answer, s.book.Content())
	}
	s.disk.write = func() error { return touch(s.Places.State) }
	s.disk.try()
	s.publish(Step{Phase: galera.PhaseWaiting})
	if s.shown() != agentapi.FailureReadOnly {
		t.Errorf("told: %q", s.shown())
	}
	if err := os.MkdirAll(s.Places.State, 0o750); err != nil {
		t.Fatal(err)
	}
	s.disk.try()
	if s.disk.failure() != nil {
		t.Error(s.disk.failure())
	}
}

// TestNothingIsKilledOnAFrozenVolume: neither a server that does not stop, nor a transfer that stands still.
func TestNothingIsKilledOnAFrozenVolume(t *testing.T) {
	s := onSlowVolume(t)
	s.proc, s.run = listener(t).proc, running{stopping: true, patience: time.Minute, stopAt: time.Now().Add(-time.Hour)}
	s.disk.since = time.Now()
	s.ahead.Store(int64(time.Hour))
	s.enforceStop()
	if left := time.Until(s.run.stopAt); left < 50*time.Second || stillRuns(s.proc) != nil {
		t.Errorf("patience %s", left)
	}
	s.ahead.Store(0)
	s.enforceStop()
	if stillRuns(s.proc) != nil {
		t.Error("killed when the volume answers, without a new patience")
	}
	s.run.stopAt = time.Now().Add(-time.Second)
	s.enforceStop()
	<-s.proc.Done()
}

func stillRuns(p *server.Process) error {
	select {
	case <-p.Done():
		return errors.New("it has ended")
	default:
		return nil
	}
}
