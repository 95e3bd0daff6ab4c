package model

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/galera-operator/galera-operator/internal/plan"
)

const (
	// fastSteps are taken in the fast run, and shortSteps with -short.
	fastSteps  = 12_000_000
	shortSteps = 1_000_000
	// rapidChecks is how many schedules the property-testing library draws in the fast run.
	rapidChecks = "30000"
)

// TestPromises draws schedules with rapid, which shrinks one that fails to the shortest and
// keeps it in testdata/rapid until it passes.
func TestPromises(t *testing.T) {
	t.Parallel()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue && !testing.Short() {
		if err := f.Value.Set(rapidChecks); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t)
		r := Run(s, plan.Plan)
		total.Add(int64(r.Steps))
		if r.Violation != "" {
			s.Events = r.Effective
			t.Fatalf("%s\n%s\n%s", r.Violation, s, Trace(s, plan.Plan, 20))
		}
	})
}

func drawSchedule(t *rapid.T) Schedule {
	s := Schedule{
		Members: rapid.SampledFrom([]int{3, 3, 3, 1, 2, 4, 5}).Draw(t, "members"),
		Eager:   rapid.Bool().Draw(t, "eager"),
		Fresh:   rapid.Bool().Draw(t, "fresh"),
	}
	if s.Members < maxNodes {
		s.Arbiter = rapid.IntRange(0, 3).Draw(t, "arbiter") == 1
	}
	in := allWeights[rapid.IntRange(0, len(allWeights)-1).Draw(t, "weights")]
	event := rapid.Custom(func(t *rapid.T) Event {
		return Event{in[rapid.IntRange(0, len(in)-1).Draw(t, "kind")],
			rapid.Uint8Range(0, 31).Draw(t, "a"), rapid.Uint8Range(0, 4).Draw(t, "b")}.plain(s.Members, s.places())
	})
	length := rapid.IntRange(0, 160).Draw(t, "length")
	s.Events = rapid.SliceOfN(event, length, length).Draw(t, "events")
	return s
}

// TestSeeds runs schedules from seeds: always the same ones in the fast run, and new ones for
// SIM_DURATION. SIM_SEED replays one and prints its story.
func TestSeeds(t *testing.T) {
	if seed, err := strconv.ParseUint(os.Getenv("SIM_SEED"), 10, 64); err == nil {
		runSeed(t, seed)
		t.Log(Trace(scheduleOf(seed), plan.Plan, 20))
		return
	}
	seed, limit, until := uint64(0), fastSteps, time.Time{}
	if testing.Short() {
		limit = shortSteps
	}
	if full() > 0 {
		seed, until = uint64(time.Now().UnixNano()), time.Now().Add(full())
		t.Logf("the first seed is %d", seed)
	}
	reached := runSeeds(t, seed, func(steps int64) bool {
		return until.IsZero() && steps < int64(limit) || time.Now().Before(until)
	})
	t.Logf("reached: %s", reached)
	if missed := reachedAll &^ reached &^ ReachedSplit; missed != 0 && !testing.Short() && !t.Failed() {
		t.Errorf("never reached: %s", missed)
	}
}

// runSeeds runs one seed after the other, on every processor, for as long as more are wanted after so many steps. What
// one processor would run alone is always among them.
func runSeeds(t *testing.T, first uint64, more func(steps int64) bool) Reached {
	var next atomic.Uint64
	var steps atomic.Int64
	next.Store(first)
	reached := make([]Reached, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i := range reached {
		wg.Go(func() {
			for !t.Failed() && more(steps.Load()) {
				r := runSeed(t, next.Add(1)-1)
				steps.Add(int64(r.Steps))
				reached[i] |= r.Reached
			}
		})
	}
	wg.Wait()
	var all Reached
	for _, r := range reached {
		all |= r
	}
	return all
}

// scheduleOf is the schedule of a seed.
func scheduleOf(seed uint64) Schedule { return Draw(seed, 30+int(seed%150)) }

func runSeed(t *testing.T, seed uint64) Result {
	s := scheduleOf(seed)
	r := Run(s, plan.Plan)
	total.Add(int64(r.Steps))
	if r.Violation != "" {
		short := Shrink(s, plan.Plan)
		t.Errorf("seed %d: %s\n%s\n%s", seed, r.Violation, short, Trace(short, plan.Plan, 20))
	}
	return r
}
