package agent

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// slowVolume is an agent on a volume that answers nothing until it is let go.
type slowVolume struct {
	*agent
	release func()
	ahead   atomic.Int64 // of the volume watch's clock
	write   atomic.Pointer[func() error]
}

func onSlowVolume(t *testing.T) *slowVolume {
	t.Helper()
	a := fresh(t)
	a.volume.Open(a.Places, a.queue.Post, nil)
	a.image.Mariadbd, a.image.Provider = "/bin/false", "/bin/false"
	a.config.Node, a.exam.Done = &agentapi.NodeConfig{TLS: agentapi.TLSConfig{Replication: galera.SocketPlain,
		Clients: galera.PolicyDisabled}}, true
	s := &slowVolume{agent: a}
	frozen, end := context.WithCancel(t.Context())
	s.release = end
	a.volume.Hold(frozen.Done())
	held := func() error { <-frozen.Done(); return nil }
	s.write.Store(&held)
	t.Cleanup(func() { end(); a.queue.Settle(a.volume.After()) })
	a.volume.VolumeWatch = datadir.NewVolumeWatch(func() error { return (*s.write.Load())() },
		func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) })
	return s
}

// runLoop runs the loop for the rest of the test.
func (s *slowVolume) runLoop(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go s.volume.Run(ctx)
	go func() { defer close(ended); _ = s.loop(ctx) }()
	t.Cleanup(func() {
		s.release()
		end()
		<-ended
	})
}

// drainEvents handles events until nothing is being written to the volume any more, nor follows from that.
func (s *slowVolume) drainEvents() {
	for range 4 {
		done := make(chan struct{})
		wait := s.volume.After()
		go func() { wait(); close(done) }()
		for waiting := true; waiting; {
			select {
			case event := <-s.queue.Events:
				event()
			case <-done:
				waiting = false
			}
		}
	}
}

func (s *slowVolume) shown() string {
	if f := s.reports.Get().Failure; f != nil {
		return f.Reason
	}
	return ""
}

// TestFrozenVolume: nothing in the loop waits for the volume. Its probes and reports are answered, the volume is
// reported, an order is carried out only when it is recorded, and all goes on when the volume answers.
func TestFrozenVolume(t *testing.T) {
	s := onSlowVolume(t)
	s.runLoop(t)
	stop := agentapi.Order{ID: "stop", Epoch: 1, Kind: agentapi.OrderStop}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if r, err := s.commands.Take(short, stop); err == nil {
		t.Errorf("answered before it is recorded: %+v", r)
	}
	if r, err := s.commands.Take(t.Context(),
		agentapi.Order{ID: "start", Epoch: 1, Kind: agentapi.OrderStart}); err == nil || !strings.Contains(err.Error(),
		"being recorded") {
		t.Errorf("another order meanwhile: %+v, %v", r, err)
	}
	probe := api.ProbeHandler{Reports: s.reports, Alive: s.vitals.Alive, DonorReady: s.vitals.DonorReady,
		Metrics: http.NotFoundHandler()}.Handler()
	before := s.vitals.Alive()
	agenttest.Until(t, "the loop turns", func() bool { return s.vitals.Alive().After(before.Add(2 * time.Second)) })
	w := httptest.NewRecorder()
	if probe.ServeHTTP(w, httptest.NewRequest(http.MethodGet, agentapi.PathLive, nil)); w.Code != http.StatusOK {
		t.Errorf("liveness: %d %s", w.Code, w.Body)
	}
	if r := s.reports.Get(); r.Phase != galera.PhaseWaiting || r.Failure != nil {
		t.Errorf("carried out before it is recorded, or reported too early: %+v", r)
	}
	s.ahead.Store(int64(datadir.FrozenAfter + time.Minute))
	agenttest.Until(t, "the frozen volume is reported", func() bool { return s.shown() == agentapi.FailureFrozen })

	s.release()
	agenttest.Until(t, "the stop is done", func() bool {
		r := s.reports.Get()
		return r.Phase == galera.PhaseStopped && r.Order != nil && r.Order.State == agentapi.OrderDone
	})
	agenttest.Until(t, "all is well", func() bool { return s.shown() == "" })
	if r, err := s.commands.Take(t.Context(), stop); err != nil || r.State != agentapi.OrderDone {
		t.Errorf("the repeated order: %+v, %v", r, err)
	}
	if book := orders.OpenBook(s.Places.State, time.Now); !book.Content().Held {
		t.Errorf("on the disk: %+v", book.Content())
	}
}

// TestStartOnAFrozenVolume: an agent that starts on a volume that does not answer is alive, and reports the volume
// until it answers.
func TestStartOnAFrozenVolume(t *testing.T) {
	a := fresh(t)
	synctest.Test(t, func(t *testing.T) {
		thawed, opened := make(chan struct{}), false
		go func() {
			a.openVolume(func() { <-thawed })
			opened = true
		}()
		time.Sleep(datadir.FrozenAfter - time.Second)
		if f := a.reports.Get().Failure; f != nil {
			t.Errorf("reported too early: %+v", f)
		}
		time.Sleep(time.Minute)
		f := a.reports.Get().Failure
		if f == nil || f.Reason != agentapi.FailureFrozen || !strings.Contains(f.Message, "has not answered for 1m") {
			t.Errorf("reported: %+v", f)
		}
		if late := time.Since(a.vitals.Alive()); late > 2*time.Second {
			t.Errorf("the last sign of life was %s ago", late)
		}
		close(thawed)
		if synctest.Wait(); !opened {
			t.Error("the agent does not go on")
		}
	})
}

// TestOrdersThatFormAreNotCarriedOutLate: while one is being written to the disk others see the member as Forming, and
// one that has taken too long is over: another member may be Primary by then.
func TestOrdersThatFormAreNotCarriedOutLate(t *testing.T) {
	for name, c := range map[string]struct {
		kind agentapi.OrderKind
		ago  time.Duration
		want agentapi.OrderState
	}{
		"in time":         {agentapi.OrderInitialise, 0, agentapi.OrderAccepted},
		"too late":        {agentapi.OrderInitialise, orders.JudgementTTL + time.Second, agentapi.OrderFailed},
		"no matter when":  {agentapi.OrderStart, orders.JudgementTTL + time.Second, agentapi.OrderDone},
		"a late quorum":   {agentapi.OrderRebuildQuorum, orders.JudgementTTL + time.Second, agentapi.OrderFailed},
		"a late recovery": {agentapi.OrderBootstrap, orders.JudgementTTL + time.Second, agentapi.OrderFailed},
	} {
		t.Run(name, func(t *testing.T) {
			s := onSlowVolume(t)
			done := false
			s.commands.Accept(agentapi.Order{ID: "x", Epoch: 1, Kind: c.kind}, time.Now().Add(-c.ago),
				func(r agentapi.OrderResult, err error) {
					done = true
					if err != nil || r.State != c.want {
						t.Errorf("%+v, %v; want %s", r, err, c.want)
					}
				})
			s.publish(lifecycle.Step{Phase: galera.PhaseWaiting})
			if forming := api.PeerView(s.reports.Get()).Forming; forming != (orders.MakesPrimary(c.kind) &&
				c.want == agentapi.OrderAccepted) {
				t.Errorf("forming: %v", forming)
			}
			s.release()
			for !done {
				agenttest.Next(t, s.queue)
			}
			if formed := s.orders.Current != nil; formed != (c.want == agentapi.OrderAccepted) {
				t.Errorf("current: %+v", s.orders.Current)
			}
		})
	}
}

// TestRefusedOrderIsNotForming, also while its refusal is being written to the disk.
func TestRefusedOrderIsNotForming(t *testing.T) {
	s := onSlowVolume(t)
	refused := false
	s.commands.Judge(agentapi.Order{ID: "x", Epoch: 1, Kind: agentapi.OrderBootstrap}, nil, time.Now(),
		func(r agentapi.OrderResult, err error) {
			refused = err == nil && r.State == agentapi.OrderRefused
		})
	if s.publish(lifecycle.Step{Phase: galera.PhaseWaiting}); s.orders.Recording() == nil || api.PeerView(s.reports.Get()).
		Forming || refused {
		t.Errorf("recording %v, answered %v", s.orders.Recording(), refused)
	}
	s.release()
	s.drainEvents()
	if !refused || s.orders.Recording() != nil || s.orders.Current != nil {
		t.Errorf("refused %v", refused)
	}
}

// TestLineIsAskedForOnce while it is being written to the disk.
func TestLineIsAskedForOnce(t *testing.T) {
	s := onSlowVolume(t)
	line := galera.FirstLine(galera.Line{Epoch: 3, Start: agenttest.At(1)})
	waiting := s.volume.Waiting
	agenttest.Until(t, "the volume is busy", func() bool { return waiting() == 0 })
	s.orders.TakeLineage(line)
	s.orders.TakeLineage(line)
	if n := waiting(); n != 1 {
		t.Errorf("%d times", n)
	}
	s.release()
	s.drainEvents()
	if s.orders.Content().Lineage.Epoch != 3 {
		t.Errorf("%+v", s.orders.Content().Lineage)
	}
}

// TestBootstrapIsOnTheDiskFirst: no server is started before the new line is recorded, nor when another member has
// become Primary by then.
func TestBootstrapIsOnTheDiskFirst(t *testing.T) {
	for name, others := range map[string]map[string]agentapi.PeerView{"alone": nil,
		"another is Primary": agenttest.Primary("shop-1", nil)} {
		t.Run(name, func(t *testing.T) {
			s := onSlowVolume(t)
			s.exam.Found = process.Found{Data: galera.DataPresent, Position: agenttest.At(7)}
			s.orders.Current, s.orders.JudgedAt = &agentapi.Order{ID: "x", Epoch: 4, Kind: agentapi.OrderBootstrap,
				Position: agenttest.At(7)}, time.Now()
			if err := s.markers().SetInitialising(); err != nil {
				t.Fatal(err)
			}
			s.start.Bootstrap()
			if s.start.Job() != lifecycle.JobLaunch || s.orders.Content().Lineage.Epoch != 0 {
				t.Fatalf("job %q, %+v", s.start.Job(), s.orders.Content())
			}
			s.group.Views = others
			s.release()
			agenttest.Next(t, s.queue)
			if book := orders.OpenBook(s.Places.State, time.Now); book.Content().Lineage.Epoch != 4 {
				t.Errorf("on the disk: %+v", book.Content())
			}
			if started := s.start.Job() == lifecycle.JobLaunch; started != (others == nil) {
				t.Errorf("started: %v", started)
			}
			for s.start.Job() == lifecycle.JobLaunch {
				agenttest.Next(t, s.queue)
			}
			if kept := s.markers().Initialising(); kept != (others != nil) {
				t.Errorf("the marker of the first database: %v", kept)
			}
		})
	}
}

// TestNewConfigurationIsExaminedAtOnce: an examination that failed with other settings is repeated without a pause.
func TestNewConfigurationIsExaminedAtOnce(t *testing.T) {
	s := onSlowVolume(t)
	s.exam.RetryAt = time.Now().Add(time.Hour)
	s.onConfig()
	if in := s.situation().ExamineIn; in != 0 {
		t.Errorf("in %s", in)
	}
}

// TestFirstLineIsHeldBack: no peer learns of a component whose first line is not recorded.
func TestFirstLineIsHeldBack(t *testing.T) {
	s := onSlowVolume(t)
	s.run.Proc = agenttest.Server(t)
	s.run.Run = process.Run{Kind: agentapi.OrderInitialise, Line: galera.Line{ID: "firststart-1-a", Epoch: 1}}
	s.run.Status = &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true,
		ClusterUUID: agenttest.UUID}
	s.judgeServer()
	s.publish(lifecycle.Step{Phase: galera.PhaseRunning})
	if r := s.reports.Get(); r.Server != nil || s.run.Served {
		t.Fatalf("reported: %+v", r.Server)
	}
	s.release()
	agenttest.Next(t, s.queue)
	s.publish(lifecycle.Step{Phase: galera.PhaseRunning})
	if r := s.reports.Get(); r.Server == nil || r.Lineage.ID != "firststart-1-a" || r.Lineage.Epoch != 1 || !s.run.Served {
		t.Errorf("%+v", r)
	}
}

// TestNotesKeepTheirOrder: the note of a new join is written after whatever the run before it wanted written.
func TestNotesKeepTheirOrder(t *testing.T) {
	s := onSlowVolume(t)
	s.volume.Do(s.markers().ClearJoining, func(error) {})
	s.config.Node.StateTransfer.Method = config.MariaBackup
	s.start.ToJoin(lifecycle.JoinDecision{})
	time.AfterFunc(50*time.Millisecond, s.release)
	for s.start.Job() == lifecycle.JobLaunch {
		agenttest.Next(t, s.queue)
	}
	s.drainEvents()
	if note, err := s.markers().Joining(); err != nil || note == nil {
		t.Errorf("%+v, %v", note, err)
	}
}

// TestCopyIsNotedBeforeTheStateCounts: a join that gets a full copy instead of write-sets is never completed as if it
// had got those, however slow the check of the directory is.
func TestCopyIsNotedBeforeTheStateCounts(t *testing.T) {
	s := onSlowVolume(t)
	s.run.Proc = agenttest.Server(t)
	if err := os.MkdirAll(filepath.Join(s.Places.Data, ".sst"), 0o750); err != nil {
		t.Fatal(err)
	}
	note := datadir.Joining{Method: config.MariaBackup}
	s.run.Run = process.Run{Note: &note}
	s.joiner.Join = &agentapi.Join{Kind: agentapi.JoinIST}
	s.joiner.Watch()
	s.run.Status = &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true,
		ClusterUUID: agenttest.UUID}
	s.judgeServer()
	if s.run.Note == nil || s.run.Served {
		t.Fatal("complete before the check")
	}
	s.release()
	s.drainEvents()
	if s.run.Note == nil || !s.run.Note.SST || s.run.Served || s.joiner.Join.Kind != agentapi.JoinSST {
		t.Errorf("%+v as %s", s.run.Note, s.joiner.Join.Kind)
	}
}
