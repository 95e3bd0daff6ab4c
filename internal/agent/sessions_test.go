//go:build integration

package agent_test

import (
	"context"
	"database/sql"
	"os/exec"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestSessionsWithoutTLS: those that were opened before TLS was required end between two of their transactions, and
// only then is plaintext reported as refused. Sessions over the socket go on.
func TestSessionsWithoutTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, func(c *agentapi.NodeConfig) {
		c.TLS.Clients = galera.PolicyPreferred
		c.Settings["log_bin"] = "binlog"
	})
	s := &scenario{T: t, world: w}
	s.wait()
	s.formAgain()
	n := w.nodes[0]
	pid := n.serverPID()
	s.observe(agentapi.ChannelClients, agentapi.ObservedMixed)
	idle, busy := n.plainSession(), n.plainSession()
	run := func(statement string) {
		t.Helper()
		_, err := busy.ExecContext(context.Background(), statement)
		check(t, err)
	}
	run("START TRANSACTION")
	run("INSERT INTO app.t (id) VALUES (11)")
	inside := []string{"exec", "-d", "-e", "MYSQL_PWD=" + rootPassword, n.container()}
	w.run(exec.Command("docker", append(inside, "mariadb-binlog", "--no-defaults", "--read-from-remote-server",
		"--stop-never", "--skip-ssl", "--host="+n.ip, "--user=root", "binlog.000001")...))
	w.run(exec.Command("docker", append(inside, "sh", "-c",
		"sleep 1000 | mariadb --no-defaults --socket="+agentapi.RunDir+"/mysqld.sock app")...))
	const replicas = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'"
	const local = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE HOST = 'localhost' AND DB = 'app'"
	n.until("serving a replica, and a client in the container", time.Minute, func(agentapi.Report) bool {
		return n.mustSQL(replicas+"; "+local) == "1\n1"
	})

	w.publishConfig(func(c *agentapi.NodeConfig) { c.TLS.Clients = galera.PolicyRequired })
	oneLeft := func(r agentapi.Report) bool {
		f := r.TLS.Channels[agentapi.ChannelClients]
		if f.PlaintextRefused {
			t.Fatalf("a session in clear goes on: %+v", f)
		}
		return f.Observed == agentapi.ObservedTLS && f.PlaintextSessions == 1
	}
	n.until("waiting for a transaction", time.Minute, oneLeft)
	if err := n.refusesPlaintext(); err != nil {
		t.Error(err)
	}
	if idle.PingContext(context.Background()) == nil {
		t.Error("the session between two transactions goes on in clear")
	}
	if got := n.mustSQL(replicas + "; " + local); got != "0\n1" {
		t.Errorf("replicas, and sessions over the socket: %q", got)
	}

	later := n.session()
	next := built.next(t)
	n.until("waiting for it with another agent", time.Minute, func(r agentapi.Report) bool {
		if r.AgentVersion != "next" {
			_ = n.replace(next) // it may be in the middle of something
		}
		return oneLeft(r) && r.AgentVersion == "next"
	})
	run("INSERT INTO app.t (id) VALUES (12)")
	run("COMMIT")
	n.until("refusing plaintext", time.Minute, func(r agentapi.Report) bool {
		f := r.TLS.Channels[agentapi.ChannelClients]
		return f.PlaintextRefused && f.PlaintextSessions == 0 && f.Problem == ""
	})
	check(t, later.PingContext(context.Background()))
	if busy.PingContext(context.Background()) == nil {
		t.Error("the session goes on in clear after its transaction")
	}
	if got := n.mustSQL("SELECT COUNT(*) FROM app.t; " + local); got != "5\n1" {
		t.Errorf("rows, and sessions over the socket: %q", got)
	}
	if n.serverPID() != pid {
		t.Error("mariadbd was restarted")
	}
}

// plainSession is one connection without TLS.
func (n *node) plainSession() *sql.Conn {
	n.w.t.Helper()
	db := n.database(rootPassword, nil)
	n.w.t.Cleanup(func() { _ = db.Close() })
	return got(db.Conn(context.Background()))(n.w.t)
}
