//go:build integration

package agent_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	channelPassword = "it's \\ a secret"
	sourcePosition  = "SELECT @@gtid_binlog_pos"
	sourceRows      = "SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT(id, v))), ' ', (SELECT n FROM shop.counter)) FROM " +
		"shop.t"
)

// TestFollowing: a cluster applies what another server writes, on one node at a time and each transaction once, and
// accepts no write of a client until the last transaction is applied.
func TestFollowing(t *testing.T) {
	for name, series := range map[string]string{"11.8": image, "10.11": oldImage} {
		t.Run(name, func(t *testing.T) {
			slow := os.Getenv("GALERA_SLOW") != ""
			if series == oldImage && !slow {
				t.Skip("GALERA_SLOW is not set")
			}
			t.Parallel()
			s := newFollowing(t, 3, series)
			w := s.world
			for _, step := range []struct {
				name string
				slow bool
				run  func()
			}{
				{"a copy of the source forms a cluster", false, s.form},
				{"the channel runs on one node", false, func() { s.runsOn(0) }},
				{"no node accepts writes", false, s.refused},
				{"the primary moves", false, func() { began := time.Now(); s.primary(1); s.moved(1, began) }},
				{"the node with the channel is killed", false, s.killed},
				{"it comes back", true, s.comesBack},
				{"a node gets a full copy, and runs the channel", true, s.fullCopy},
				{"the node with the channel loses quorum", true, s.withoutQuorum},
				{"all are killed", true, s.allKilled},
				{"a node is made writable by hand", false, s.openedByHand},
				{"the channel is held for a comparison", false, s.held},
				{"the cluster stops following", false, s.ends},
				{"a node is restarted afterwards", false, s.restarted},
			} {
				if step.slow && !slow {
					continue
				}
				if !t.Run(step.name, func(t *testing.T) { s.T, w.t = t, t; step.run() }) {
					break
				}
			}
			s.T, w.t = t, t
			s.stopWriting()
		})
	}
}

type following struct {
	*testing.T
	world  *testCluster
	source string
	uuid   string
	epoch  int64
	// certificates is where those of the source are, "" for none.
	certificates string

	stop   chan struct{}
	writer sync.WaitGroup
	failed error
}

// newFollowing are nodes that follow a source, neither started nor copied.
func newFollowing(t *testing.T, replicas int, series string) *following {
	t.Helper()
	s := toFollow(t, replicas, series)
	s.startSource(series)
	return s
}

// startSource runs a server with the defaults of a source: domain 0, server_id 1. A writer goes on writing there.
func (s *following) startSource(series string) {
	s.Helper()
	s.runServer(s.source, series, "")
	s.prepare(channelUser + "; CREATE DATABASE shop; " + tables)
}

// prepare runs statements on the source as soon as it can be connected to.
func (s *following) prepare(statements string) {
	s.Helper()
	var err error
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if _, err = s.onSource(statements); err == nil || !strings.Contains(err.Error(), "connect") {
			break
		}
	}
	check(s.T, err)
}

const tables = "CREATE TABLE shop.t (id INT PRIMARY KEY, v CHAR(40)) CHARSET = latin1; CREATE TABLE shop.counter " +
	"(id INT PRIMARY KEY, n INT); INSERT INTO shop.counter VALUES (1, 0)"

func (s *following) onSource(statements string) (string, error) {
	out, err := exec.Command("docker", "exec", s.source, "mariadb", "-NBuroot", "--socket=/tmp/s", "-e",
		statements).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

func (s *following) mustSource(statements string) string {
	s.Helper()
	return got(s.onSource(statements))(s.T)
}

// write inserts rows, and counts them in the same transaction, until it is stopped.
func (s *following) write() {
	s.stop = make(chan struct{})
	s.writer.Go(func() {
		for i := 1; ; i += 10 {
			select {
			case <-s.stop:
				return
			default:
			}
			var statements strings.Builder
			for j := i; j < i+10; j++ {
				fmt.Fprintf(&statements, "BEGIN; INSERT INTO shop.t VALUES (%d, SHA1(%d)); UPDATE shop.counter SET n = n + 1; "+
					"COMMIT; ",
					j, j)
			}
			if _, err := s.onSource(statements.String()); err != nil {
				s.failed = err
				return
			}
		}
	})
}

func (s *following) stopWriting() {
	if s.stop != nil {
		close(s.stop)
		s.writer.Wait()
		s.stop = nil
		check(s.T, s.failed)
	}
}

// form: the other nodes start after the position is set. SET GLOBAL gtid_slave_pos keeps what SHOW STATUS needs while
// it waits for the end of a backup, and a donor's backup asks for SHOW STATUS: neither ends, and connections pile up.
func (s *following) form() {
	w := s.world
	first := w.nodes[0]
	first.start()
	first.until("waiting", 90*time.Second, waiting)
	o, _ := first.send(agentapi.OrderInitialise, 1, galera.Position{}, "")
	r := first.until("initialised", 90*time.Second, done(o.ID))
	s.uuid, s.epoch = r.Server.ClusterUUID, 1
	first.until("not running a channel without a position", 90*time.Second, func(r agentapi.Report) bool {
		return r.Following != nil && strings.Contains(r.Following.Waiting, "has no position")
	})
	s.socket(0, "CREATE DATABASE shop; "+tables+"; CREATE USER app IDENTIFIED BY 'x'; GRANT ALL ON shop.* TO app; "+
		"SET GLOBAL gtid_slave_pos = '"+s.mustSource(sourcePosition)+"'")
	s.write()
	for _, n := range w.nodes[1:] {
		n.start()
	}
	for _, n := range w.nodes {
		n.until("Synced", 2*time.Minute, synced(len(w.nodes)))
	}
}

func (s *following) socket(i int, statements string) string {
	s.Helper()
	out, err := s.world.nodes[i].socket(statements)
	if err != nil {
		s.Fatalf("%s: %s: %v: %s", s.world.nodes[i].name, statements, err, out)
	}
	return out
}

// primary reports a primary to all nodes that run.
func (s *following) primary(i int) {
	s.Helper()
	for _, n := range s.world.nodes {
		if _, err := n.report(); err == nil {
			check(s.T, s.world.client.ReportPrimary(s.Context(), n.ip, agentapi.Primary{Name: s.world.nodes[i].name}))
		}
	}
}

// runsOn waits until a node runs the channel, and all that the source has now is applied on all nodes. No other node
// runs it meanwhile.
func (s *following) runsOn(i int) {
	s.Helper()
	w := s.world
	w.nodes[i].until("running the channel", 90*time.Second, func(r agentapi.Report) bool {
		return r.Channel == agentapi.TaskOn && r.Following != nil && r.Following.Channel != nil &&
			r.Following.Channel.Applying
	})
	rows := s.mustSource("SELECT COUNT(*) FROM shop.t")
	for j, n := range w.nodes {
		r, err := n.report()
		if err != nil {
			continue
		}
		if j != i && r.Channel != agentapi.TaskOff {
			s.Errorf("the channel of %s is %q, and that of %s runs", n.name, r.Channel, w.nodes[i].name)
		}
		s.await(j, "SELECT COUNT(*) >= "+rows+" AND (SELECT n FROM shop.counter) >= "+rows+" FROM shop.t", "1")
	}
}

func (s *following) await(i int, query, want string) {
	s.Helper()
	got, err := "", error(nil)
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if got, err = s.world.nodes[i].socket(query); err == nil && got == want {
			return
		}
	}
	s.Fatalf("%s: %s: %q (%v), want %q", s.world.nodes[i].name, query, got, err, want)
}

// refused: an application writes on no node.
func (s *following) refused() {
	for i := range s.world.nodes {
		if out, err := s.app(i); err == nil || !strings.Contains(out, "1290") {
			s.Errorf("a client on %s: %v: %s", s.world.nodes[i].name, err, out)
		}
	}
}

func (s *following) app(i int) (string, error) {
	out, err := exec.Command("docker", "exec", s.world.nodes[i].container(), "mariadb", "--no-defaults",
		"--skip-ssl-verify-server-cert",
		"--ssl", "--host=127.0.0.1", "--user=app", "--password=x", "-e",
		"REPLACE INTO shop.t VALUES (-1, 'app')").CombinedOutput()
	return string(out), err
}

// moved waits until the channel has moved to a node, and logs how long that took.
func (s *following) moved(to int, since time.Time) {
	s.Helper()
	s.world.nodes[to].until("running the channel", 90*time.Second,
		func(r agentapi.Report) bool { return r.Channel == agentapi.TaskOn })
	s.Logf("the channel has moved after %s", time.Since(since).Round(10*time.Millisecond))
	s.runsOn(to)
}

func (s *following) killed() {
	w := s.world
	w.nodes[1].stop(false)
	s.moved(0, time.Now())
	w.nodes[1].start()
	w.nodes[1].until("Synced", 2*time.Minute, synced(3))
	if out, err := s.app(1); err == nil || !strings.Contains(out, "1290") {
		s.Errorf("a client on the node that came back: %v: %s", err, out)
	}
}

// comesBack: the node that received an IST goes on where the others are.
func (s *following) comesBack() {
	s.primary(1)
	s.runsOn(1)
}

func (s *following) fullCopy() {
	n := s.world.nodes[2]
	n.stop(false)
	n.wipe()
	n.start()
	n.until("Synced", 3*time.Minute, synced(3))
	s.primary(2)
	s.runsOn(2)
}

func (s *following) withoutQuorum() {
	for _, n := range s.world.nodes[:2] {
		n.stop(false)
	}
	s.world.nodes[2].until("stopping the channel", 90*time.Second, func(r agentapi.Report) bool {
		return r.Server != nil && r.Server.Component == galera.ComponentNonPrimary && r.Channel == agentapi.TaskOff
	})
}

func (s *following) allKilled() {
	w := s.world
	w.nodes[2].stop(false)
	best := 0
	for _, n := range w.nodes {
		n.start()
	}
	positions := make([]galera.Position, 3)
	for i, n := range w.nodes {
		r := n.until("examined", 90*time.Second, func(r agentapi.Report) bool { return waiting(r) && r.Position.Known() })
		if positions[i] = r.Position; r.Position.Seqno > positions[best].Seqno {
			best = i
		}
	}
	s.epoch++
	o, _ := w.nodes[best].send(agentapi.OrderBootstrap, s.epoch, positions[best], s.uuid)
	w.nodes[best].until("bootstrapped", 2*time.Minute, done(o.ID))
	for _, n := range w.nodes {
		n.until("Synced", 3*time.Minute, synced(3))
	}
	s.refused()
	s.primary(0)
	s.runsOn(0)
}

// openedByHand: a node that was made writable refuses writes again.
func (s *following) openedByHand() {
	s.socket(2, "SET GLOBAL read_only = OFF")
	s.await(2, "SELECT @@read_only", "1")
}

func (s *following) ends() {
	w := s.world
	s.mustSource("SET GLOBAL read_only = 1")
	s.stopWriting()
	var last int
	if _, err := fmt.Sscanf(s.mustSource(sourcePosition), "0-1-%d", &last); err != nil {
		s.Fatal(err)
	}
	w.publishConfig(func(c *agentapi.NodeConfig) { c.Follow.Until = fmt.Sprintf("0-1-%d", last+5) })
	for _, n := range w.nodes {
		n.until("taking over the configuration", 90*time.Second, func(r agentapi.Report) bool {
			return r.Config.Loaded == w.config.Revision && r.Following != nil && !r.Following.Reached && r.ChannelFenced
		})
	}
	s.refused()
	began, rows := time.Now(), ""
	for i := range 10 { // the source goes on after the last position: nothing of that is applied
		s.mustSource(fmt.Sprintf("INSERT INTO shop.t VALUES (%d, 'last')", -10-i))
		if i == 4 {
			rows = s.mustSource(sourceRows)
		}
	}
	for i, n := range w.nodes {
		r := n.until("accepting writes", 90*time.Second, func(r agentapi.Report) bool {
			return r.Following != nil && r.Following.Reached && !r.Following.ReadOnly && r.Following.Channel == nil &&
				r.Channel == agentapi.TaskOff
		})
		if r.Config.RestartNeeded {
			s.Errorf("%s is to be restarted", n.name)
		}
		if got := s.socket(i, sourceRows); got != rows {
			s.Errorf("%s has %s, and the source %s", n.name, got, rows)
		}
		if got := s.socket(i, "SELECT @@wsrep_mode"); got != "" {
			s.Errorf("%s accepts writes with wsrep_mode=%s", n.name, got)
		}
	}
	s.Logf("all nodes accept writes after %s", time.Since(began).Round(100*time.Millisecond))
	for i, n := range w.nodes {
		if out, err := s.app(i); err != nil {
			s.Errorf("a client on %s: %v: %s", n.name, err, out)
		}
		if out, err := exec.Command("grep", "-rlF", channelPassword, filepath.Join(n.base,
			"volume")).CombinedOutput(); err == nil {
			s.Errorf("the password of the source is on the volume of %s: %s", n.name, out)
		}
	}
}

// restarted: a node that starts later accepts writes again, and runs no channel.
func (s *following) restarted() {
	n := s.world.nodes[1]
	n.stop(true)
	n.start()
	n.until("accepting writes", 2*time.Minute, func(r agentapi.Report) bool {
		return synced(3)(r) && r.Following != nil && r.Following.Reached && !r.Following.ReadOnly
	})
	if out, err := s.app(1); err != nil {
		s.Errorf("a client: %v: %s", err, out)
	}
}
