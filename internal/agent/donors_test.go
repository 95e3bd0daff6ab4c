package agent

import (
	"maps"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/examine"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/place"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestAwaitRoom: a copy that cannot fit is not begun.
func TestAwaitRoom(t *testing.T) {
	a := &agent{Options: Options{Places: place.Places{Volume: t.TempDir(), Data: t.TempDir()}}}
	a.volume.At(a.Places)
	a.config.Node = &agentapi.NodeConfig{}
	yes := lifecycle.JoinVerdict{Join: true}
	for name, c := range map[string]struct {
		data  galera.DataState
		bytes int64
		fails bool
	}{
		"not known":         {galera.DataEmpty, 0, false},
		"little":            {galera.DataEmpty, 1 << 20, false},
		"far too much":      {galera.DataEmpty, 1 << 60, true},
		"half a copy here":  {galera.DataIncomplete, 1 << 60, true},
		"no copy is wanted": {galera.DataPresent, 1 << 60, false},
	} {
		a.peers = primary("a", func(p *agentapi.PeerView) { p.DataBytes = c.bytes })
		a.exam.Found = examine.Found{Data: c.data}
		v := a.awaitDonor(yes)
		if v.Join == c.fails || c.fails && v.Failure.Reason != agentapi.FailureDiskFull {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// gave makes a peer that has given an increment, at a second.
func gave(to string, at int64) func(*agentapi.PeerView) {
	return func(p *agentapi.PeerView) {
		p.Gave = &agentapi.Giving{Kind: agentapi.JoinIST, To: to, Since: time.Unix(at, 0)}
	}
}

// TestFindDonorOfAShortTransfer: it is over when the others are asked, and with it perhaps the join.
func TestFindDonorOfAShortTransfer(t *testing.T) {
	a := &agent{Options: Options{Address: "10.0.0.7"}}
	a.peers = primary("a", gave("10.0.0.8", 9))
	maps.Copy(a.peers, primary("b", gave("10.0.0.7", 9)))
	a.join = &agentapi.Join{}
	if a.findDonor(); a.join.Donor != "" {
		t.Errorf("nobody had been heard when the join began, so that may have been given before: %+v", a.join)
	}
	a.run.follow.before = map[string]time.Time{"a": {}, "b": time.Unix(5, 0)}
	if a.findDonor(); a.join.Donor != "b" {
		t.Errorf("while the server starts: %+v", a.join)
	}
	now := time.Now()
	a.join = &agentapi.Join{EndedAt: &now}
	if a.findDonor(); a.join.Donor != "b" {
		t.Errorf("after the join: %+v", a.join)
	}
	maps.Copy(a.peers, primary("a", gave("10.0.0.7", 12)))
	if a.findDonor(); a.join.Donor != "a" {
		t.Errorf("b gave to an attempt before, and was not asked in time: %+v", a.join)
	}
	maps.Copy(a.peers, primary("b", func(p *agentapi.PeerView) {
		p.Giving = &agentapi.Giving{Kind: agentapi.JoinIST, To: "10.0.0.7", Since: time.Unix(11, 0)}
	}))
	if a.findDonor(); a.join.Donor != "b" {
		t.Errorf("who gives at the moment: %+v", a.join)
	}
	for what, j := range map[string]agentapi.Join{
		"another transfer, to the server that serves": {Donor: "c", EndedAt: new(now.Add(-time.Minute))},
		"nothing was missing":                         {Kind: agentapi.JoinNone, EndedAt: &now},
	} {
		before := j.Donor
		a.join = &j
		if a.findDonor(); a.join.Donor != before {
			t.Errorf("%s: %+v", what, a.join)
		}
	}
	a.peers = primary("c", func(p *agentapi.PeerView) { p.State = galera.NodeDonor })
	a.join = &agentapi.Join{EndedAt: &now}
	if a.findDonor(); a.join.Donor != "" {
		t.Errorf("one that gives to somebody, after the join: %+v", a.join)
	}
}

func TestFindDonor(t *testing.T) {
	a := &agent{Options: Options{Address: "10.0.0.7"}}
	a.run.note = &datadir.Joining{Transfer: true}
	giving := func(to string) func(*agentapi.PeerView) {
		return func(p *agentapi.PeerView) {
			p.State, p.DataBytes, p.Giving = galera.NodeDonor, 77, &agentapi.Giving{Kind: agentapi.JoinSST, To: to, Since: time.Unix(7, 0)}
		}
	}
	a.peers = primary("a", giving("10.0.0.8"))
	maps.Copy(a.peers, primary("b", giving("10.0.0.7")))
	a.join = &agentapi.Join{}
	a.findDonor()
	if a.join.Donor != "b" || a.join.Total != 77 {
		t.Errorf("of two donors: %+v", a.join)
	}
	a.run.follow.before = a.givenBefore()
	a.join = &agentapi.Join{}
	if a.findDonor(); a.join.Donor != "" {
		t.Errorf("one that still gives to an attempt that failed: %+v", a.join)
	}
	a.peers = primary("b", gave("10.0.0.7", 7))
	if a.findDonor(); a.join.Donor != "" {
		t.Errorf("one that has noticed since that the attempt failed: %+v", a.join)
	}
	a.peers = primary("c", func(p *agentapi.PeerView) { p.State = galera.NodeDonor })
	a.join = &agentapi.Join{}
	a.findDonor()
	if a.join.Donor != "c" {
		t.Errorf("the only donor there is: %+v", a.join)
	}
}
