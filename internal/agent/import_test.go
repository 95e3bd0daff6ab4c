//go:build integration

package agent_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestImportedAccounts: a dump of the schema mysql replaces all accounts on one node, and removes them on the others.
// Each agent restores its own account, and members restart, recover and are copied. Passwords are validated by two
// plugins meanwhile.
func TestImportedAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, func(c *agentapi.NodeConfig) {
		c.Settings["plugin_load_add"] = "simple_password_check;password_reuse_check"
	})
	s := &scenario{T: t, world: w}
	for _, step := range []struct {
		name string
		run  func(*scenario)
	}{
		{"agents wait for an order", (*scenario).wait},
		{"initialise, and two join", (*scenario).form},
		{"an account is made from a hash", (*scenario).hashedAccount},
		{"passwords are validated", (*scenario).validatedPasswords},
		{"a dump of the schema mysql is imported", (*scenario).importAccounts},
		{"accounts are gone when a server is killed", (*scenario).killWithoutAccount},
		{"accounts are gone when all are killed", (*scenario).killAllWithoutAccount},
		{"a server refuses the agent's login", (*scenario).refusedLogin},
		{"a new volume is copied", (*scenario).copyAfterImport},
	} {
		if !t.Run(step.name, func(t *testing.T) { s.T, w.t = t, t; step.run(s) }) {
			break
		}
	}
	w.t = t
}

// socket runs statements as the agent logs in.
func (n *node) socket(statements string) (string, error) {
	out, err := exec.Command("docker", "exec", n.container(), "mariadb", "--no-defaults", "--skip-ssl", "--user=mysql",
		"--socket="+agentapi.RunDir+"/mysqld.sock", "--skip-column-names", "-e", statements).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// ownAccount waits until the agent's account logs in and has its row on the node.
func (n *node) ownAccount(limit time.Duration) {
	n.w.t.Helper()
	const rows = "SELECT COUNT(*) FROM mysql.global_priv WHERE (User, Host) = ('mysql', 'localhost')"
	var out string
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if out, err = n.socket(rows); err == nil && out == "1" {
			return
		}
	}
	n.w.t.Fatalf("%s: the agent's account is not there: %s, %v", n.name, out, err)
}

// removeAccount removes the agent's account from one node's table, as an import does. The server's memory keeps it.
func (n *node) removeAccount() {
	n.w.t.Helper()
	n.mustSQL("SET SESSION wsrep_on = OFF; DELETE FROM mysql.global_priv WHERE User = 'mysql'")
}

func (s *scenario) hashedAccount() {
	s.node(0).mustSQL("CREATE USER app@'%' IDENTIFIED VIA mysql_native_password USING '" + agentapi.NativeHash("weak") +
		"'")
	for _, n := range s.world.nodes {
		if got := n.mustSQL(
			"SET SESSION wsrep_sync_wait = 1; SELECT COUNT(*) FROM mysql.global_priv WHERE User = 'app'"); got != "1" {
			s.Errorf("%s: %s accounts", n.name, got)
		}
	}
}

// validatedPasswords shows that what a plugin refuses is refused wherever it is said, and that no node leaves the group
// for it: statements are replicated before they are checked. password_reuse_check writes a row for each password, and
// every node has the same rows.
func (s *scenario) validatedPasswords() {
	const password, alter = "Quite-Str0ng!", "ALTER USER person@'%' IDENTIFIED BY '"
	refused := func(n *node, statement, code string) {
		s.Helper()
		if out, err := n.sql(statement); err == nil || !strings.Contains(err.Error(), code) {
			s.Errorf("%s: %s: %q, %v; want %s", n.name, statement, out, err, code)
		}
	}
	refused(s.node(0), "CREATE USER person@'%' IDENTIFIED BY 'weak'", "1819")
	s.node(0).mustSQL("CREATE USER person@'%' IDENTIFIED BY '" + password + "'")
	s.node(1).mustSQL(alter + "Another-0ne!'")
	refused(s.node(2), alter+password+"'", "1396")
	const rows = "SET SESSION wsrep_sync_wait = 1; " +
		"SELECT GROUP_CONCAT(HEX(hash) ORDER BY hash) FROM mysql.password_reuse_check_history"
	want := s.node(0).mustSQL(rows)
	for _, n := range s.world.nodes {
		if got := n.mustSQL(rows); got != want || got == "" {
			s.Errorf("%s remembers the passwords %s, %s has %s", n.name, got, s.node(0).name, want)
		}
	}
	s.all(time.Minute)
	s.intact()
}

// importAccounts does what a dump of a server whose only account is root does.
func (s *scenario) importAccounts() {
	conn := s.node(0).session()
	do := func(statement string, args ...any) {
		s.Helper()
		_, err := conn.ExecContext(context.Background(), statement, args...)
		check(s.T, err)
	}
	var table, create, root string
	check(s.T, conn.QueryRowContext(context.Background(), "SHOW CREATE TABLE mysql.global_priv").Scan(&table, &create))
	check(s.T, conn.QueryRowContext(context.Background(),
		"SELECT Priv FROM mysql.global_priv WHERE (User, Host) = ('root', '%')").Scan(&root))
	do("USE mysql")
	do("DROP TABLE mysql.global_priv")
	do(create)
	do("INSERT INTO mysql.global_priv (Host, User, Priv) VALUES ('%', 'root', ?)", root)
	do("FLUSH PRIVILEGES")
	for _, n := range s.world.nodes {
		n.ownAccount(time.Minute)
	}
	s.all(time.Minute)
	// The others have no accounts but the agent's own. The operator restores root's; this test does it by hand.
	row := strings.NewReplacer(`\`, `\\`, "'", "''").Replace(root)
	for _, n := range s.world.nodes[1:] {
		if out, err := n.socket(
			"SET SESSION wsrep_on = OFF; INSERT INTO mysql.global_priv (Host, User, Priv) VALUES ('%', 'root', '" + row +
				"'); FLUSH LOCAL PRIVILEGES"); err != nil {
			s.Fatalf("%s: %s: %v", n.name, out, err)
		}
	}
	s.write(1)
	s.intact()
}

func (s *scenario) killWithoutAccount() {
	n := s.node(1)
	before, err := n.report()
	check(s.T, err)
	n.removeAccount()
	n.killServer()
	// A report of before the kill is Synced, too.
	n.until("back after the kill", 2*time.Minute, func(r agentapi.Report) bool {
		return r.Restarts > before.Restarts &&
			synced(3)(r)
	})
	n.ownAccount(time.Minute)
	s.intact()
}

func (s *scenario) killAllWithoutAccount() {
	for _, n := range s.world.nodes {
		n.removeAccount()
	}
	s.killAll()
	for _, n := range s.world.nodes {
		n.ownAccount(time.Minute)
	}
}

// refusedLogin takes the agent's sessions away with its account. The server serves its clients meanwhile, and is not
// killed; the next one restores the account.
func (s *scenario) refusedLogin() {
	n := s.node(1)
	pid := n.serverPID()
	n.mustSQL(
		"SET SESSION wsrep_on = OFF; DELETE FROM mysql.global_priv WHERE User = 'mysql'; FLUSH LOCAL PRIVILEGES; KILL HARD " +
			"USER mysql")
	n.until("refused", time.Minute, func(r agentapi.Report) bool {
		return r.Failure != nil && r.Failure.Reason == agentapi.FailureLogin && strings.Contains(r.Failure.Message,
			"Access denied for user 'mysql'@'localhost'")
	})
	s.write(1)
	if n.serverPID() != pid {
		s.Error("mariadbd was restarted")
	}
	n.killServer()
	n.until("accepted again", 2*time.Minute, func(r agentapi.Report) bool { return r.Failure == nil && synced(3)(r) })
	n.ownAccount(time.Minute)
	s.intact()
}

func (s *scenario) copyAfterImport() {
	n := s.node(1)
	n.stop(false)
	n.wipe()
	n.start()
	n.until("copied", 2*time.Minute, func(r agentapi.Report) bool { return joined(3)(r) && r.Join.Kind == "SST" })
	n.ownAccount(time.Minute)
	s.all(time.Minute)
	s.intact()
}
