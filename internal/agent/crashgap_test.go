//go:build integration

package agent_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestGapAfterACrash kills all nodes, again and again, and measures how long writes wait while the
// others rejoin the first one. Two nodes that rejoin at once must not cost the group a time-out. It is part of make
// test-full; GALERA_ROUNDS sets the number of crashes.
func TestGapAfterACrash(t *testing.T) {
	if os.Getenv("GALERA_SLOW") == "" {
		t.Skip("GALERA_SLOW is not set")
	}
	rounds, err := strconv.Atoi(os.Getenv("GALERA_ROUNDS"))
	if err != nil {
		rounds = 4
	}
	w := newWorld(t, 3, nil)
	s := &scenario{T: t, world: w}
	s.wait()
	s.form()
	s.node(0).mustSQL("CREATE TABLE app.gaps (id BIGINT AUTO_INCREMENT PRIMARY KEY)")
	expired := 0
	for round := range rounds {
		first, gap, all := s.crashOfAll()
		timers := 0
		for _, n := range w.nodes {
			out, _ := exec.Command("docker", "logs", n.container()).CombinedOutput()
			timers += strings.Count(string(out), "install timer expired")
		}
		t.Logf("round %d: first write after %s, longest gap after it %s, all Synced after %s, time-outs of the group %d",
			round, first, gap, all, timers-expired)
		expired = timers
	}
	if expired > 0 {
		t.Errorf("the group waited %d times for evs.install_timeout", expired)
	}
}

// crashOfAll kills all nodes, starts them again, and bootstraps the most advanced one.
func (s *scenario) crashOfAll() (first, gap, all time.Duration) {
	s.Helper()
	began := time.Now()
	var wg sync.WaitGroup
	for _, n := range s.world.nodes {
		wg.Go(n.kill)
	}
	wg.Wait()
	for _, n := range s.world.nodes {
		s.world.run(exec.Command("docker", "start", n.container()))
	}
	best, top := s.node(0), galera.Position{}
	for _, n := range s.world.nodes {
		r := n.until("waiting with its position", 60*time.Second,
			func(r agentapi.Report) bool { return waiting(r) && r.Position.Known() })
		if r.Position.Seqno > top.Seqno {
			best, top = n, r.Position
		}
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		first, gap = best.writeUntil(ctx, began)
	}()
	s.epoch++
	if _, result := best.send(agentapi.OrderBootstrap, s.epoch, top, s.uuid); result.State != agentapi.OrderAccepted {
		s.Fatalf("%+v", result)
	}
	s.all(2 * time.Minute)
	all = time.Since(began).Round(time.Millisecond)
	end()
	<-done
	if first == 0 {
		s.Fatal("no write")
	}
	return first, gap, all
}

// writeUntil writes to the node all the time, and returns after how long the first write was acknowledged, and the
// longest time between two of the later ones.
func (n *node) writeUntil(ctx context.Context, began time.Time) (first, gap time.Duration) {
	db := n.database(rootPassword, unverified())
	defer func() { _ = db.Close() }()
	var last time.Time
	for ctx.Err() == nil {
		one, cancel := context.WithTimeout(context.Background(), time.Minute)
		_, err := db.ExecContext(one, "INSERT INTO app.gaps VALUES (NULL)")
		cancel()
		now := time.Now()
		switch {
		case err != nil:
		case last.IsZero():
			first, last = now.Sub(began).Round(time.Millisecond), now
		default:
			gap, last = max(gap, now.Sub(last).Round(time.Millisecond)), now
		}
		time.Sleep(5 * time.Millisecond)
	}
	return first, gap
}
