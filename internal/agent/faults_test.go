//go:build integration

package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestFaults cuts things off halfway and brings back members that must not be let in.
func TestFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, nil)
	s := &scenario{T: t, world: w}
	for _, step := range []struct {
		name string
		run  func(*scenario)
	}{
		{"power cut during the initialisation", (*scenario).cutInitialise},
		{"form", (*scenario).formAgain},
		{"power cut during a transfer", (*scenario).cutTransfer},
		{"SIGTERM during a transfer", (*scenario).endTransfer},
		{"the donor dies during a transfer", (*scenario).killDonor},
		{"a setting mariadbd does not know", (*scenario).badSetting},
		{"a member with a history of its own", (*scenario).diverge},
		{"a member of another cluster", (*scenario).foreign},
	} {
		began := time.Now()
		if !t.Run(step.name, func(t *testing.T) { s.T, w.t = t, t; step.run(s) }) {
			break
		}
		t.Logf("%-40s %s", step.name, time.Since(began).Round(time.Millisecond))
	}
	w.t = t
}

// cutInitialise kills the container at different moments of an initialisation. Afterwards the member must
// be empty, or hold what it had served; never anything between.
func (s *scenario) cutInitialise() {
	s.wait()
	n := s.node(0)
	for i, delay := range []int{50, 250, 450, 650, 850} {
		s.epoch++
		o, result := n.send(agentapi.OrderInitialise, s.epoch, galera.Position{}, "")
		if result.State != agentapi.OrderAccepted {
			s.Fatalf("%d: %+v", i, result)
		}
		time.Sleep(time.Duration(delay) * time.Millisecond)
		n.stop(false)
		n.start()
		r := n.until("examined", 30*time.Second, waiting)
		s.Logf("cut after %d ms: %s, %s, order %s", delay, r.Data, r.Position, r.Order.State)
		if r.Order.ID != o.ID || r.Order.State == agentapi.OrderAccepted {
			s.Errorf("%+v", r.Order)
		}
		if r.Data == galera.DataPresent && r.Position.Known() {
			s.uuid = r.Position.UUID
			break // it had become a cluster; continue with that
		}
		if r.Data != galera.DataEmpty || r.Position.Known() {
			s.Fatalf("neither empty nor a database: %s %s", r.Data, r.Position)
		}
		if again := n.resend(o); again.State == agentapi.OrderAccepted || again.State == agentapi.OrderDone &&
			r.Data == galera.DataEmpty {
			s.Fatalf("the old order is carried out again: %+v", again)
		}
	}
}

// formAgain forms the cluster from whatever cutInitialise left.
func (s *scenario) formAgain() {
	n := s.node(0)
	r, err := n.report()
	check(s.T, err)
	s.epoch++
	kind := agentapi.OrderInitialise
	if r.Data == galera.DataPresent {
		kind = agentapi.OrderBootstrap
	}
	o, result := n.send(kind, s.epoch, r.Position, s.uuid)
	if result.State != agentapi.OrderAccepted {
		s.Fatalf("%s: %+v", kind, result)
	}
	s.uuid = n.until("formed", 60*time.Second, done(o.ID)).Server.ClusterUUID
	deadline := time.Now().Add(slack * 20 * time.Second)
	for time.Now().Before(deadline) {
		if _, err = n.sql(
			"CREATE DATABASE app; CREATE TABLE app.t (id INT PRIMARY KEY, filler LONGBLOB) ENGINE=InnoDB"); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	check(s.T, err)
	s.all(90 * time.Second)
	for range 3 {
		s.rows++
		n.mustSQL(fmt.Sprintf("INSERT INTO app.t VALUES (%d, REPEAT(RANDOM_BYTES(1024), 8192))", s.rows))
	}
}

func (s *scenario) write2(i int) {
	s.Helper()
	s.rows++
	s.node(i).mustSQL(fmt.Sprintf("INSERT INTO app.t (id) VALUES (%d)", s.rows))
}

// inTransfer wipes a member and starts it, and returns when its full transfer has begun.
func (s *scenario) inTransfer(n *node) {
	s.Helper()
	for range 4 { // a transfer may be over before a busy machine has seen it
		n.stop(true)
		n.wipe()
		n.start()
		n.until("in a transfer", 60*time.Second, func(r agentapi.Report) bool {
			return r.Data == galera.DataIncomplete && r.Join != nil && r.Join.EndedAt == nil || joined(3)(r)
		})
		for end := time.Now().Add(slack * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(n.base, "volume", "data", ".sst")); err == nil {
				return
			}
			if r, err := n.report(); err == nil && joined(3)(r) {
				break
			}
		}
	}
	s.Fatal("no transfer was seen")
}

// limitTransfers limits what the donors give, in bytes per second; 0 is no limit.
func (s *scenario) limitTransfers(bytesPerSecond int64) {
	s.Helper()
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.StateTransfer.RateLimit = bytesPerSecond })
	for _, n := range s.world.nodes[:2] {
		n.until("reported", 30*time.Second, func(r agentapi.Report) bool {
			return r.Config.Loaded == s.world.config.Revision && !r.Config.RestartNeeded
		})
	}
}

func (s *scenario) cutTransfer() {
	n := s.node(2)
	for _, delay := range []int{0, 700} {
		s.limitTransfers(1 << 20) // or it might be over by the time that a busy machine has cut it
		s.inTransfer(n)
		time.Sleep(time.Duration(delay) * time.Millisecond)
		last, err := n.report()
		check(s.T, err)
		n.stop(false)
		s.limitTransfers(0)
		n.start()
		r := n.until("examined", 30*time.Second, func(r agentapi.Report) bool { return r.Data != galera.DataUnknown })
		s.Logf("cut %d ms into the transfer (%s): %s, %s", delay, last.Data, r.Data, r.Position)
		if last.Data == galera.DataIncomplete && (r.Data == galera.DataPresent || r.Position.Known()) &&
			(r.Server == nil || r.Server.State != galera.NodeSynced) {
			s.Fatalf("half a transfer is taken for data: %+v", r)
		}
		n.until("joined after all", 90*time.Second, synced(3))
	}
	s.intact()
}

func (s *scenario) endTransfer() {
	n := s.node(2)
	s.inTransfer(n)
	if took := n.stop(true); took > 45*time.Second { // it would be killed after 60
		s.Errorf("SIGTERM during a transfer took %s", took)
	} else {
		s.Logf("SIGTERM during a transfer: %s", took.Round(time.Millisecond))
	}
	s.world.nodes[0].until("a component of two", 20*time.Second, synced(2))
	n.start()
	n.until("joined", 90*time.Second, synced(3))
	s.intact()
}

func (s *scenario) killDonor() {
	n := s.node(2)
	// Slow enough to be interrupted.
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.StateTransfer.RateLimit = limited })
	s.awaitConfig()
	s.inTransfer(n)
	r := n.until("knowing its donor", 10*time.Second,
		func(r agentapi.Report) bool { return r.Join != nil && r.Join.Donor != "" || r.Server != nil })
	if r.Server != nil {
		s.Fatal("the transfer was over too soon")
	}
	for _, d := range s.world.nodes {
		if d.name == r.Join.Donor {
			d.killServer()
		}
	}
	// The joiner dies of it: two of three are gone at once, and the third has no quorum.
	for _, d := range s.world.nodes[:2] {
		if d.name == r.Join.Donor {
			continue
		}
		lone := d.until("noticing", 60*time.Second, func(r agentapi.Report) bool {
			return r.Server != nil && (r.Server.Component == galera.ComponentNonPrimary || r.Server.Size < 3)
		})
		if lone.Server.Component == galera.ComponentNonPrimary {
			s.epoch++
			o, _ := d.send(agentapi.OrderRebuildQuorum, s.epoch, lone.Position, s.uuid)
			d.until("Primary by order", 30*time.Second, done(o.ID))
		}
	}
	s.all(120 * time.Second)
	s.write2(0)
	s.intact()
}

// badSetting: what mariadbd refuses never replaces what it runs with, and a restart continues with the latter.
func (s *scenario) badSetting() {
	n := s.node(1)
	before := s.world.config.Revision
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.Settings["no_such_variable"] = "1" })
	r := n.until("complaining", 30*time.Second, func(r agentapi.Report) bool { return r.Config.Problem != "" })
	if !strings.Contains(r.Config.Problem, "no_such_variable") || r.Config.Loaded != before || r.Config.RestartNeeded {
		s.Errorf("%+v", r.Config)
	}
	s.epoch++
	o, _ := n.send(agentapi.OrderRestart, s.epoch, galera.Position{}, s.uuid)
	if r := n.until("restarted", 60*time.Second, done(o.ID)); r.Join.Kind == "SST" {
		s.Errorf("join %+v", r.Join)
	}
	s.world.publishConfig(func(c *agentapi.NodeConfig) { delete(c.Settings, "no_such_variable") })
	n.until("content", 60*time.Second, func(r agentapi.Report) bool {
		return r.Config.Problem == "" && r.Config.Loaded == s.world.config.Revision && !r.Config.RestartNeeded
	})
	s.all(30 * time.Second)
	s.intact()
}

// diverge lets one member write alone, loses its pod, goes on without it by a user's word, and brings it back.
func (s *scenario) diverge() {
	var at galera.Position
	for _, n := range s.world.nodes[:2] {
		s.epoch++
		o, _ := n.send(agentapi.OrderStop, s.epoch, galera.Position{}, s.uuid)
		at = n.until("stopped", 60*time.Second, done(o.ID)).Position
	}
	alone := s.node(2)
	alone.until("alone", 20*time.Second, synced(1))
	shared := s.rows
	s.write2(2)
	s.write2(2)
	alone.stop(true)
	s.epoch++
	n := s.node(1)
	o := agentapi.Order{ID: "trusted", Epoch: s.epoch, Kind: agentapi.OrderBootstrap, Position: at, ClusterUUID: s.uuid,
		GivenUp: []string{alone.name}}
	if r := n.resend(o); r.State != agentapi.OrderAccepted {
		s.Fatalf("%+v", r)
	}
	n.until("bootstrapped", 60*time.Second, done(o.ID))
	s.epoch++
	s.node(0).send(agentapi.OrderStart, s.epoch, galera.Position{}, s.uuid)
	s.node(0).until("two", 60*time.Second, synced(2))
	s.rows = shared
	for range 5 {
		s.write2(1) // past the other's seqno: Galera itself would see nothing wrong
	}
	s.beginLine(1, 0) // its start is past the other's seqno, too: only the line before distinguishes them
	alone.start()
	r := alone.until("kept out", 30*time.Second, func(r agentapi.Report) bool {
		return r.Phase == galera.PhaseFailed &&
			r.Failure != nil
	})
	if r.Failure.Reason != agentapi.FailureDiverged || r.Server != nil || r.Data != galera.DataPresent {
		s.Fatalf("%+v", r)
	}
	s.Logf("%s", r.Failure.Message)
	alone.stop(true)
	s.tearBook(alone, r.Position)
	alone.stop(true)
	alone.wipe()
	alone.start()
	s.all(90 * time.Second)
	s.intact()
}

// tearBook starts a member with an order book that cannot be read: it must not take the place for new.
func (s *scenario) tearBook(n *node, at galera.Position) {
	book := filepath.Join(n.base, "volume", "agent", "orders.json")
	check(s.T, os.WriteFile(book, []byte(`{"highestEpoch":`), 0o600))
	n.start()
	r := n.until("complaining of its book", 30*time.Second,
		func(r agentapi.Report) bool { return r.Phase == galera.PhaseFailed && r.Failure != nil })
	if r.Failure.Reason != agentapi.FailureOrderBook || r.Server != nil || r.Position != at {
		s.Errorf("%+v", r)
	}
	s.epoch++
	if _, r := n.send(agentapi.OrderStart, s.epoch, galera.Position{}, s.uuid); r.State != agentapi.OrderRefused {
		s.Errorf("%+v", r)
	}
	s.Logf("%s", r.Failure.Message)
}

// beginLine stops two members in order and makes the last one begin a new line of history.
func (s *scenario) beginLine(last, first int) {
	var at galera.Position
	for _, i := range []int{first, last} {
		s.epoch++
		o, _ := s.node(i).send(agentapi.OrderStop, s.epoch, galera.Position{}, s.uuid)
		at = s.node(i).until("stopped", 60*time.Second, done(o.ID)).Position
	}
	s.epoch++
	o, _ := s.node(last).send(agentapi.OrderBootstrap, s.epoch, at, s.uuid)
	s.node(last).until("bootstrapped", 60*time.Second, done(o.ID))
	s.epoch++
	s.node(first).send(agentapi.OrderStart, s.epoch, galera.Position{}, s.uuid)
	s.node(first).until("two", 60*time.Second, synced(2))
}

// foreign re-creates the cluster behind one member's back.
func (s *scenario) foreign() {
	n := s.node(2)
	n.stop(true)
	for _, other := range s.world.nodes[:2] { // all of them first: an empty member joins any that still serves
		other.stop(true)
		other.wipe()
	}
	for _, other := range s.world.nodes[:2] {
		other.start()
		other.until("empty", 30*time.Second, waiting)
	}
	o, result := s.node(0).send(agentapi.OrderInitialise, 1, galera.Position{}, "")
	if result.State != agentapi.OrderAccepted {
		s.Fatalf("%+v", result)
	}
	s.node(0).until("initialised", 60*time.Second, done(o.ID))
	n.start()
	r := n.until("kept out", 30*time.Second, func(r agentapi.Report) bool {
		return r.Phase == galera.PhaseFailed &&
			r.Failure != nil
	})
	if r.Failure.Reason != agentapi.FailureForeignUUID || r.Position.UUID != s.uuid || r.Data != galera.DataPresent {
		s.Fatalf("%+v", r)
	}
	s.Logf("%s", r.Failure.Message)
}
