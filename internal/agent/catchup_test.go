package agent

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agentapi"
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
	fresh := func() *agent {
		a := &agent{}
		a.join = &agentapi.Join{Kind: agentapi.JoinIST, Phase: agentapi.JoinApplying}
		a.run = running{from: at(5), note: &datadir.Joining{}}
		a.peers = map[string]agentapi.PeerView{
			"shop-1": {Name: "shop-1", Component: galera.ComponentPrimary, ClusterUUID: at(1).UUID, Position: at(104)},
			"shop-2": {Name: "shop-2", Component: galera.ComponentPrimary, ClusterUUID: at(1).UUID, Position: at(105)},
		}
		return a
	}
	show := func(a *agent, seconds, seqno int64) agentapi.Join {
		a.position = at(seqno)
		a.followCatchUp(start.Add(time.Duration(seconds) * time.Second))
		return *a.join
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
	a.run.note = nil // all it had missed is here; the queue is left
	if j := show(a, 20, 85); j.WriteSets != 40 || j.Behind != 20 || j.ETA.Unix() != 1025 {
		t.Errorf("the queue: %+v", j)
	}

	a = fresh()
	a.run.note.Transfer = true
	if j := show(a, 0, 25); j.WriteSets != 0 || j.Behind != 80 {
		t.Errorf("after a full copy: %+v", j)
	}
	a = fresh()
	if j := show(a, 0, 106); j.WriteSets != 0 || j.Behind != 0 {
		t.Errorf("ahead of what the others have told: %+v", j)
	}
	a.join.Phase = agentapi.JoinWaiting
	if j := show(a, 0, 25); j.WriteSets != 0 {
		t.Errorf("nothing is known before the server answers: %+v", j)
	}
}
