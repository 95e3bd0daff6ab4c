//go:build integration

package agent_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestEvents: an event runs on the primary and on no other node, whatever happens to the node that created it.
func TestEvents(t *testing.T) {
	for name, world := range map[string]func(*testing.T, int) *scenario{
		"11.8":  func(t *testing.T, n int) *scenario { return &scenario{T: t, world: newWorld(t, n, nil)} },
		"10.11": newOldWorld,
	} {
		t.Run(name, func(t *testing.T) {
			if name != "11.8" && os.Getenv("GALERA_SLOW") == "" {
				t.Skip("GALERA_SLOW is not set")
			}
			t.Parallel()
			s := world(t, 3)
			w := s.world
			w.publishConfig(func(c *agentapi.NodeConfig) { c.RunEvents = true })
			for _, step := range []struct {
				name string
				run  func(*scenario)
			}{
				{"agents wait for an order", (*scenario).wait},
				{"a cluster is formed", (*scenario).form},
				{"events are created on another node than the primary", (*scenario).createEvents},
				{"they run on the primary", func(s *scenario) { s.eventsRun(0) }},
				{"a later statement", (*scenario).alterEvents},
				{"the primary moves", func(s *scenario) { s.eventsRun(2) }},
				{"only the new primary is informed", (*scenario).uninformedPrimary},
				{"the primary, which created them, loses its volume", (*scenario).loseCreator},
				{"a time passes while no node runs events", (*scenario).passedEvent},
				{"the primary loses quorum", (*scenario).eventsWithoutQuorum},
			} {
				if !t.Run(step.name, func(t *testing.T) { s.T, w.t = t, t; step.run(s) }) {
					break
				}
			}
			s.T, w.t = t, t
		})
	}
}

// awaitSQL waits until a query has a result on a node.
func (s *scenario) awaitSQL(i int, query, want string) {
	s.Helper()
	got := ""
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		var err error
		if got, err = s.node(i).sql(query); err != nil {
			s.Fatalf("%s: %s: %v", s.node(i).name, query, err)
		}
		if got == want {
			return
		}
		s.copyStatuses()
	}
	s.Fatalf("%s: %s: %q, want %q", s.node(i).name, query, got, want)
}

// copyStatuses does what the operator does in each pass.
func (s *scenario) copyStatuses() {
	s.Helper()
	of := map[string]*agentapi.Scheduled{}
	for _, n := range s.world.nodes {
		if r, err := n.report(); err == nil && r.Scheduled != nil {
			of[n.name] = r.Scheduled
		}
	}
	for name, changes := range agentapi.StatusChanges(of) {
		for _, n := range s.world.nodes {
			if n.name == name {
				ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
				_ = s.world.client.ChangeEvents(ctx, n.ip, changes)
				cancel()
			}
		}
	}
}

func (s *scenario) reportPrimary(primary string, to ...*node) {
	s.Helper()
	for _, n := range to {
		ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
		check(s.T, s.world.client.ReportPrimary(ctx, n.ip, agentapi.Primary{Name: primary}))
		cancel()
	}
}

// events are what a node has, without what is its own.
const events = "SELECT GROUP_CONCAT(CONCAT_WS(' ', name, status, definer, sql_mode, time_zone, " +
	"UNIX_TIMESTAMP(modified), " +
	"comment) ORDER BY name SEPARATOR '; ') FROM mysql.event"

// sameEvents waits until all nodes have the same events, with these statuses. A node may not have applied yet what
// another one has committed, so one comparison holds all nodes.
func (s *scenario) sameEvents(want string) {
	s.Helper()
	const statuses = "SELECT GROUP_CONCAT(CONCAT(name, ' ', status) ORDER BY name SEPARATOR '; ') FROM mysql.event"
	got := ""
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		same, first := true, s.node(0).mustSQL(events)
		got = ""
		for _, n := range s.world.nodes {
			has, all := n.mustSQL(statuses), n.mustSQL(events)
			got += "\n" + n.name + ": " + all
			same = same && has == want && all == first
		}
		if same {
			return
		}
		s.copyStatuses()
	}
	s.Fatalf("events differ, or are not %s:%s", want, got)
}

func (s *scenario) createEvents() {
	s.node(1).mustSQL("CREATE TABLE app.runs (at DATETIME(6), node VARCHAR(64), event VARCHAR(64), " +
		"PRIMARY KEY (at, node, event)); CREATE USER 'us`er'@'%' IDENTIFIED BY 'x'; GRANT ALL ON app.* TO 'us`er'@'%'")
	body := func(event string) string {
		return "DO INSERT INTO app.runs VALUES (UTC_TIMESTAMP(6), @@hostname, '" + event + "')"
	}
	s.node(1).mustSQL("SET sql_mode = 'ANSI_QUOTES', time_zone = '+05:00'; " +
		"CREATE DEFINER = 'us`er'@'%' EVENT app.`it's``on` ON SCHEDULE EVERY 1 SECOND COMMENT 'c' " + body("on"))
	s.node(1).mustSQL("CREATE EVENT app.off ON SCHEDULE EVERY 1 SECOND DISABLE " + body("off"))
	s.sameEvents("it's`on ENABLED; off DISABLED")
	if got := s.node(0).mustSQL("SELECT CONCAT(sql_mode, ' ', time_zone, ' ', definer) FROM mysql.event " +
		"WHERE status = 'ENABLED'"); got != "ANSI_QUOTES +05:00 us`er@%" {
		s.Errorf("the copy is of %s", got)
	}
}

// eventsRun makes a node the primary, and waits until it runs events and no other does.
func (s *scenario) eventsRun(i int) {
	s.Helper()
	s.reportPrimary(s.node(i).name, s.world.nodes...)
	s.eventsMoved(i)
}

// eventsMoved waits until a node runs events. No other node has run one since the first one it ran.
func (s *scenario) eventsMoved(i int) {
	s.Helper()
	n, before := s.node(i), s.node(i).mustSQL("SELECT UTC_TIMESTAMP(6)")
	n.until("running events", 60*time.Second, func(r agentapi.Report) bool { return r.Scheduler == agentapi.TaskOn })
	mine := fmt.Sprintf("node = '%s' AND at > '%s'", n.name, before)
	s.awaitSQL(i, "SELECT COUNT(*) > 2 FROM app.runs WHERE "+mine, "1")
	if got := n.mustSQL(
		"SELECT GROUP_CONCAT(DISTINCT node) FROM app.runs WHERE at >= (SELECT MIN(at) FROM app.runs WHERE " +
			mine + ")"); got != n.name {
		s.Errorf("events have run at the same time on %s", got)
	}
	if got := n.mustSQL("SELECT COUNT(*) FROM app.runs WHERE event <> 'on'"); got != "0" {
		s.Errorf("disabled events have run: %s", got)
	}
	for j, other := range s.world.nodes {
		if r, err := other.report(); err == nil && j != i && r.Scheduler != agentapi.TaskOff {
			s.Errorf("the scheduler of %s is %q", other.name, r.Scheduler)
		}
	}
}

// alterEvents: a statement on a node that runs nothing disables the event on the others, until its status is copied.
func (s *scenario) alterEvents() {
	s.node(2).mustSQL("ALTER DEFINER = 'us`er'@'%' EVENT app.`it's``on` COMMENT 'later'")
	s.sameEvents("it's`on ENABLED; off DISABLED")
	s.eventsMoved(0)
}

// uninformedPrimary: a new primary waits for the one before, which goes on meanwhile.
func (s *scenario) uninformedPrimary() {
	next, before := s.node(1), s.node(2)
	s.reportPrimary(next.name, next)
	next.until("waiting for the primary before", 30*time.Second, func(r agentapi.Report) bool {
		return r.Scheduled != nil && strings.Contains(r.Scheduled.Waiting, before.name+" has not been turned off")
	})
	s.eventsStay(2)
	s.eventsRun(1)
}

// eventsStay waits until a node has run events twice more.
func (s *scenario) eventsStay(i int) {
	s.Helper()
	now := s.node(i).mustSQL("SELECT UTC_TIMESTAMP(6)")
	s.awaitSQL(i, fmt.Sprintf("SELECT COUNT(*) > 2 AND COUNT(DISTINCT node) = 1 FROM app.runs WHERE at > '%s'", now), "1")
}

func (s *scenario) loseCreator() {
	n := s.node(1)
	n.stop(false)
	n.wipe()
	s.reportPrimary(s.node(0).name, s.node(0), s.node(2))
	s.node(0).until("a component of two", 30*time.Second, synced(2))
	s.node(0).until("running events", 60*time.Second,
		func(r agentapi.Report) bool { return r.Scheduler == agentapi.TaskOn })
	n.start()
	n.until("a full copy", 90*time.Second, joined(3))
	s.reportPrimary(s.node(0).name, n)
	s.eventsMoved(0)
	s.sameEvents("it's`on ENABLED; off DISABLED")
}

// passedEvent: an event whose time comes while no node runs events is left out, and reported.
func (s *scenario) passedEvent() {
	s.node(0).mustSQL("CREATE EVENT app.once ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 70 SECOND " +
		"DO INSERT INTO app.runs VALUES (UTC_TIMESTAMP(6), @@hostname, 'once')")
	s.sameEvents("it's`on ENABLED; off DISABLED; once ENABLED")
	s.reportPrimary("shop-9", s.world.nodes...)
	for i, n := range s.world.nodes {
		n.until("running no events", 30*time.Second,
			func(r agentapi.Report) bool { return r.Scheduler == agentapi.TaskOff })
		s.awaitSQL(i, "SELECT execute_at < UTC_TIMESTAMP() FROM mysql.event WHERE name = 'once'", "1")
	}
	s.eventsRun(2)
	s.sameEvents("it's`on ENABLED; off DISABLED; once DISABLED")
	s.node(2).until("reporting the event that has not run", 30*time.Second, func(r agentapi.Report) bool {
		for _, e := range r.Scheduled.Events {
			if e.Name == "app.once" {
				return e.Missed
			}
		}
		return false
	})
	s.node(0).mustSQL("DROP EVENT app.once")
}

func (s *scenario) eventsWithoutQuorum() {
	for _, n := range s.world.nodes[:2] {
		n.stop(false)
	}
	s.node(2).until("running no events without quorum", 60*time.Second, func(r agentapi.Report) bool {
		return r.Server != nil && r.Server.Component == galera.ComponentNonPrimary && r.Scheduler == agentapi.TaskOff
	})
}
