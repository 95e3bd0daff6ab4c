//go:build integration

package agent_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/lease"
)

// TestLeasedNodes: nodes accept writes only while the lease is renewed, without a restart. One whose server cannot be
// made read-only in time, because a client holds a lock, is killed: nothing is acknowledged after the lease has ended.
func TestLeasedNodes(t *testing.T) {
	t.Parallel()
	s := &scenario{T: t, world: newWorld(t, 3, nil)}
	s.wait()
	s.form()
	s.node(0).mustSQL("CREATE DATABASE sites; CREATE TABLE sites.t (id INT PRIMARY KEY); CREATE TABLE sites.u (id INT); " +
		"CREATE OR REPLACE USER app IDENTIFIED BY 'x'; GRANT ALL ON sites.* TO app")
	app := func(i int, statement string) ([]byte, error) {
		return exec.Command("docker", "exec", s.node(i).container(), "mariadb", "--no-defaults",
			"--skip-ssl-verify-server-cert", "--ssl", "--host=127.0.0.1", "--user=app", "--password=x", "-e",
			statement).CombinedOutput()
	}
	refused := func(i int) bool {
		t.Helper()
		out, err := app(i, "REPLACE INTO sites.t VALUES (1)")
		if err != nil && !strings.Contains(string(out), "1290") {
			t.Errorf("%s: %v: %s", s.node(i).name, err, out)
		}
		return err != nil
	}
	var renewing atomic.Bool
	renewing.Store(true)
	for _, n := range s.world.nodes {
		go n.renewLease(t.Context(), pair(t, s.world.leaf), &renewing)
	}
	holds := func(want agentapi.LeaseReport) func(agentapi.Report) bool {
		return func(r agentapi.Report) bool {
			if r.Lease == nil || r.Config.RestartNeeded {
				return false
			}
			have := *r.Lease
			have.Settled = false
			return have == want
		}
	}
	good := agentapi.LeaseReport{Guarded: true, Heard: true}
	for _, n := range s.world.nodes {
		n.until("hearing of renewals", time.Minute, holds(agentapi.LeaseReport{Heard: true}))
	}
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.Lease = true })
	for i, n := range s.world.nodes {
		n.until("leased", time.Minute, holds(good))
		if refused(i) {
			t.Errorf("%s refuses writes with a lease", n.name)
		}
	}
	before := s.node(2).serverPID()
	locked := make(chan error, 1)
	go func() {
		_, err := app(2, "LOCK TABLES sites.u WRITE; INSERT INTO sites.u VALUES (1); SELECT SLEEP(120)")
		locked <- err
	}()
	s.awaitSQL(2, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'", "1")

	// written is the time at which the server has acknowledged a write, by its own clock: docker may take seconds.
	written := func() (at time.Time, ok bool) {
		t.Helper()
		out, err := app(0, "REPLACE INTO sites.t VALUES (1); SELECT UNIX_TIMESTAMP(SYSDATE(6))")
		if err != nil {
			return at, false
		}
		lines := strings.Fields(string(out))
		seconds, err := strconv.ParseFloat(lines[len(lines)-1], 64)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		return time.UnixMicro(int64(seconds * 1e6)), true
	}

	renewing.Store(false)
	ended := time.Now()
	var last time.Time
	for time.Since(ended) < lease.Valid+5*time.Second {
		at, ok := written()
		if !ok {
			break
		}
		last = at
	}
	t.Logf("the last write was acknowledged %s after the renewals have ended", last.Sub(ended).Round(time.Millisecond))
	if last.Sub(ended) >= lease.Valid || !refused(0) {
		t.Errorf("a write was acknowledged %s after the renewals have ended", last.Sub(ended))
	}
	s.node(1).until("refusing writes", time.Minute, func(r agentapi.Report) bool { return r.Lease.Ended })
	if !refused(1) {
		t.Error("another node accepts writes")
	}
	if err := <-locked; err == nil || time.Since(ended) > 2*lease.Valid {
		t.Errorf("the client that holds a lock goes on: %v, after %s", err, time.Since(ended))
	}
	s.node(2).until("started again", time.Minute, synced(3))
	if !refused(2) || s.node(2).serverPID() == before {
		t.Error("the killed server accepts writes, or was not killed")
	}

	renewing.Store(true)
	for i, n := range s.world.nodes {
		n.until("leased again", time.Minute, holds(good))
		s.awaitSQL(i, "SELECT @@read_only", "0")
		if refused(i) {
			t.Errorf("%s refuses writes with a lease", n.name)
		}
	}
	renewing.Store(false)
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.Lease = false })
	s.node(0).until("without a lease", time.Minute, func(r agentapi.Report) bool {
		return r.Lease == nil || !r.Lease.Guarded
	})
	s.node(0).until("without a renewal", time.Minute, func(r agentapi.Report) bool { return r.Lease == nil })
	if refused(0) {
		t.Error("it refuses writes though it needs no lease")
	}
	s.intact()
}

// renewLease answers the node's agent with a renewal of this moment, again and again, as the program of the lease does.
func (n *node) renewLease(ctx context.Context, own tls.Certificate, on *atomic.Bool) {
	client := &http.Client{Timeout: answerTime, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{own}, InsecureSkipVerify: true}}}
	post := func(r agentapi.LeaseAnswer) (q agentapi.LeaseQuestion) {
		body, _ := json.Marshal(r)
		resp, err := client.Post("https://"+net.JoinHostPort(n.ip, fmt.Sprint(agentapi.PeerPort))+agentapi.PathLease,
			"application/json", bytes.NewReader(body))
		if err == nil {
			_ = json.NewDecoder(resp.Body).Decode(&q)
			_ = resp.Body.Close()
		}
		return q
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if on.Load() {
			if q := post(agentapi.LeaseAnswer{}); q.Token != "" {
				post(agentapi.LeaseAnswer(q))
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
