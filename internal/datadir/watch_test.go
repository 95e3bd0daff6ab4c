package datadir

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func TestWatch(t *testing.T) {
	var fails error
	clock := time.Unix(1000, 0)
	d := NewVolumeWatch(func() error { return fails }, func() time.Time { return clock })
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
		d.Try()
		f := d.Failure()
		if (f == nil) != (c.reason == "") || f != nil &&
			(f.Reason != c.reason || !strings.Contains(f.Message, c.err.Error())) {
			t.Errorf("%s: %+v", name, f)
		}
		fails = nil
		if d.Try(); d.Failure() != nil || !d.Answers(clock.Add(-time.Second)) {
			t.Errorf("%s: not well again", name)
		}
	}
	d.Begin(clock)
	for after, want := range map[time.Duration]bool{FrozenAfter: false, FrozenAfter + time.Second: true, time.Hour: true} {
		clock = time.Unix(1000, 0).Add(after)
		if d.Frozen() != want || want && d.Answers(time.Time{}) {
			t.Errorf("after %s: frozen %v", after, d.Frozen())
		}
	}
	if (*VolumeWatch)(nil).Frozen() || (*VolumeWatch)(nil).Answers(time.Time{}) {
		t.Error("no watch, and an answer")
	}
}
