package measure

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// measure runs a loop whose operations take a fixed time, and returns what it found.
func measureLoop(t *testing.T, l *loop, takes time.Duration) (perSecond float64, operations int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l.run(t.Context(), func(ctx context.Context, _ int64, _ int) error {
			pause(ctx, takes)
			return nil
		})
		perSecond, operations = l.paced(time.Since(l.began)).PerSecond, len(l.took)
	})
	return perSecond, operations
}

// TestRatesAreNotRounded to the whole operations that fit into the time: 25 clients whose connection takes 776 ms make
// 32.2 of them per second, and with 603 ms 41.5; not 30 and 40.
func TestRatesAreNotRounded(t *testing.T) {
	for _, ms := range []float64{776, 603, 170, 190.5, 4999, 5001, 12000} {
		takes := time.Duration(ms * float64(time.Millisecond))
		got, operations := measureLoop(t, &loop{threads: 25, seconds: 5}, takes)
		if want := 25 / takes.Seconds(); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%s for each: %.3f per second, want %.3f", takes, got, want)
		}
		if want := 25 * int(math.Ceil(5/takes.Seconds())); operations != want {
			t.Errorf("%s for each: %d operations, want %d", takes, operations, want)
		}
	}
}

// TestANumberOfOperations: threads that are idle at the end do not count as slow ones.
func TestANumberOfOperations(t *testing.T) {
	got, operations := measureLoop(t, &loop{threads: 4, most: 10}, 100*time.Millisecond)
	if operations != 10 || math.Abs(got-40) > 1e-6 {
		t.Errorf("%d operations, %.2f per second", operations, got)
	}
}

// TestWhatHangsIsCutOff some time after the end.
func TestWhatHangsIsCutOff(t *testing.T) {
	l := &loop{threads: 2, seconds: 1}
	synctest.Test(t, func(t *testing.T) {
		l.run(t.Context(), func(ctx context.Context, n int64, _ int) error {
			if n > 2 {
				<-ctx.Done()
				return ctx.Err()
			}
			pause(ctx, 700*time.Millisecond)
			return nil
		})
		if took := time.Since(l.began); took != time.Second+patienceAtEnd {
			t.Errorf("ended after %s", took)
		}
	})
	if len(l.took) != 2 || l.failed != 2 {
		t.Errorf("%d done, %d failed", len(l.took), l.failed)
	}
}
