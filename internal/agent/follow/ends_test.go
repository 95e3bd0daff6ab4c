package follow

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestTrials: a server that ends as soon as its channel was opened is counted, also by the next agent, until the
// channel goes on. One that was stopped, has gone on, or has run for long is not.
func TestTrials(t *testing.T) {
	const at = "0-1-7"
	now := time.Now()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	begin := func(r *trials) { check(r.begin(at, now)) }
	end := func(r *trials) { check(r.began()) }
	for name, tc := range map[string]struct {
		steps []func(*trials)
		want  int
	}{
		"it ends":            {[]func(*trials){begin, end}, 1},
		"it ends again":      {[]func(*trials){begin, end, begin, end}, 2},
		"it was never begun": {[]func(*trials){end}, 0},
		"it is stopped":      {[]func(*trials){begin, func(r *trials) { check(r.closed()) }, end}, 0},
		"it is stopped after it has ended": {[]func(*trials){begin, end, begin, func(r *trials) { check(r.closed()) }, end},
			1},
		"something was applied": {[]func(*trials){begin, end, begin, func(r *trials) { check(r.read("0-1-8", now)) }, end},
			0},
		"nothing was applied, for long": {[]func(*trials){begin,
			func(r *trials) { check(r.read(at, now.Add(time.Hour))) }, end}, 0},
		"nothing was applied yet": {[]func(*trials){begin,
			func(r *trials) { check(r.read(at, now.Add(time.Second))) }, end}, 1},
		"it begins elsewhere afterwards": {[]func(*trials){begin, end, func(r *trials) { check(r.begin("0-1-9", now)) }}, 0},
		"its agent is replaced":          {[]func(*trials){begin, end, func(r *trials) { check(r.takenOver(now)) }}, 0},
	} {
		dir := t.TempDir()
		r := openTrials(dir)
		for _, step := range tc.steps {
			step(&r)
			r = openTrialsWith(r, dir)
		}
		if got := r.ends(true); got.Ends != tc.want || tc.want > 0 && got.Position != at {
			t.Errorf("%s: %+v", name, got)
		}
	}
	r := openTrials(t.TempDir())
	begin(&r)
	if r.ends(true).Ends != 0 || r.ends(false).Ends != 1 {
		t.Error("the end of a server is not known before the next one begins")
	}
}

// openTrialsWith is the next agent of a pod: it knows what is on the volume, and what was before the run.
func openTrialsWith(before trials, dir string) trials {
	out := openTrials(dir)
	out.before = before.before
	return out
}

// TestTrialsWait: the time begins when an end is learned of, and again with the next one.
func TestTrialsWait(t *testing.T) {
	now := time.Now()
	others := func(ends int) map[string]agentapi.PeerView {
		return map[string]agentapi.PeerView{"n-1": {ChannelEnds: agentapi.ChannelEnds{Position: "0-1-7", Ends: ends}}}
	}
	r := openTrials(t.TempDir())
	for i, tc := range []struct {
		position string
		others   map[string]agentapi.PeerView
		at, want time.Duration
	}{
		{"0-1-7", nil, 0, 0},
		{"0-1-7", others(1), time.Second, 30 * time.Second},
		{"0-1-7", others(1), 21 * time.Second, 10 * time.Second},
		{"0-1-7", others(1), 2 * time.Minute, 0},
		{"0-1-7", others(2), 3 * time.Minute, time.Minute},
		{"0-1-7", nil, 3 * time.Minute, time.Minute},
		{"0-1-7", others(2), 3*time.Minute + 30*time.Second, 30 * time.Second},
		{"0-1-8", others(2), 3*time.Minute + 30*time.Second, 0},
	} {
		if got, _ := r.wait(tc.position, tc.others, now.Add(tc.at)); got != tc.want {
			t.Errorf("%d: %s, want %s", i, got, tc.want)
		}
	}
}

// TestTrialsNeedNoVolume: the loop, and an agent that starts, wait for no volume that does not answer, as this FIFO
// does not: what is known of the channel is kept elsewhere.
func TestTrialsNeedNoVolume(t *testing.T) {
	places := platform.Places{State: t.TempDir(), Run: t.TempDir()}
	for _, name := range []string{trialFile, trialFile + ".new"} {
		if err := syscall.Mkfifo(filepath.Join(places.State, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened := make(chan *Follower, 1)
	go func() {
		f := New(eventloop.Loop{}, places, "n-0", silent{}, Dependencies{})
		f.warn(f.trials.begin("0-1-7", time.Now()))
		opened <- f
	}()
	select {
	case f := <-opened:
		if f.Exited(false); !openTrials(places.Run).Open {
			t.Error("the end of a server is not counted")
		}
		if f.Exited(true); openTrials(places.Run).Open {
			t.Error("the end of a server that was stopped is counted")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the volume is waited for")
	}
}
