package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// TestEndFor: a check that keeps a Stop from ending is cut off when it goes on for too long.
func TestEndFor(t *testing.T) {
	now, long := time.Now(), time.Hour
	for name, c := range map[string]struct {
		looked, stopped time.Duration // ago
		looking, frozen bool
		cut             bool
	}{
		"too long":          {long, long, true, false, true},
		"just begun":        {0, long, true, false, false},
		"just ordered":      {long, 0, true, false, false},
		"nothing goes on":   {long, long, false, false, false},
		"the volume frozen": {long, long, true, true, false},
	} {
		cut := false
		r := Examiner{volume: &datadir.Volume{VolumeWatch: datadir.NewVolumeWatch(nil, time.Now)}, examining: c.looking,
			from: now.Add(-c.looked), cancel: func() { cut = true }}
		if c.frozen {
			r.volume.Begin(now.Add(-time.Hour))
		}
		if r.EndFor(now.Add(-c.stopped), now); cut != c.cut {
			t.Errorf("%s: cut %v", name, cut)
		}
	}
}

// TestSlowExaminationIsReported: an examination that takes long is reported.
func TestSlowExaminationIsReported(t *testing.T) {
	now := time.Now()
	for took, want := range map[time.Duration]bool{slowAfter - time.Second: false, slowAfter + time.Second: true} {
		for _, looking := range []bool{true, false} {
			r := Examiner{examining: looking, from: now.Add(-took)}
			if f := r.Slow(now); (f != nil) != (want && looking) {
				t.Errorf("after %s, looking %v: %+v", took, looking, f)
			}
		}
	}
}

// TestExaminationBlamesSettings: settings with which mariadbd --wsrep-recover does not start count as refused, as those
// with which a server does not; an interrupted examination, and one that failed for another reason, prove nothing about
// them.
func TestExaminationBlamesSettings(t *testing.T) {
	exit := func(line string) mariadbd.Exit {
		return mariadbd.Exit{Code: 1, Lines: []string{line, "[ERROR] Aborting"}}
	}
	for name, c := range map[string]struct {
		err             error
		blamed, certain bool
	}{
		"a setting": {&mariadbd.RecoverError{Exit: exit("[ERROR] unknown variable 'x=1'"),
			Err: mariadbd.ErrNoPosition}, true, true},
		"maybe a setting": {&mariadbd.RecoverError{Exit: exit("[ERROR] Cannot allocate memory"),
			Err: mariadbd.ErrNoPosition}, true, false},
		"a full disk": {&mariadbd.RecoverError{Exit: exit("[ERROR] No space left on device"),
			Err: mariadbd.ErrNoPosition}, false, false},
		"interrupted": {&mariadbd.RecoverError{Exit: exit("[ERROR] unknown variable 'x=1'"), Err: context.Canceled},
			false, false},
		"out of time": {&mariadbd.RecoverError{Exit: exit("[ERROR] x"),
			Err: fmt.Errorf("x: %w", context.DeadlineExceeded)}, false, false},
		"the volume fails": {errors.New("input/output error"), false, false},
	} {
		r := Examiner{loop: eventloop.Loop{Logger: slog.New(slog.DiscardHandler), Draining: func() bool { return false }},
			attempts: &lifecycle.Attempts{},
			book:     func() orders.Content { return orders.Content{} }}
		blamed, certain := false, false
		r.failed(Found{}, c.err, func(is bool, why string) {
			if blamed, certain = true, is; why != c.err.Error() || r.RetryAt.IsZero() {
				t.Errorf("%s: %q, again at %s", name, why, r.RetryAt)
			}
		})
		if blamed != c.blamed || certain != c.certain {
			t.Errorf("%s: blamed %t, certain %t", name, blamed, certain)
		}
	}
}
