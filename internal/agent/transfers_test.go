//go:build integration

package agent_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	rowMiB  = 8
	rows    = 10
	limited = 8 << 20 // bytes per second
)

// TestTransfers lets a member join in every way there is, and fail in most. It takes six minutes, and is
// part of make test-full.
func TestTransfers(t *testing.T) {
	if os.Getenv("GALERA_SLOW") == "" {
		t.Skip("GALERA_SLOW is not set")
	}
	w := newWorld(t, 3, nil)
	s := &scenario{T: t, world: w}
	for _, step := range []struct {
		name string
		run  func(*scenario)
	}{
		{"form", (*scenario).formLarge},
		{"an incremental transfer, by both sides", (*scenario).increment},
		{"a long one reports its progress", (*scenario).longIncrement},
		{"the cache grows at a start, and never asks for one", (*scenario).growCache},
		{"a full one spares the primary", (*scenario).spare},
		{"compressed and limited", (*scenario).limit},
		{"one that stands still is given up", (*scenario).stall},
		{"the network is cut", (*scenario).cutNetwork},
		{"no space from the start", (*scenario).noSpace},
		{"the disk fills up on the way", (*scenario).fillUp},
		{"sides that do not agree", (*scenario).disagree},
		{"a foreign certificate", (*scenario).foreignCertificate},
	} {
		began := time.Now()
		if !t.Run(step.name, func(t *testing.T) { s.T, w.t = t, t; step.run(s) }) {
			break
		}
		t.Logf("%-40s %s", step.name, time.Since(began).Round(time.Millisecond))
	}
	w.t = t
}

func (s *scenario) formLarge() {
	s.wait()
	s.epoch = 1
	o, result := s.node(0).send(agentapi.OrderInitialise, s.epoch, galera.Position{}, "")
	if result.State != agentapi.OrderAccepted {
		s.Fatalf("%+v", result)
	}
	s.uuid = s.node(0).until("initialised", 60*time.Second, done(o.ID)).Server.ClusterUUID
	s.all(90 * time.Second)
	s.node(0).mustSQL("CREATE DATABASE app; CREATE TABLE app.t (id INT PRIMARY KEY, filler LONGBLOB) ENGINE=InnoDB")
	for range rows {
		s.rows++
		s.node(0).mustSQL(fmt.Sprintf("INSERT INTO app.t VALUES (%d, REPEAT(RANDOM_BYTES(1024), %d))", s.rows, rowMiB<<10))
	}
	for _, n := range s.world.nodes {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		check(s.T, s.world.client.ReportPrimary(ctx, n.ip, agentapi.Primary{Name: "shop-0"}))
		cancel()
	}
}

// given is what a member reports to have given so far.
func (s *scenario) given(i int) map[string]int64 {
	s.Helper()
	r, err := s.node(i).report()
	check(s.T, err)
	return map[string]int64{"IST": r.Donations["IST"], "SST": r.Donations["SST"]}
}

func (s *scenario) increment() {
	before := []map[string]int64{s.given(0), s.given(1)}
	n := s.node(2)
	s.epoch++
	o, _ := n.send(agentapi.OrderStop, s.epoch, galera.Position{}, s.uuid)
	n.until("stopped", 60*time.Second, done(o.ID))
	for range 5 {
		s.write2(0)
	}
	s.epoch++
	n.send(agentapi.OrderStart, s.epoch, galera.Position{}, s.uuid)
	r := n.until("back", 60*time.Second, joined(3))
	s.Logf("%+v", *r.Join)
	if r.Join.Kind != agentapi.JoinIST || r.Join.WriteSets < 5 || r.Join.WriteSets > 8 || r.Join.Phase != "" ||
		r.Join.Bytes != 0 {
		s.Errorf("%+v", *r.Join)
	}
	donors := 0
	for i := range 2 {
		d := s.node(i).until("reporting", 10*time.Second, func(r agentapi.Report) bool { return r.Donation == nil })
		if now := d.Donations["IST"] - before[i]["IST"]; now > 0 {
			donors++
		}
		if d.Donations["SST"] != before[i]["SST"] {
			s.Errorf("%s has given a full copy", s.node(i).name)
		}
	}
	if donors != 1 {
		s.Errorf("%d members report that they gave what was missing", donors)
	}
	if r.Cache == nil || r.Cache.Size != 128<<20 || r.Cache.Oldest <= 0 {
		s.Errorf("cache %+v", r.Cache)
	}
	s.intact()
}

// growCache: what was written so far asks for more than the default, and takes effect with whatever
// restart comes next; what was in the cache stays in it.
func (s *scenario) growCache() {
	s.world.publishConfig(func(c *agentapi.NodeConfig) {
		c.StateTransfer.WindowSeconds, c.StateTransfer.CacheBudget = 24*3600, 512<<20
	})
	s.awaitConfig() // with no restart needed
	n := s.node(1)
	before := n.until("reported its cache", 30*time.Second,
		func(r agentapi.Report) bool { return r.Cache != nil && r.Cache.WindowSeconds > 0 })
	var last agentapi.Cache
	for range 2 {
		s.epoch++
		o, result := n.send(agentapi.OrderRestart, s.epoch, galera.Position{}, s.uuid)
		if result.State != agentapi.OrderAccepted {
			s.Fatalf("%+v", result)
		}
		// The size is measured now and then: a report may have that of before.
		r := n.until("restarted with a larger cache", 60*time.Second, func(r agentapi.Report) bool {
			return done(o.ID)(r) && r.Cache != nil && r.Cache.Oldest > 0 && r.Cache.Size > 128<<20
		})
		s.Logf("before %+v, after %+v", *before.Cache, *r.Cache)
		if r.Cache.Size > 512<<20 || last.Size != 0 && r.Cache.Size != last.Size {
			s.Errorf("the cache has %d bytes, %d after the first start", r.Cache.Size, last.Size)
		}
		if r.Cache.Oldest > before.Cache.Oldest {
			s.Errorf("the cache began at %d and begins at %d after a start", before.Cache.Oldest, r.Cache.Oldest)
		}
		if r.Config.RestartNeeded {
			s.Error("the size of the cache asks for a restart")
		}
		last = *r.Cache
	}
	s.world.publishConfig(func(c *agentapi.NodeConfig) {
		c.StateTransfer.WindowSeconds, c.StateTransfer.CacheBudget = 0,
			0
	})
	s.awaitConfig()
	s.intact()
}

// rejoin wipes a member and starts it, and returns the phases it has reported until it is back.
func (s *scenario) rejoin(n *node, limit time.Duration, each func(agentapi.Report)) (agentapi.Report, []string) {
	s.Helper()
	n.stop(true)
	n.wipe()
	n.start()
	return s.followJoin(n, limit, each)
}

func (s *scenario) followJoin(n *node, limit time.Duration, each func(agentapi.Report)) (agentapi.Report, []string) {
	s.Helper()
	var phases []string
	r := n.until("joined", limit, func(r agentapi.Report) bool {
		if j := r.Join; j != nil && j.Phase != "" && !slices.Contains(phases, j.Phase) {
			phases = append(phases, j.Phase)
		}
		if each != nil {
			each(r)
		}
		return synced(3)(r) && r.Join != nil && r.Join.EndedAt != nil
	})
	return r, phases
}

func (s *scenario) spare() {
	for range 2 { // the first in the list: once is chance
		before := s.given(1)
		r, phases := s.rejoin(s.node(2), 90*time.Second, nil)
		s.Logf("%v %+v", phases, *r.Join)
		if r.Join.Donor != "shop-1" || r.Join.Kind != agentapi.JoinSST || s.given(1)["SST"] != before["SST"]+1 {
			s.Errorf("from %q: %+v", r.Join.Donor, s.given(1))
		}
		// The later ones may be over before they are asked for.
		if !slices.IsSorted(ranks(phases)) || !slices.Contains(phases, agentapi.JoinWaiting) ||
			r.Join.Bytes < rows*rowMiB<<20 {
			s.Errorf("phases %v", phases)
		}
	}
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.StateTransfer.Donors = []string{"shop-0", "shop-2"} })
	r, _ := s.rejoin(s.node(2), 90*time.Second, nil)
	if r.Join.Donor != "shop-1" {
		s.Errorf("the primary is preferred by its name only: donor %q", r.Join.Donor)
	}
}

func ranks(phases []string) []int {
	all := []string{agentapi.JoinWaiting, agentapi.JoinTransferring, agentapi.JoinPreparing, agentapi.JoinApplying}
	out := make([]int, len(phases))
	for i, p := range phases {
		out[i] = slices.Index(all, p)
	}
	return out
}

func (s *scenario) limit() {
	pid := s.node(1).serverPID()
	s.world.publishConfig(func(c *agentapi.NodeConfig) {
		c.StateTransfer.Compression, c.StateTransfer.RateLimit, c.StateTransfer.PrepareMemory = agentapi.CompressionZstd,
			limited, 64<<20
	})
	s.awaitConfig()
	var shown []agentapi.Join
	r, phases := s.rejoin(s.node(2), 3*time.Minute, func(r agentapi.Report) {
		if r.Join != nil && r.Join.Phase == agentapi.JoinTransferring {
			shown = append(shown, *r.Join)
		}
	})
	took := r.Join.EndedAt.Sub(r.Join.StartedAt)
	s.Logf("%v %+v, took %s", phases, *r.Join, took)
	for _, j := range shown {
		s.Logf("shown: %d of %d, %d/s, eta %v", j.Bytes, j.Total, j.Rate, j.ETA)
	}
	// A kilobyte over and over: compression must show, or it was not there.
	if r.Join.Bytes < rows*rowMiB<<20 || took > time.Duration(r.Join.Bytes/limited)*time.Second+20*time.Second {
		s.Errorf("%d bytes in %s", r.Join.Bytes, took)
	}
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.StateTransfer.Compression = "" })
	s.awaitConfig()
	shown = nil
	r, phases = s.rejoin(s.node(2), 3*time.Minute, func(r agentapi.Report) {
		if r.Join != nil && r.Join.Phase == agentapi.JoinTransferring {
			shown = append(shown, *r.Join)
		}
	})
	took = r.Join.EndedAt.Sub(r.Join.StartedAt)
	s.Logf("%v %+v, took %s", phases, *r.Join, took)
	if want := time.Duration(r.Join.Bytes/limited) * time.Second; took < want*8/10 ||
		!slices.Contains(phases, agentapi.JoinTransferring) {
		s.Errorf("%d bytes in %s, in the phases %v", r.Join.Bytes, took, phases)
	}
	moving := slices.ContainsFunc(shown, func(j agentapi.Join) bool {
		return j.Rate > limited/2 && j.Rate < limited*2 && j.Total >= j.Bytes && j.ETA != nil && j.Donor == "shop-1"
	})
	if !moving {
		s.Errorf("no progress worth the name was shown: %+v", shown)
	}
	if s.node(1).serverPID() != pid {
		s.Error("the donor's mariadbd was restarted by a change of transfer settings")
	}
	s.intact()
}

func (s *scenario) awaitConfig() {
	s.Helper()
	for _, n := range s.world.nodes {
		n.until("reported", 30*time.Second, func(r agentapi.Report) bool {
			return r.Config.Loaded == s.world.config.Revision && !r.Config.RestartNeeded
		})
	}
}

// failing waits for a failure of a transfer to a member.
func (s *scenario) failing(n *node, reason string, limit time.Duration) agentapi.Failure {
	s.Helper()
	r := n.until("failed with "+reason, limit, func(r agentapi.Report) bool {
		return r.Failure != nil &&
			r.Failure.Reason == reason
	})
	s.Logf("%s", r.Failure.Message)
	if r.Server != nil && r.Server.State == galera.NodeSynced {
		s.Errorf("Synced, with a failed transfer: %+v", r)
	}
	return *r.Failure
}

// stall stops the donor's backup in the middle.
func (s *scenario) stall() {
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.StateTransfer.StallSeconds = 12 })
	s.awaitConfig()
	n := s.node(2)
	n.stop(true)
	n.wipe()
	n.start()
	n.until("in a transfer", 60*time.Second, func(r agentapi.Report) bool {
		return r.Join != nil && r.Join.Phase == agentapi.JoinTransferring && r.Join.Donor == "shop-1"
	})
	s.node(1).exec("bash", "-c",
		"until pgrep -x mariadb-backup; do sleep 0.05; done; kill -STOP $(pgrep -x mariadb-backup)")
	f := s.failing(n, agentapi.FailureStalled, 60*time.Second)
	if !strings.Contains(f.Message, "shop-1") || !strings.Contains(f.Message, "12s") {
		s.Errorf("%s", f.Message)
	}
	r, _ := s.followJoin(n, 90*time.Second, nil)
	if r.Join.Donor != "shop-0" {
		s.Errorf("the next donor is %q", r.Join.Donor)
	}
	s.node(1).exec("bash", "-c", "kill -CONT $(pgrep -x mariadb-backup)")
	s.all(60 * time.Second)
	s.intact()
}

// cutNetwork takes the joiner off the network in the middle.
func (s *scenario) cutNetwork() {
	n := s.node(2)
	s.inTransfer(n)
	s.world.run(exec.Command("docker", "network", "disconnect", "-f", s.world.network, n.container()))
	s.node(0).until("without it", 30*time.Second, func(r agentapi.Report) bool {
		return r.Server != nil &&
			r.Server.Size == 2
	})
	s.write2(0)
	time.Sleep(15 * time.Second) // beyond the patience with a transfer that stands still
	s.world.run(exec.Command("docker", "network", "connect", "--ip", n.ip, "--alias", n.name, s.world.network,
		n.container()))
	r, _ := s.followJoin(n, 2*time.Minute, nil)
	s.Logf("%+v", *r.Join)
	s.intact()
}

// disagree lets the donors compress, and the joiner know nothing of it.
func (s *scenario) disagree() {
	n := s.node(2)
	s.world.publishConfig(func(c *agentapi.NodeConfig) {
		c.StateTransfer.Compression, c.StateTransfer.RateLimit = agentapi.CompressionZstd, 0
	})
	s.awaitConfig()
	good := s.world.config
	n.publishAlone(func(c *agentapi.NodeConfig) { c.StateTransfer.Compression = "" })
	n.stop(true)
	n.wipe()
	n.start()
	f := s.failing(n, agentapi.FailureTransfer, 60*time.Second)
	if !strings.Contains(f.Message, "wsrep_sst_mariabackup") {
		s.Errorf("%s", f.Message)
	}
	s.world.config = good
	s.world.publishConfig(nil)
	s.followJoin(n, 90*time.Second, nil)
	s.intact()
}

// foreignCertificate gives the joiner a pair of another CA.
func (s *scenario) foreignCertificate() {
	n := s.node(2)
	other := newAuthority(s.T, "another authority", nil)
	certPEM, keyPEM := other.issue(s.T, "shop", "shop", "shop-nodes", n.name)
	files := map[string][]byte{"tls.crt": certPEM, "tls.key": keyPEM, "ca.crt": slices.Concat(other.pem, s.world.root.pem),
		agentapi.ControlCAKey: s.world.control.pem}
	n.stop(true)
	n.wipe()
	n.mount("tls", files)
	n.start()
	deadline := time.Now().Add(90 * time.Second)
	said := ""
	for time.Now().Before(deadline) && !strings.Contains(said, agentapi.FailureCertificate) {
		out, _ := exec.Command("docker", "logs", n.container()).CombinedOutput()
		said = string(out)
		time.Sleep(time.Second)
	}
	if !strings.Contains(said, agentapi.FailureCertificate) {
		s.Error("the joiner does not name its certificate as the reason")
	}
	s.node(0).until("undisturbed", 20*time.Second, synced(2))
	good, goodKey := s.world.leaf()
	s.world.publishCertificate(good, goodKey)
	s.followJoin(n, 2*time.Minute, nil)
	s.intact()
}

// publishAlone gives one member a configuration of its own.
func (n *node) publishAlone(edit func(*agentapi.NodeConfig)) {
	n.w.t.Helper()
	c := n.w.config
	edit(&c)
	n.mountConfig(c)
}
