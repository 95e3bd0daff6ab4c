//go:build integration

package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// channelLiteral is channelPassword in SQL.
var (
	channelLiteral = "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(channelPassword) + "'"
	channelUser    = "CREATE USER channel IDENTIFIED BY " + channelLiteral + "; GRANT REPLICATION SLAVE ON *.* TO channel"
)

// TestSourceMoves: when the source is lost, a cluster goes on with a server that has all of its transactions, by the
// same TLS and credentials, and stays there. A server that lacks some is not followed, and named.
func TestSourceMoves(t *testing.T) {
	t.Parallel()
	s := &following{T: t, world: newWorld(t, 2, nil)}
	w := s.world
	first, replica, other := w.network+"-source", w.network+"-replica", w.network+"-other"
	root := newAuthority(t, "source root", nil)
	s.certificates = filepath.Join(w.dir, "certificates")
	check(t, os.MkdirAll(s.certificates, 0o755))
	certPEM, keyPEM := root.issue(t, "source", first, replica, other)
	for name, data := range map[string][]byte{"tls.crt": certPEM, "tls.key": keyPEM, "ca.crt": root.pem} {
		check(t, os.WriteFile(filepath.Join(s.certificates, name), data, 0o644))
	}
	for _, n := range w.nodes {
		n.mount("source", map[string][]byte{"username": []byte("channel"), "password": []byte(channelPassword)})
		n.mount("source-ca", map[string][]byte{"ca.crt": root.pem})
	}
	const withTLS = "--ssl-cert=/certificates/tls.crt --ssl-key=/certificates/tls.key --ssl-ca=/certificates/ca.crt " +
		"--require-secure-transport=ON "
	s.runServer(first, image, withTLS)
	s.runServer(replica, image, withTLS+"--log-slave-updates --server-id=2")
	s.runServer(other, image, withTLS+"--server-id=3")
	s.source = other
	s.prepare(channelUser + "; CREATE DATABASE unrelated")
	s.source = first
	s.prepare(channelUser + "; CREATE DATABASE shop; " + tables)
	s.source = replica
	s.prepare("CHANGE MASTER TO MASTER_HOST='" + first + "', MASTER_USER='channel', MASTER_PASSWORD=" + channelLiteral +
		", MASTER_USE_GTID=slave_pos, MASTER_SSL=1, MASTER_SSL_CA='/certificates/ca.crt'; START SLAVE")
	s.source = first
	w.publishConfig(func(c *agentapi.NodeConfig) {
		c.Follow = &agentapi.Follow{Host: first, Port: 3306, ServerID: 1 << 20,
			Alternatives: []agentapi.Endpoint{{Host: other, Port: 3306}, {Host: replica, Port: 3306}}}
		c.Settings["sync_binlog"] = "1"
	})
	s.form()
	s.primary(0)
	s.runsOn(0)
	s.stopWriting()
	s.awaitSourceOf(0, first)
	s.mustSource("INSERT INTO shop.t VALUES (-6, 'by a connection that lasts')")
	last := s.mustSource(sourcePosition)
	w.nodes[0].until("receiving by a connection that lasts", time.Minute, func(r agentapi.Report) bool {
		return r.Following != nil && r.Following.Channel != nil && r.Following.Channel.Received == last
	})
	s.source = replica
	s.awaitSource("SELECT @@gtid_slave_pos", last)

	began := time.Now()
	w.run(exec.Command("docker", "kill", first))
	n := w.nodes[0]
	n.until("refusing the server that lacks what was applied", 3*time.Minute, func(r agentapi.Report) bool {
		return r.Following != nil && strings.Contains(r.Following.Waiting, other+":3306: it is not followed")
	})
	if took := time.Since(began); took < lifecycle.SourceTime {
		t.Errorf("the source was given up after %s", took)
	}
	s.awaitSourceOf(0, replica)
	t.Logf("it follows the replica after %s", time.Since(began).Round(time.Second))
	s.mustSource("STOP SLAVE; INSERT INTO shop.t VALUES (-7, 'from the replica')")
	for i := range w.nodes {
		s.await(i, "SELECT COUNT(*) FROM shop.t WHERE id = -7", "1")
		s.await(i, "SELECT COUNT(*) > 0 FROM information_schema.schemata WHERE schema_name = 'unrelated'", "0")
	}

	w.run(exec.Command("docker", "start", first))
	s.primary(1)
	s.awaitSourceOf(1, replica) // at once, and not by way of the first one
	s.mustSource("INSERT INTO shop.t VALUES (-8, 'from the replica')")
	for i, n := range w.nodes {
		s.await(i, "SELECT COUNT(*) FROM shop.t WHERE id = -8", "1")
		if out, err := exec.Command("docker", "logs", n.container()).CombinedOutput(); err != nil ||
			i == 1 && strings.Contains(string(out), "the next one is tried") {
			t.Errorf("%s has looked for another source: %v", n.name, err)
		}
		if r, err := n.report(); err != nil || r.Following.Waiting != "" {
			t.Errorf("%s waits: %+v, %v", n.name, r.Following, err)
		}
	}
}

// awaitSource waits for an answer of the source.
func (s *following) awaitSource(query, want string) {
	s.Helper()
	answer := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if answer = s.mustSource(query); answer == want {
			return
		}
	}
	s.Fatalf("%s: %q, want %q", query, answer, want)
}

// awaitSourceOf waits until a node has a channel with a source.
func (s *following) awaitSourceOf(i int, host string) {
	s.Helper()
	s.world.nodes[i].until("following "+host, 3*time.Minute, func(r agentapi.Report) bool {
		return r.Channel == agentapi.TaskOn && r.ChannelSource == host+":3306" && r.Following != nil &&
			r.Following.Channel != nil && r.Following.Channel.Source == host+":3306" && r.Following.Channel.Connected
	})
}

// toFollow are nodes that are to follow a source, which does not run yet.
func toFollow(t *testing.T, replicas int, series string) *following {
	t.Helper()
	s := &following{T: t, world: newWorld(t, replicas, nil)}
	s.source = s.world.network + "-source"
	for _, n := range s.world.nodes {
		n.image = series
		n.mount("source", map[string][]byte{"username": []byte("channel"), "password": []byte(channelPassword + "\n")})
	}
	s.world.publishConfig(func(c *agentapi.NodeConfig) {
		c.Follow = &agentapi.Follow{Host: s.source, Port: 3306, Plain: true, ServerID: 1 << 20}
		c.Settings["sync_binlog"] = "1"
	})
	return s
}

// runServer runs a plain server with a binary log.
func (s *following) runServer(name, series, options string) {
	s.Helper()
	script := "[ -d /tmp/d ] || mariadb-install-db --no-defaults --skip-test-db " +
		"--auth-root-authentication-method=normal --datadir=/tmp/d >/dev/null && exec mariadbd --no-defaults " +
		"--datadir=/tmp/d --socket=/tmp/s --pid-file=/tmp/pid --log-bin=binlog --binlog-format=ROW --innodb-buffer-pool-size=64M " + options
	args := []string{"run", "-d", "--name", name, "--network", s.world.network, "--user=999", "--entrypoint=sh"}
	if s.certificates != "" {
		args = append(args, "-v", s.certificates+":/certificates:ro")
	}
	s.world.run(exec.Command("docker", append(args, series, "-c", script)...))
	s.T.Cleanup(func() { _ = exec.Command("docker", "rm", "-f", "-v", name).Run() })
}

// sourceMounts are where a node that follows has the credentials and the CA of its source.
func (n *node) sourceMounts() map[string]string {
	switch f := n.w.config.Follow; {
	case f == nil:
		return nil
	case f.Plain:
		return map[string]string{"source": agentapi.SourceDir}
	}
	return map[string]string{"source": agentapi.SourceDir, "source-ca": agentapi.SourceCADir}
}
