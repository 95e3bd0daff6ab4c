package model

import (
	"flag"
	"os"
	"strconv"
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
			t.Fatalf("%s\n%s\n%s", r.Violation, s, Tell(s, plan.Plan, 20))
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
	in := moods[rapid.IntRange(0, len(moods)-1).Draw(t, "mood")]
	event := rapid.Custom(func(t *rapid.T) Event {
		return Event{in[rapid.IntRange(0, len(in)-1).Draw(t, "kind")],
			rapid.Uint8Range(0, 31).Draw(t, "a"), rapid.Uint8Range(0, 4).Draw(t, "b")}.plain(s.Members, s.places())
	})
	length := rapid.IntRange(0, 160).Draw(t, "length")
	s.Events = rapid.SliceOfN(event, length, length).Draw(t, "events")
	return s
}

// TestSeeds runs schedules from seeds: always the same ones in the fast run, and new ones for
// SIM_DURATION. SIM_SEED replays one and tells its story.
func TestSeeds(t *testing.T) {
	if seed, err := strconv.ParseUint(os.Getenv("SIM_SEED"), 10, 64); err == nil {
		runSeed(t, seed)
		t.Log(Tell(scheduleOf(seed), plan.Plan, 20))
		return
	}
	seed, most, until := uint64(0), fastSteps, time.Time{}
	if testing.Short() {
		most = shortSteps
	}
	if full() > 0 {
		seed, until = uint64(time.Now().UnixNano()), time.Now().Add(full())
		t.Logf("the first seed is %d", seed)
	}
	var reached Reached
	for steps := 0; !t.Failed(); seed++ {
		if until.IsZero() && steps >= most || !until.IsZero() && time.Now().After(until) {
			break
		}
		r := runSeed(t, seed)
		steps += r.Steps
		reached |= r.Reached
	}
	t.Logf("reached: %s", reached)
	if missed := reachedAll &^ reached &^ ReachedSplit; missed != 0 && !testing.Short() && !t.Failed() {
		t.Errorf("never reached: %s", missed)
	}
}

// scheduleOf is the schedule of a seed.
func scheduleOf(seed uint64) Schedule { return Draw(seed, 30+int(seed%150)) }

func runSeed(t *testing.T, seed uint64) Result {
	s := scheduleOf(seed)
	r := Run(s, plan.Plan)
	total.Add(int64(r.Steps))
	if r.Violation != "" {
		short := Shrink(s, plan.Plan)
		t.Errorf("seed %d: %s\n%s\n%s", seed, r.Violation, short, Tell(short, plan.Plan, 20))
	}
	return r
}
