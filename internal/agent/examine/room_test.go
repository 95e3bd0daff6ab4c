package examine

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/volume"
)

// TestEndFor: a look that keeps a Stop from ending is cut off when it goes on for too long.
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
		r := Room{volume: &volume.Volume{Watch: volume.NewWatch(nil, time.Now)}, examining: c.looking, from: now.Add(-c.looked), cancel: func() { cut = true }}
		if c.frozen {
			r.volume.Begin(now.Add(-time.Hour))
		}
		if r.EndFor(now.Add(-c.stopped), now); cut != c.cut {
			t.Errorf("%s: cut %v", name, cut)
		}
	}
}

// TestSlow: a look that goes on for long is told of.
func TestSlow(t *testing.T) {
	now := time.Now()
	for took, want := range map[time.Duration]bool{slowAfter - time.Second: false, slowAfter + time.Second: true} {
		for _, looking := range []bool{true, false} {
			r := Room{examining: looking, from: now.Add(-took)}
			if f := r.Slow(now); (f != nil) != (want && looking) {
				t.Errorf("after %s, looking %v: %+v", took, looking, f)
			}
		}
	}
}
