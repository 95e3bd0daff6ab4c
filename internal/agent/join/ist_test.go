package join

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestLagCloses(t *testing.T) {
	at := func(seconds, behind int64) lag { return lag{time.Unix(1000+seconds, 0), behind} }
	for name, c := range map[string]struct {
		before, now lag
		want        int64 // seconds, -1 for never
	}{
		"shrinks":         {at(0, 300), at(10, 200), 30},
		"is closed":       {at(0, 300), at(10, 0), 10},
		"grows":           {at(0, 300), at(10, 400), -1},
		"stays":           {at(0, 300), at(10, 300), -1},
		"nothing earlier": {lag{}, at(10, 300), -1},
		"no time between": {at(10, 300), at(10, 200), -1},
	} {
		got := c.now.closed(c.before)
		if (got == nil) != (c.want < 0) || got != nil && got.Unix() != 1000+c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestFollowCatchUp(t *testing.T) {
	start := time.Unix(1000, 0)
	fresh := func() *JoinerTracker {
		a := joiner(t)
		a.Join = &agentapi.Join{Kind: agentapi.JoinIST, Phase: agentapi.JoinApplying}
		a.Run.From, a.Run.Note = agenttest.At(5), &datadir.Joining{}
		a.Group.Views = map[string]agentapi.PeerView{
			"shop-1": {Name: "shop-1", Component: galera.ComponentPrimary, ClusterUUID: agenttest.At(1).UUID,
				Position: agenttest.At(104)},
			"shop-2": {Name: "shop-2", Component: galera.ComponentPrimary, ClusterUUID: agenttest.At(1).UUID,
				Position: agenttest.At(105)},
		}
		return a
	}
	show := func(a *JoinerTracker, seconds, seqno int64) agentapi.Join {
		a.Run.Position = agenttest.At(seqno)
		a.FollowCatchUp(start.Add(time.Duration(seconds) * time.Second))
		return *a.Join
	}

	a := fresh()
	if j := show(a, 0, 25); j.WriteSets != 20 || j.Behind != 80 || j.ETA != nil {
		t.Errorf("at first: %+v", j)
	}
	if j := show(a, 5, 35); j.WriteSets != 20 {
		t.Errorf("too soon: %+v", j)
	}
	if j := show(a, 10, 45); j.WriteSets != 40 || j.Behind != 60 || j.ETA == nil || j.ETA.Unix() != 1040 {
		t.Errorf("ten seconds later: %+v", j)
	}
	a.Run.Note = nil // all it had missed is here; the queue is left
	if j := show(a, 20, 85); j.WriteSets != 40 || j.Behind != 20 || j.ETA.Unix() != 1025 {
		t.Errorf("the queue: %+v", j)
	}

	a = fresh()
	a.Run.Note.SST = true
	if j := show(a, 0, 25); j.WriteSets != 0 || j.Behind != 80 {
		t.Errorf("after a full copy: %+v", j)
	}
	a = fresh()
	if j := show(a, 0, 106); j.WriteSets != 0 || j.Behind != 0 {
		t.Errorf("ahead of what the others have reported: %+v", j)
	}
	a.Join.Phase = agentapi.JoinWaiting
	if j := show(a, 0, 25); j.WriteSets != 0 {
		t.Errorf("nothing is known before the server answers: %+v", j)
	}
}

func TestSilentTransferIsRestarted(t *testing.T) {
	const limit = 10 * time.Minute // the default
	// half of what is too long, between the checks: what has been so at three of them is.
	const half, long = limit/2 + time.Second, limit + time.Minute
	start := time.Unix(100000, 0)
	for name, c := range map[string]struct {
		// silent is what the kernel reports at each observation, -1 for nothing.
		silent [3]time.Duration
		edit   func(*JoinerTracker)
		// between is done before the second one.
		between func(*JoinerTracker)
		ended   bool
	}{
		"for too long": {silent: [3]time.Duration{long, long, long}, ended: true},
		"in an incremental one": {silent: [3]time.Duration{long, long, long},
			edit: func(a *JoinerTracker) { a.Run.Note.SST = false }, ended: true},
		"not for long":                   {silent: [3]time.Duration{reportInterval, half, limit}},
		"only since it was read at last": {silent: [3]time.Duration{-1, long, long}},
		"unread between":                 {silent: [3]time.Duration{long, -1, long}},
		"unread":                         {silent: [3]time.Duration{long, long, -1}},
		"something came":                 {silent: [3]time.Duration{long, reportInterval - 1, long}},
		"something was applied": {silent: [3]time.Duration{long, long, long},
			between: func(a *JoinerTracker) { a.Run.Position = agenttest.At(8) }},
		"it has joined": {silent: [3]time.Duration{long, long, long},
			edit: func(a *JoinerTracker) { a.Run.Note = nil }},
		"ended already": {silent: [3]time.Duration{long, long, long},
			edit: func(a *JoinerTracker) { a.Run.Stopping = true }},
		"checked a moment ago": {silent: [3]time.Duration{long, long, long},
			between: func(a *JoinerTracker) { a.istObservedAt = start.Add(2*half - 1) }},
		"a longer timeout": {silent: [3]time.Duration{long, long, long},
			edit: func(a *JoinerTracker) { a.Config.Node.StateTransfer.StallSeconds = 1300 }},
	} {
		t.Run(name, func(t *testing.T) {
			a := joiner(t)
			a.Config.Node = &agentapi.NodeConfig{}
			if c.edit != nil {
				c.edit(a)
			}
			for i := range c.silent {
				a.silence = func(port uint16) (time.Duration, bool) { return c.silent[i], c.silent[i] >= 0 && port == 4568 }
				if i == 1 && c.between != nil {
					c.between(a)
				}
				if a.EndStalledIST(start.Add(time.Duration(i) * half)); i < 2 && a.Run.Attempts.Failed > 0 {
					t.Fatal("ended too soon")
				}
			}
			if ended := a.Run.Attempts.Failed > 0; ended != c.ended {
				t.Fatalf("ended: %v", ended)
			}
			if !c.ended {
				return
			}
			if f := a.Run.Attempts.Failure; f == nil || f.Reason != agentapi.FailureStalled || !strings.HasPrefix(f.Message,
				"IST from shop-1: nothing received for 10m0s") {
				t.Errorf("%+v", f)
			}
			<-a.Run.Proc.Done()
			if a.Run.Attempts.Failed != 1 || a.Run.Attempts.FailedDonor != "shop-1" || a.Run.Attempts.RetryIn(time.Now()) == 0 {
				t.Errorf("failures %d, of %q, again in %s", a.Run.Attempts.Failed, a.Run.Attempts.FailedDonor,
					a.Run.Attempts.RetryIn(time.Now()))
			}
		})
	}
}

// silentIST has seen a connection over which nothing comes.
func silentIST() (w lifecycle.ISTWatch) {
	w.See(time.Now(), lifecycle.ISTObservation{Connected: true}, reportInterval, time.Minute)
	return w
}
