package process

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// member is the Supervisor of shop-0, whose server runs, on a volume that answers; ahead is how far the clock of the
// volume's watch is.
func member(t *testing.T) (r *Supervisor, ahead *time.Duration) {
	t.Helper()
	_, loop := agenttest.Loop()
	ahead = new(time.Duration)
	var v datadir.Volume
	v.VolumeWatch = datadir.NewVolumeWatch(func() error { return nil }, func() time.Time { return time.Now().Add(*ahead) })
	v.Try()
	group := &api.Peers{Views: agenttest.Primary("shop-1",
		func(p *agentapi.PeerView) { p.Members = []string{"shop-0", "shop-1"} })}
	supervisor := NewSupervisor(loop, "shop-0", filepath.Join(t.TempDir(), "last-run.json"), nil, unresponsiveConns{}, &v,
		group,
		SupervisorEvents{Changed: func() {}})
	supervisor.Proc, supervisor.Position = agenttest.Server(t), agenttest.At(7)
	return &supervisor, ahead
}

// unresponsiveConns cannot be asked to send clients away.
type unresponsiveConns struct{}

func (unresponsiveConns) CloseIdle(context.Context) error { return errors.New("no answer") }

func (unresponsiveConns) CloseAll(context.Context) error { return errors.New("no answer") }

// silentServer returns a Supervisor whose server had answered, and has not for so long.
func silentServer(t *testing.T, d time.Duration) (r *Supervisor, ahead *time.Duration) {
	t.Helper()
	r, ahead = member(t)
	r.Served, r.hang = true, hanging{answeredAt: time.Now().Add(-d), since: time.Now().Add(-d), answered: true}
	return r, ahead
}

// without are the others that go on without shop-0.
func without() map[string]agentapi.PeerView {
	return agenttest.Primary("shop-1", func(p *agentapi.PeerView) { p.Members = []string{"shop-1", "shop-2"} })
}

// TestHungServerIsReported, and killed when its group goes on without it.
func TestHungServerIsReported(t *testing.T) {
	r, _ := silentServer(t, 2*lifecycle.HungAfter)
	r.Status = &agentapi.Server{Component: galera.ComponentPrimary}
	r.WatchHang(time.Now(), false)
	if f := r.HungFailure(); r.Status != nil || !r.Silent() || f == nil || f.Reason != agentapi.FailureHung ||
		!agenttest.Runs(r.Proc) {
		t.Fatalf("status %v, reported %+v", r.Status, f)
	}
	r.group.Views = without()
	r.WatchHang(time.Now(), false)
	<-r.Proc.Done()
	run, exit, orderly := r.Exited()
	r.CountEnd(run, exit, orderly, "")
	if a := r.Attempts; a.Failure == nil || a.Failure.Reason != agentapi.FailureHung || a.Restarts != 1 || r.Proc != nil ||
		a.RetryIn(time.Now()) == 0 {
		t.Errorf("%+v", a)
	}
}

// TestHungServerReportsItsCause: it is killed for two causes.
func TestHungServerReportsItsCause(t *testing.T) {
	for want, views := range map[string]map[string]agentapi.PeerView{
		"the Primary component does not list it as a member": without(),
		"no node is Primary, and recovery needs its position": {"shop-1": {Name: "shop-1",
			Component: galera.ComponentNonPrimary}},
	} {
		r, _ := silentServer(t, 5*lifecycle.HungAfter)
		r.group.Views = views
		r.WatchHang(time.Now(), false)
		if f := r.Attempts.Failure; f == nil || !strings.HasSuffix(f.Message, want) {
			t.Errorf("want %q, got %+v", want, f)
		}
	}
}

// TestRefusedLogin: a server that answers and refuses the agent is reported as that, at once, and is not killed as one
// that hangs.
func TestRefusedLogin(t *testing.T) {
	r, _ := silentServer(t, 5*lifecycle.HungAfter)
	r.group.Views = map[string]agentapi.PeerView{"shop-1": {Name: "shop-1", Component: galera.ComponentNonPrimary}}
	refusal := &mysql.MySQLError{Number: 1045, Message: "Access denied for user 'mysql'@'localhost'"}
	r.HandleMissedReading(refusal)
	if r.LoginFailure() != nil {
		t.Error("one answer is no trend")
	}
	for range maxMissedReadings {
		r.HandleMissedReading(refusal)
	}
	r.WatchHang(time.Now(), false)
	if f := r.LoginFailure(); f == nil || f.Reason != agentapi.FailureLogin || !strings.Contains(f.Message,
		"Access denied") {
		t.Errorf("%+v", f)
	}
	if r.HungFailure() != nil || !agenttest.Runs(r.Proc) {
		t.Errorf("%+v", r.HungFailure())
	}
	r.HandleMissedReading(context.DeadlineExceeded)
	if r.LoginFailure() != nil || r.HungFailure() == nil {
		t.Error("it is silent now")
	}
	r.HandleMissedReading(refusal)
	r.HandleStatus(time.Now(), wsrep.Status{}, "")
	if r.LoginFailure() != nil {
		t.Error("it takes the login again")
	}
}

// TestFrozenServerIsNotHung: the silence of one whose volume is frozen counts from when that answers.
func TestFrozenServerIsNotHung(t *testing.T) {
	r, ahead := silentServer(t, 2*lifecycle.HungAfter)
	r.group.Views = without()
	r.volume.Begin(time.Now())
	*ahead = time.Hour
	r.WatchHang(time.Now(), false)
	*ahead = 0
	r.volume.End(nil)
	r.WatchHang(time.Now(), false)
	if r.hang.hung || !agenttest.Runs(r.Proc) {
		t.Error("it has had no time")
	}
}

// TestTransferIsNotHung: a join that takes its state has its own rules.
func TestTransferIsNotHung(t *testing.T) {
	for _, inTransfer := range []bool{true, false} {
		r, _ := member(t)
		r.hang = hanging{since: time.Now().Add(-lifecycle.HungStart - time.Second)}
		if r.WatchHang(time.Now(), inTransfer); r.hang.hung == inTransfer {
			t.Errorf("in a transfer: %v, hung: %v", inTransfer, r.hang.hung)
		}
	}
}

// TestStopTimeouts: a server that hangs does not hear that it is to stop.
func TestStopTimeouts(t *testing.T) {
	for name, c := range map[string]struct {
		silent  time.Duration
		answers bool
		want    time.Duration
	}{
		"answers":                {0, true, stopTimeoutServer},
		"hung":                   {2 * lifecycle.HungAfter, false, stopTimeoutJoiner},
		"silent for half of it":  {lifecycle.HungAfter / 2, false, lifecycle.HungAfter/2 + stopTimeoutJoiner},
		"answers, after a pause": {2 * lifecycle.HungAfter, true, stopTimeoutServer},
	} {
		r, _ := silentServer(t, c.silent)
		if c.answers {
			r.Status = &agentapi.Server{}
		}
		r.Stop()
		if got := r.stopTimeout; got > c.want || got < c.want-time.Second {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestHungServerIsKilled by a stop, which it does not hear (SIGSTOP).
func TestHungServerIsKilled(t *testing.T) {
	r, _ := silentServer(t, 2*lifecycle.HungAfter)
	if err := syscall.Kill(r.Proc.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.Stop()
	r.stopAt = time.Now().Add(-time.Second)
	r.EnforceStop()
	<-r.Proc.Done()
}

// TestNothingIsKilledOnAFrozenVolume: a server that does not stop has all its time again when the volume answers.
func TestNothingIsKilledOnAFrozenVolume(t *testing.T) {
	r, ahead := member(t)
	r.Stopping, r.stopTimeout, r.stopAt = true, time.Minute, time.Now().Add(-time.Hour)
	r.volume.Begin(time.Now())
	*ahead = time.Hour
	r.EnforceStop()
	if left := time.Until(r.stopAt); left < 50*time.Second || !agenttest.Runs(r.Proc) {
		t.Errorf("patience %s", left)
	}
	*ahead = 0
	r.EnforceStop()
	if !agenttest.Runs(r.Proc) {
		t.Error("killed when the volume answers, without a new patience")
	}
	r.stopAt = time.Now().Add(-time.Second)
	r.EnforceStop()
	<-r.Proc.Done()
}
