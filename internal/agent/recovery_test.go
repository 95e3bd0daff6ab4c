//go:build integration

package agent_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func (s *scenario) killAll() {
	s.write(0)
	var wg sync.WaitGroup
	for _, n := range s.world.nodes {
		wg.Go(func() { n.stop(false) })
	}
	wg.Wait()
	for _, n := range s.world.nodes {
		n.start()
	}
	began := time.Now()
	best := s.node(0)
	var top galera.Position
	for _, n := range s.world.nodes {
		r := n.until("waiting with its position", 60*time.Second,
			func(r agentapi.Report) bool { return waiting(r) && r.Position.Known() })
		if r.Position.UUID != s.uuid || r.Data != galera.DataPresent || r.Server != nil {
			s.Fatalf("%s: %+v", n.name, r)
		}
		s.Logf("%s at %s", n.name, r.Position)
		if r.Position.Seqno > top.Seqno {
			best, top = n, r.Position
		}
	}
	s.Logf("all positions known: %s", time.Since(began).Round(time.Millisecond))
	s.refuseWrongBootstraps(best, top)
	s.epoch += 10
	began = time.Now()
	o, result := best.send(agentapi.OrderBootstrap, s.epoch, top, s.uuid)
	if result.State != agentapi.OrderAccepted {
		s.Fatalf("%+v", result)
	}
	best.until("bootstrapped", 60*time.Second, done(o.ID))
	s.Logf("bootstrap: %s", time.Since(began).Round(time.Millisecond))
	s.all(90 * time.Second)
	s.Logf("all back: %s", time.Since(began).Round(time.Millisecond))
	for _, n := range s.world.nodes {
		r := n.until("knowing the line", 30*time.Second, func(r agentapi.Report) bool {
			return r.Server != nil && r.Lineage.Epoch == s.epoch && (n == best || joined(3)(r))
		})
		if r.Server.ClusterUUID != s.uuid || n != best && (r.Join == nil || r.Join.Kind == "SST") {
			s.Errorf("%s: uuid %s, join %+v", n.name, r.Server.ClusterUUID, r.Join)
		}
		if r.Lineage.Start != top {
			s.Errorf("%s: lineage %+v, want epoch %d from %s", n.name, r.Lineage, s.epoch, top)
		}
	}
	s.intact()
	s.write(1)
}

func (s *scenario) refuseWrongBootstraps(best *node, top galera.Position) {
	behind := top
	behind.Seqno--
	foreign := galera.Position{UUID: "11111111-2222-3333-4444-555555555555", Seqno: top.Seqno}
	for name, pos := range map[string]galera.Position{"behind": behind, "foreign": foreign, "unknown": {}} {
		if _, r := best.send(agentapi.OrderBootstrap, s.epoch+1, pos, s.uuid); r.State != agentapi.OrderRefused {
			s.Fatalf("%s: %+v", name, r)
		}
	}
	if _, r := best.send(agentapi.OrderBootstrap, s.epoch-1, top, s.uuid); r.State != agentapi.OrderRefused {
		s.Fatalf("an old epoch: %+v", r)
	}
	if _, r := best.send(agentapi.OrderBootstrap, s.epoch+1, top, foreign.UUID); r.State != agentapi.OrderRefused {
		s.Fatalf("another cluster: %+v", r)
	}
	for _, n := range s.world.nodes {
		if r, err := n.report(); err != nil || r.Server != nil {
			s.Fatalf("%s: %v %+v", n.name, err, r)
		}
	}
}

// cutStatement kills everything while a statement changes tables, which takes longer than to see it on every node.
// Galera has marked all data; one member is gone on from, and the others get full copies.
func (s *scenario) cutStatement() {
	s.node(0).
		mustSQL(
			"CREATE DATABASE cut; CREATE TABLE cut.t (id INT PRIMARY KEY); INSERT INTO cut.t SELECT seq FROM cut.seq_1_to_4000")
	go func() {
		// it is cut off
		_, _ = s.node(1).sql("ALTER TABLE cut.t ADD COLUMN slow CHAR(32) AS (MD5(REPEAT(MD5(id), 400000))) STORED")
	}()
	for _, n := range s.world.nodes {
		for end := time.Now().Add(90 * time.Second); n.mustSQL(
			"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER TABLE cut%'") == "0"; {
			if time.Now().After(end) {
				s.Fatalf("%s: the statement does not run", n.name)
			}
		}
	}
	var wg sync.WaitGroup
	for _, n := range s.world.nodes {
		wg.Go(func() { n.stop(false) })
	}
	wg.Wait()
	var at galera.Position
	for _, n := range s.world.nodes {
		n.start()
	}
	for _, n := range s.world.nodes {
		r := n.until("waiting with marked data", time.Minute,
			func(r agentapi.Report) bool { return waiting(r) && r.Position.Known() })
		if at = r.Position; !r.Marked || r.VotedOut {
			s.Fatalf("%s at %s: marked %v, voted out %v", n.name, at, r.Marked, r.VotedOut)
		}
	}
	s.epoch += 10
	o, _ := s.node(2).send(agentapi.OrderBootstrap, s.epoch, at, s.uuid)
	s.node(2).until("bootstrapped", time.Minute, done(o.ID))
	s.all(2 * time.Minute)
	tables := map[string]bool{}
	for _, n := range s.world.nodes {
		r := n.until("done", time.Minute, func(r agentapi.Report) bool { return n == s.node(2) || joined(3)(r) })
		if r.Marked || n != s.node(2) && r.Join.Kind != agentapi.JoinSST || !r.Lineage.Copied {
			s.Errorf("%s: marked %v, %+v, %+v", n.name, r.Marked, r.Join, r.Lineage)
		}
		tables[n.mustSQL(
			"SELECT (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'cut'), COUNT(*) FROM cut.t")] = true
	}
	if len(tables) != 1 {
		s.Errorf("the members differ: %v", tables)
	}
	s.intact()
	s.write(1)
	s.node(0).mustSQL("DROP DATABASE cut")
}

func (s *scenario) newVolume() {
	n := s.node(0)
	n.stop(true)
	n.wipe()
	n.start()
	r := n.until("joined", 90*time.Second, joined(3))
	if r.Join == nil || r.Join.Kind != "SST" || r.Server.ClusterUUID != s.uuid {
		s.Errorf("%+v", r.Join)
	}
	s.Logf("full transfer: %s, %d bytes, from %q", r.Join.EndedAt.Sub(r.Join.StartedAt).Round(time.Millisecond),
		r.Join.Bytes, r.Join.Donor)
	s.write(0)
	s.intact()
}

// expel makes one member's data differ and lets the others vote it out. That is reported until its full transfer
// begins: who asks too late tries again.
func (s *scenario) expel() {
	for try := 0; !s.votedOut(); try++ {
		if try == 3 {
			s.Fatal("no report has where the member stood that was voted out")
		}
	}
}

// votedOut reports whether the member was seen to be voted out before it was back.
func (s *scenario) votedOut() (seen bool) {
	n := s.node(1)
	began := time.Now()
	n.mustSQL(fmt.Sprintf("SET SESSION wsrep_on=OFF; INSERT INTO app.t VALUES (%d)", s.rows+1))
	s.write(0)
	r := n.until("back by a full transfer", 120*time.Second, func(r agentapi.Report) bool {
		seen = seen || r.VotedOut && r.Marked && r.Position.Known()
		return synced(3)(r) && r.Join != nil && r.Join.Kind == "SST" && r.Join.StartedAt.After(began)
	})
	s.Logf("expelled to serving: %s, restarts %d", time.Since(began).Round(time.Millisecond), r.Restarts)
	if r.VotedOut || r.Marked {
		s.Errorf("%s is still reported to be voted out", n.name)
	}
	s.intact()
	return seen
}

// quorum kills two of three at once and makes the third go on by order.
func (s *scenario) quorum() {
	s.write(2)
	for _, n := range s.world.nodes[1:] {
		n.stop(false)
	}
	n := s.node(0)
	r := n.until("without quorum", 30*time.Second, func(r agentapi.Report) bool {
		return r.Server != nil && r.Server.Component == galera.ComponentNonPrimary && slices.Equal(r.Server.Members,
			[]string{n.name})
	})
	if code := n.probe(agentapi.PathReady); code == http.StatusOK {
		s.Error("ready without quorum")
	}
	ahead := r.Position
	ahead.Seqno++
	s.epoch++
	if _, r := n.send(agentapi.OrderRebuildQuorum, s.epoch, ahead, s.uuid); r.State != agentapi.OrderRefused {
		s.Fatalf("a position this member does not have: %+v", r)
	}
	o, _ := n.send(agentapi.OrderRebuildQuorum, s.epoch, r.Position, s.uuid)
	n.until("Primary by order", 30*time.Second, done(o.ID))
	n.until("serving alone", 30*time.Second, synced(1))
	s.write(0)
	for _, n := range s.world.nodes[1:] {
		n.start()
	}
	s.all(90 * time.Second)
	for _, n := range s.world.nodes {
		r := n.until("knowing the line", 30*time.Second, func(r agentapi.Report) bool {
			return r.Server != nil && r.Lineage.Epoch == s.epoch
		})
		if r.Server.ClusterUUID != s.uuid {
			s.Errorf("%s: %+v", n.name, r.Lineage)
		}
	}
	s.intact()
}

func (s *scenario) end() {
	took := s.node(0).stop(true)
	s.Logf("SIGTERM to exit: %s", took.Round(time.Millisecond))
	s.node(1).until("a component of two", 20*time.Second, synced(2))
}
