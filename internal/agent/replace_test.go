//go:build integration

package agent_test

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestReplaced: an agent is replaced by another one, and back, while its mariadbd serves: no server is restarted, no
// write fails, and the new agent does all that the old one did.
func TestReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, func(c *agentapi.NodeConfig) { c.RunEvents = true })
	s := &scenario{T: t, world: w}
	s.wait()
	s.form()
	s.reportPrimary(w.nodes[0].name, w.nodes...)
	w.nodes[0].until("running events", time.Minute,
		func(r agentapi.Report) bool { return r.Scheduler == agentapi.TaskOn })
	const scheduler = "SELECT id FROM information_schema.processlist WHERE user = 'event_scheduler'"
	thread := w.nodes[0].mustSQL(scheduler)
	first, second := built.first(t), built.next(t)
	load := w.load(t, w.nodes[1])
	for _, step := range []struct {
		program *agentapi.Program
		version string
		count   int
	}{{second, "next", 1}, {first, "dev", 2}, {second, "next", 3}} {
		for _, n := range w.nodes {
			n.replaced(step.program, step.version, step.count)
		}
	}
	load.check(t)
	if now := w.nodes[0].mustSQL(scheduler); now != thread || now == "" {
		t.Errorf("the event scheduler was turned off: thread %q, was %q", now, thread)
	}
	n := w.nodes[2]
	pid := n.serverPID()
	check(t, n.replace(built.refuses(t)))
	r := n.until("back", 20*time.Second, func(r agentapi.Report) bool {
		return strings.Contains(r.HandoverProblem,
			"changed its mind")
	})
	if r.AgentDigest != second.Digest || n.serverPID() != pid || !synced(3)(r) {
		t.Errorf("refused: %+v", r)
	}
	n = w.nodes[0]
	garbage := filepath.Join(w.dir, "garbage")
	check(t, os.WriteFile(garbage, []byte("#!/bin/false\n"), 0o700))
	if err := n.replace(got(agentapi.ReadProgram(garbage, "", runtime.GOARCH))(t)); err == nil ||
		!strings.Contains(err.Error(), "cannot take over") {
		t.Errorf("garbage: %v", err)
	}
	wrong := *second
	wrong.Digest = first.Digest
	if err := n.replace(&wrong); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("another digest: %v", err)
	}
	load.end(t)

	// The new agent sees the end of a server that it did not start, and starts the next one.
	before := n.until("synced", time.Minute, synced(3))
	n.killServer()
	n.until("back", time.Minute, func(r agentapi.Report) bool { return r.Restarts == before.Restarts+1 && joined(3)(r) })
	s.intact()
	for _, n := range w.nodes[1:] {
		n.stop(true)
	}
}

func (n *node) replace(p *agentapi.Program) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return n.w.client.Replace(ctx, n.ip, p)
}

// replaced replaces the agent, and checks whether nothing else has changed.
func (n *node) replaced(p *agentapi.Program, version string, count int) {
	n.w.t.Helper()
	before := n.until("synced and proved", time.Minute, func(r agentapi.Report) bool {
		return synced(3)(r) && (r.Join == nil || r.Join.EndedAt != nil) &&
			r.TLS.Channels[agentapi.ChannelReplication].Observed != ""
	})
	pid, began := n.serverPID(), time.Now()
	for { // until it is not in the middle of something
		err := n.replace(p)
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), agentapi.NotNow) || time.Since(began) > time.Minute {
			n.w.t.Fatalf("%s: %v", n.name, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	var after agentapi.Report
	for reported, asked := time.Now(), time.Now(); time.Since(reported) < 2*time.Second || after.AgentDigest != p.Digest; {
		switch {
		case time.Since(reported) > time.Minute:
			n.w.t.Fatalf("%s: not replaced: %+v", n.name, after)
		case after.AgentDigest != p.Digest && time.Since(asked) > 5*time.Second:
			// Its volume was busy at the last moment. The operator asks again, too.
			asked = time.Now()
			if err := n.replace(p); err != nil {
				n.w.t.Logf("%s: asked again: %v", n.name, err)
			}
		}
		r, err := n.report()
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			// the connection of the agent before
			n.w.t.Errorf("%s: turned away: %v", n.name, err)
		}
		if err == nil {
			n.unchanged(before, r)
			after = r
		}
	}
	if after.AgentVersion != version || after.Handovers != count || after.HandoverProblem != "" {
		n.w.t.Errorf("%s: version %s, handovers %d, problem %q", n.name, after.AgentVersion, after.Handovers,
			after.HandoverProblem)
	}
	if name := n.exec("cat", "/proc/1/comm"); name != "agent" {
		n.w.t.Errorf("%s: the process is called %s", n.name, name)
	}
	if now := n.serverPID(); now != pid || after.Restarts != before.Restarts ||
		!after.Server.StartedAt.Equal(before.Server.StartedAt) ||
		after.Config.RestartNeeded || after.Config.Socket != before.Config.Socket ||
		fmt.Sprint(after.TLS.TrustedCAs) != fmt.Sprint(before.TLS.TrustedCAs) ||
		after.Tables != before.Tables || len(after.Server.Members) != 3 || (after.Join == nil) != (before.Join == nil) {
		n.w.t.Errorf("%s: pid %s was %s; %+v was %+v", n.name, now, pid, after.Config, before.Config)
	}
	n.w.t.Logf("%s: replaced in %s", n.name, time.Since(began).Round(time.Millisecond))
}

// unchanged wants a report to equal the one before, except for the agent.
func (n *node) unchanged(before, r agentapi.Report) {
	n.w.t.Helper()
	if !synced(3)(r) || len(r.TLS.Channels) != len(before.TLS.Channels) || r.Draining || r.Boot != before.Boot ||
		r.TLS.Loaded != before.TLS.Loaded ||
		r.Config.RestartNeeded || r.Config.Loaded != before.Config.Loaded ||
		r.Image.ProviderVersion != before.Image.ProviderVersion {
		n.w.t.Errorf("%s: in between: generation %d, restart needed: %v, %d channels", n.name, r.Generation,
			r.Config.RestartNeeded, len(r.TLS.Channels))
	}
	for name, c := range before.TLS.Channels {
		if got := r.TLS.Channels[name]; got.Observed != c.Observed || got.Verified != c.Verified || got.Serial != c.Serial ||
			got.Problem != c.Problem {
			n.w.t.Errorf("%s: %s: %+v, was %+v", n.name, name, got, c)
		}
	}
}

// load is a client that writes row after row.
type load struct {
	db     *sql.DB
	rows   atomic.Int64
	failed atomic.Pointer[error]
	stop   chan struct{}
	done   chan struct{}
}

func (w *testCluster) load(t *testing.T, n *node) *load {
	t.Helper()
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr = "root", rootPassword, "tcp", n.ip+":3306"
	c.TLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the certificate is not what is tested
	l := &load{db: sql.OpenDB(got(mysql.NewConnector(c))(t)), stop: make(chan struct{}), done: make(chan struct{})}
	check(t, exec1(l.db, "CREATE TABLE IF NOT EXISTS app.load_rows (id INT PRIMARY KEY AUTO_INCREMENT)"))
	go func() {
		defer close(l.done)
		for {
			select {
			case <-l.stop:
				return
			default:
			}
			if err := exec1(l.db, "INSERT INTO app.load_rows VALUES ()"); err != nil {
				l.failed.Store(&err)
				return
			}
			l.rows.Add(1)
		}
	}()
	return l
}

func exec1(db *sql.DB, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*answerTime)
	defer cancel()
	_, err := db.ExecContext(ctx, statement)
	return err
}

// check wants more rows, and no failure.
func (l *load) check(t *testing.T) {
	t.Helper()
	before := l.rows.Load()
	for end := time.Now().Add(90 * time.Second); l.rows.Load() == before && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if err := l.failed.Load(); err != nil || l.rows.Load() == before {
		t.Fatalf("after %d rows: %v", before, err)
	}
}

func (l *load) end(t *testing.T) {
	t.Helper()
	l.check(t)
	close(l.stop)
	<-l.done
	t.Logf("%d rows were written meanwhile", l.rows.Load())
	check(t, l.db.Close())
}
