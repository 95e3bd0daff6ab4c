package agent

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/examine"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/sst"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// silent is an agent whose server had answered, and has said nothing for so long.
func silent(t *testing.T, d time.Duration) *slowVolume {
	t.Helper()
	s := onSlowVolume(t)
	s.release()
	s.volume.Try()
	s.proc, s.position = listener(t).proc, at(7)
	s.run = running{served: true, hang: hanging{heardAt: time.Now().Add(-d), since: time.Now().Add(-d), answered: true}}
	s.peers = primary("shop-1", func(p *agentapi.PeerView) { p.Members = []string{"shop-0", "shop-1"} })
	return s
}

// TestHungServerIsTold, and killed when its group goes on without it.
func TestHungServerIsTold(t *testing.T) {
	s := silent(t, 2*lifecycle.HungAfter)
	s.status = &agentapi.Server{Component: galera.ComponentPrimary}
	s.watchHang(time.Now())
	s.publish(lifecycle.Step{Phase: galera.PhaseStarting})
	if s.status != nil || s.shown() != agentapi.FailureHung || stillRuns(s.proc) != nil {
		t.Fatalf("status %v, told %q", s.status, s.shown())
	}
	s.peers = primary("shop-1", func(p *agentapi.PeerView) { p.Members = []string{"shop-1", "shop-2"} })
	s.watchHang(time.Now())
	<-s.proc.Done()
	s.onExit(s.proc)
	if s.failure == nil || s.failure.Reason != agentapi.FailureHung || s.restarts != 1 || s.proc != nil || s.retryAt.IsZero() {
		t.Errorf("%+v, %d restarts", s.failure, s.restarts)
	}
}

// TestFrozenServerIsNotHung: the silence of one whose volume is frozen counts from when that answers.
func TestFrozenServerIsNotHung(t *testing.T) {
	s := silent(t, 2*lifecycle.HungAfter)
	s.peers = primary("shop-1", func(p *agentapi.PeerView) { p.Members = []string{"shop-1", "shop-2"} })
	s.volume.Begin(time.Now())
	s.ahead.Store(int64(time.Hour))
	s.watchHang(time.Now())
	s.ahead.Store(0)
	s.volume.End(nil)
	s.watchHang(time.Now())
	if s.run.hang.hung || stillRuns(s.proc) != nil {
		t.Error("it has had no time")
	}
}

// TestTransferIsNotHung: a join that takes its state has its own rules, until the server is to start with it.
func TestTransferIsNotHung(t *testing.T) {
	note := &datadir.Joining{Transfer: true}
	applying := sst.Begin(time.Now())
	applying.Add(sst.Look{At: time.Now(), Bytes: 1, Ended: true})
	for name, c := range map[string]struct {
		run  running
		want bool
	}{
		"no join":                        {running{}, true},
		"a copy is awaited":              {running{note: note}, false},
		"a copy comes":                   {running{note: note, follow: following{progress: sst.Begin(time.Now())}}, false},
		"the server starts with it":      {running{note: note, follow: following{progress: applying}}, true},
		"write-sets come":                {running{note: &datadir.Joining{}, follow: following{ist: silentIST()}}, false},
		"a join that nothing comes over": {running{note: &datadir.Joining{}}, true},
	} {
		s := silent(t, 0)
		s.run = c.run
		s.run.hang = hanging{since: time.Now().Add(-lifecycle.HungStart - time.Second)}
		if s.watchHang(time.Now()); s.run.hang.hung != c.want {
			t.Errorf("%s: hung %v", name, s.run.hang.hung)
		}
	}
}

// TestPatienceWithAStop: a server that hangs does not hear that it is to stop.
func TestPatienceWithAStop(t *testing.T) {
	for name, c := range map[string]struct {
		silent  time.Duration
		answers bool
		want    time.Duration
	}{
		"answers":                {0, true, patienceServer},
		"hung":                   {2 * lifecycle.HungAfter, false, patienceJoiner},
		"silent for half of it":  {lifecycle.HungAfter / 2, false, lifecycle.HungAfter/2 + patienceJoiner},
		"answers, after a pause": {2 * lifecycle.HungAfter, true, patienceServer},
	} {
		s := silent(t, c.silent)
		if c.answers {
			s.status = &agentapi.Server{}
		}
		s.stop()
		if got := s.run.patience; got > c.want || got < c.want-time.Second {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestHungServerIsKilled by a stop, which it does not hear (SIGSTOP).
func TestHungServerIsKilled(t *testing.T) {
	s := silent(t, 2*lifecycle.HungAfter)
	if err := syscall.Kill(s.proc.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.run.stopAt = time.Now().Add(-time.Second)
	s.enforceStop()
	<-s.proc.Done()
}

// TestStopEndsWithoutAPosition: a member that is stopped by order runs nothing, whether or not its position can be found out.
func TestStopEndsWithoutAPosition(t *testing.T) {
	stop := &agentapi.Order{ID: "x", Epoch: 1, Kind: agentapi.OrderStop}
	trouble := &agentapi.Failure{Reason: agentapi.FailureRecovery}
	for name, c := range map[string]struct {
		edit func(*agent)
		ends bool
	}{
		"not looked at yet":                  {func(*agent) {}, false},
		"looked at":                          {func(a *agent) { a.exam.Done = true }, true},
		"the look failed":                    {func(a *agent) { a.exam.Trouble = trouble }, true},
		"another look goes on":               {func(a *agent) { a.exam.Trouble, a.job = trouble, lifecycle.JobExamine }, false},
		"a server runs":                      {func(a *agent) { a.exam.Trouble, a.proc = trouble, listener(t).proc }, false},
		"there is no mariadbd to look with":  {func(a *agent) { a.image.Mariadbd = "" }, true},
		"the first settings are looked at":   {func(a *agent) { a.config.Node, a.config.Checking = nil, true }, false},
		"there is no configuration to go by": {func(a *agent) { a.config.Node = nil }, true},
	} {
		s := onSlowVolume(t)
		s.release()
		s.exam.Done, s.orders.Current = false, stop
		c.edit(s.agent)
		if s.endStop(); (s.orders.Current == nil) != c.ends {
			t.Errorf("%s: ends %v", name, s.orders.Current == nil)
		}
	}
}

// TestExaminationUnderAStop is cut off when it goes on for too long, and told of when it does for longer.
func TestExaminationUnderAStop(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		edit func(*slowVolume)
		cut  bool
	}{
		"too long":          {func(*slowVolume) {}, true},
		"just begun":        {func(s *slowVolume) { s.exam.From = now }, false},
		"just ordered":      {func(s *slowVolume) { s.heldSince = now }, false},
		"no stop":           {func(s *slowVolume) { s.orders.Current = nil }, false},
		"another order":     {func(s *slowVolume) { s.orders.Current = &agentapi.Order{Kind: agentapi.OrderRestart} }, false},
		"nothing goes on":   {func(s *slowVolume) { s.job = lifecycle.JobNone }, false},
		"the volume frozen": {func(s *slowVolume) { s.volume.Begin(now.Add(-time.Hour)) }, false},
	} {
		s := onSlowVolume(t)
		ctx, cancel := context.WithCancel(t.Context())
		s.job, s.exam.Cut, s.orders.Current = lifecycle.JobExamine, cancel, &agentapi.Order{Kind: agentapi.OrderStop}
		s.exam.From, s.heldSince = now.Add(-time.Hour), now.Add(-time.Hour)
		c.edit(s)
		if s.endExamination(now); (ctx.Err() != nil) != c.cut {
			t.Errorf("%s: cut %v", name, ctx.Err() != nil)
		}
		cancel()
	}
	s := onSlowVolume(t)
	s.job = lifecycle.JobExamine
	for took, want := range map[time.Duration]string{examine.SlowAfter - time.Second: "", examine.SlowAfter + time.Second: agentapi.FailureExamining} {
		s.exam.From = time.Now().Add(-took)
		if s.publish(lifecycle.Step{Phase: galera.PhaseExamining}); s.shown() != want {
			t.Errorf("after %s: %q", took, s.shown())
		}
	}
}

// silentIST has seen a connection over which nothing comes.
func silentIST() (w sst.ISTWatch) {
	w.See(time.Now(), sst.ISTLook{Connected: true}, showEvery, time.Minute)
	return w
}
