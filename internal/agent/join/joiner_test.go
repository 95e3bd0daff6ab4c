package join

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// joiner returns a Tracker whose server joins with a full copy from shop-1.
func joiner(t *testing.T) *JoinerTracker {
	t.Helper()
	_, loop := agenttest.Loop()
	deps := Dependencies{Group: &api.Peers{}, Volume: &datadir.Volume{},
		Config: &config.Manager{Node: &agentapi.NodeConfig{}}, Image: &mariadbd.Image{}, Exam: &process.Examiner{}}
	run := process.NewSupervisor(loop, "shop-2", filepath.Join(t.TempDir(), "last-run.json"), nil, nil, deps.Volume,
		deps.Group,
		process.SupervisorEvents{})
	run.Proc, run.Note = agenttest.Server(t), &datadir.Joining{SST: true}
	deps.Run = &run
	r := NewJoinerTracker(loop, platform.Places{Data: t.TempDir(), State: t.TempDir()}, "10.0.0.7", nil, deps,
		Events{Judge: func() {}, Copied: func() error { return nil }, Unproved: func() error { return nil }})
	r.Join = &agentapi.Join{Kind: agentapi.JoinSST, Donor: "shop-1"}
	r.reports.to = r.address
	return &r
}

// gave makes a peer that has given an increment, at a second.
func gave(to string, at int64) func(*agentapi.PeerView) {
	return func(p *agentapi.PeerView) {
		p.LastDonation = &agentapi.Donation{Kind: agentapi.JoinIST, To: to, Since: time.Unix(at, 0)}
	}
}

// TestFindDonorOfAShortTransfer: it is over when the others are asked, and with it perhaps the join.
func TestFindDonorOfAShortTransfer(t *testing.T) {
	a := joiner(t)
	a.Run.Note = nil
	a.Group.Views = agenttest.Primary("a", gave("10.0.0.8", 9))
	maps.Copy(a.Group.Views, agenttest.Primary("b", gave("10.0.0.7", 9)))
	a.Join = &agentapi.Join{}
	if a.FindDonor(); a.Join.Donor != "" {
		t.Errorf("no peer had been heard when the join began, so that may have been given before: %+v", a.Join)
	}
	a.reports.earlier = map[string]time.Time{"a": {}, "b": time.Unix(5, 0)}
	if a.FindDonor(); a.Join.Donor != "b" {
		t.Errorf("while the server starts: %+v", a.Join)
	}
	now := time.Now()
	a.Join = &agentapi.Join{EndedAt: &now}
	if a.FindDonor(); a.Join.Donor != "b" {
		t.Errorf("after the join: %+v", a.Join)
	}
	maps.Copy(a.Group.Views, agenttest.Primary("a", gave("10.0.0.7", 12)))
	if a.FindDonor(); a.Join.Donor != "a" {
		t.Errorf("b gave to an attempt before, and was not asked in time: %+v", a.Join)
	}
	maps.Copy(a.Group.Views, agenttest.Primary("b", func(p *agentapi.PeerView) {
		p.Donation = &agentapi.Donation{Kind: agentapi.JoinIST, To: "10.0.0.7", Since: time.Unix(11, 0)}
	}))
	if a.FindDonor(); a.Join.Donor != "b" {
		t.Errorf("who gives at the moment: %+v", a.Join)
	}
	for what, j := range map[string]agentapi.Join{
		"another transfer, to the server that serves": {Donor: "c", EndedAt: new(now.Add(-time.Minute))},
		"nothing was missing":                         {Kind: agentapi.JoinNone, EndedAt: &now},
	} {
		before := j.Donor
		a.Join = &j
		if a.FindDonor(); a.Join.Donor != before {
			t.Errorf("%s: %+v", what, a.Join)
		}
	}
	a.Group.Views = agenttest.Primary("c", func(p *agentapi.PeerView) { p.State = galera.NodeDonor })
	a.Join = &agentapi.Join{EndedAt: &now}
	if a.FindDonor(); a.Join.Donor != "" {
		t.Errorf("one that gives to a joiner, after the join: %+v", a.Join)
	}
}

func TestFindDonor(t *testing.T) {
	a := joiner(t)
	a.Run.Note = nil
	a.Run.Note = &datadir.Joining{SST: true}
	giving := func(to string) func(*agentapi.PeerView) {
		return func(p *agentapi.PeerView) {
			p.State, p.DataBytes, p.Donation = galera.NodeDonor, 77, &agentapi.Donation{Kind: agentapi.JoinSST, To: to,
				Since: time.Unix(7, 0)}
		}
	}
	a.Group.Views = agenttest.Primary("a", giving("10.0.0.8"))
	maps.Copy(a.Group.Views, agenttest.Primary("b", giving("10.0.0.7")))
	a.Join = &agentapi.Join{}
	a.FindDonor()
	if a.Join.Donor != "b" || a.Join.Total != 77 {
		t.Errorf("of two donors: %+v", a.Join)
	}
	a.reports.earlier = earlierTransfers(a.address, a.Group.Views)
	a.Join = &agentapi.Join{}
	if a.FindDonor(); a.Join.Donor != "" {
		t.Errorf("one that still gives to an attempt that failed: %+v", a.Join)
	}
	a.Group.Views = agenttest.Primary("b", gave("10.0.0.7", 7))
	if a.FindDonor(); a.Join.Donor != "" {
		t.Errorf("one that has noticed since that the attempt failed: %+v", a.Join)
	}
	a.Group.Views = agenttest.Primary("c", func(p *agentapi.PeerView) { p.State = galera.NodeDonor })
	a.Join = &agentapi.Join{}
	a.FindDonor()
	if a.Join.Donor != "c" {
		t.Errorf("the only donor there is: %+v", a.Join)
	}
}

// TestTransferIsNotHung: a join that takes its state has its own rules, until the server is to start with it.
func TestTransferIsNotHung(t *testing.T) {
	note := &datadir.Joining{SST: true}
	applying := lifecycle.BeginSST(time.Now())
	applying.Add(lifecycle.SSTObservation{At: time.Now(), Bytes: 1, Ended: true})
	for name, c := range map[string]struct {
		note *datadir.Joining
		f    following
		want bool
	}{
		"no join":                        {nil, following{}, false},
		"a copy is needed":               {&datadir.Joining{Marked: true}, following{}, true},
		"a copy is awaited":              {note, following{}, true},
		"a copy comes":                   {note, following{progress: lifecycle.BeginSST(time.Now())}, true},
		"the server starts with it":      {note, following{progress: applying}, false},
		"write-sets come":                {&datadir.Joining{}, following{ist: silentIST()}, true},
		"a join that nothing comes over": {&datadir.Joining{}, following{}, false},
	} {
		r := joiner(t)
		if r.Run.Note, r.following = c.note, c.f; r.InTransfer() != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

// TestReceived: a joiner has received something of an SST once its first byte is there.
func TestReceived(t *testing.T) {
	if Received(nil) {
		t.Error("there is no join")
	}
	r := joiner(t)
	r.Join, r.progress = &agentapi.Join{Phase: agentapi.JoinWaiting}, lifecycle.BeginSST(time.Now())
	if Received(r.Join) {
		t.Error("it is awaited")
	}
	if r.onObservation(lifecycle.SSTObservation{At: time.Now(), Bytes: 1}); !Received(r.Join) {
		t.Error("a byte has arrived")
	}
}

// TestCaughtUp: a join ends once, when its marker is gone and the node has applied what it missed.
func TestCaughtUp(t *testing.T) {
	at := time.Now()
	for name, c := range map[string]struct {
		note  *datadir.Joining
		state galera.NodeState
		ended *time.Time
		want  bool
	}{
		"Synced":                          {state: galera.NodeSynced, want: true},
		"Donor of another one":            {state: galera.NodeDonor, want: true},
		"Joined: it applies":              {state: galera.NodeJoined},
		"Synced, with the marker":         {state: galera.NodeSynced, note: &datadir.Joining{}},
		"Synced, and it has ended before": {state: galera.NodeSynced, ended: &at},
		"it does not answer":              {},
	} {
		run := &process.Supervisor{Run: process.Run{Note: c.note}}
		if c.state != "" {
			run.Status = &agentapi.Server{State: c.state}
		}
		if got := caughtUp(&agentapi.Join{EndedAt: c.ended}, run); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestExplainedFailure: why an SST failed is known to its donor, who reports it after the joiner's server has ended.
func TestExplainedFailure(t *testing.T) {
	const why = "its redo log was overtaken"
	gave := func(to string, at int64, why string) func(*agentapi.PeerView) {
		return func(p *agentapi.PeerView) {
			p.LastDonation = &agentapi.Donation{Kind: agentapi.JoinSST, To: to, Since: time.Unix(at, 0), Failure: why}
		}
	}
	for name, c := range map[string]struct {
		reason string
		gave   func(*agentapi.PeerView)
		want   bool
	}{
		"its donor has said":     {agentapi.FailureTransfer, gave("10.0.0.7", 9, why), true},
		"nothing came":           {agentapi.FailureDonorLost, gave("10.0.0.7", 9, why), true},
		"it does not know":       {agentapi.FailureTransfer, gave("10.0.0.7", 9, ""), false},
		"to another joiner":      {agentapi.FailureTransfer, gave("10.0.0.8", 9, why), false},
		"of the attempt before":  {agentapi.FailureTransfer, gave("10.0.0.7", 5, why), false},
		"the disk here was full": {agentapi.FailureDiskFull, gave("10.0.0.7", 9, why), false},
	} {
		a := joiner(t)
		a.reports.earlier = map[string]time.Time{"a": time.Unix(5, 0)}
		a.Exited()
		a.FindDonor() // nothing has failed
		failure := &agentapi.Failure{Reason: c.reason, Message: "SST from a failed"}
		a.Run.Attempts.Failure = failure
		a.FindDonor() // no one has answered
		a.Group.Views = agenttest.Primary("a", c.gave)
		for range 2 { // it is said once
			a.FindDonor()
		}
		f := a.Run.Attempts.Failure
		if strings.Count(f.Message, why) != map[bool]int{true: 1}[c.want] || failure.Message != "SST from a failed" ||
			c.want && (f.Reason != agentapi.FailureTransfer || !strings.Contains(f.Message, "; the backup of a failed: ")) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestFailureOfTheNextAttempt: why the backup of the next attempt failed explains that one only.
func TestFailureOfTheNextAttempt(t *testing.T) {
	a := joiner(t)
	failed := func(at int64, why string) {
		a.Group.Views = agenttest.Primary("a", func(p *agentapi.PeerView) {
			p.LastDonation = &agentapi.Donation{Kind: agentapi.JoinSST, To: "10.0.0.7", Since: time.Unix(at, 0), Failure: why}
		})
	}
	a.reports.earlier = map[string]time.Time{"a": {}}
	a.Run.Attempts.Failure = &agentapi.Failure{Reason: agentapi.FailureTransfer, Message: "ended"}
	a.Exited()
	failed(7, "")
	a.Prepare()
	failed(7, "one")
	if a.FindDonor(); a.Run.Attempts.Failure.Message != "ended; the backup of a failed: one" {
		t.Errorf("%+v", a.Run.Attempts.Failure)
	}
	failed(9, "two")
	if a.FindDonor(); strings.Contains(a.Run.Attempts.Failure.Message, "two") {
		t.Errorf("the next attempt's: %+v", a.Run.Attempts.Failure)
	}
	a.Run.Attempts.Failure = &agentapi.Failure{Reason: agentapi.FailureTransfer, Message: "ended again"}
	a.Exited()
	if a.FindDonor(); a.Run.Attempts.Failure.Message != "ended again; the backup of a failed: two" {
		t.Errorf("%+v", a.Run.Attempts.Failure)
	}
}
