package wsrep

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

var account = agentapi.BenchAccount{Suffix: "abcdefghij", Hash: agentapi.NativeHash("word"), Present: true}

// script is a server that answers questions about accounts and databases, and records its statements.
type script struct {
	hash       string
	users      []string
	databases  []string
	statements []string
}

func (s *script) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *script) Driver() driver.Driver                        { return nil }
func (s *script) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (s *script) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (s *script) Close() error                                 { return nil }

func (s *script) ExecContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Result, error) {
	s.statements = append(s.statements, statement)
	return driver.RowsAffected(0), nil
}

func (s *script) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	switch {
	case strings.Contains(query, "schemata"):
		return &answers{s.databases}, nil
	case strings.Contains(query, "authentication_string") && s.hash != "":
		return &answers{[]string{s.hash}}, nil
	case strings.HasPrefix(query, "SELECT User"):
		return &answers{s.users}, nil
	}
	return &answers{}, nil
}

type answers struct{ left []string }

func (a *answers) Columns() []string { return []string{"v"} }
func (a *answers) Close() error      { return nil }
func (a *answers) Next(into []driver.Value) error {
	if len(a.left) == 0 {
		return io.EOF
	}
	into[0], a.left = a.left[0], a.left[1:]
	return nil
}

// TestBenchAccountsAreTheDifferenceOnly: what is there is not made again, and nothing of others is dropped.
func TestBenchAccountsAreTheDifferenceOnly(t *testing.T) {
	other := account
	other.Hash = agentapi.NativeHash("other")
	for name, tc := range map[string]struct {
		server     script
		ask        func(*Conn) (bool, error)
		wantReport []string
	}{
		"made": {script{}, func(c *Conn) (bool, error) { return c.MakeBenchAccount(t.Context(), account) },
			[]string{"CREATE USER", "ALTER USER", "GRANT Select"}},
		"there": {script{hash: account.Hash}, func(c *Conn) (bool, error) { return c.MakeBenchAccount(t.Context(), account) },
			nil},
		"another password": {script{hash: account.Hash},
			func(c *Conn) (bool, error) { return c.MakeBenchAccount(t.Context(), other) },
			[]string{"CREATE USER", "ALTER USER", "GRANT Select"}},
		"dropped": {script{users: []string{"bench_abcdefghij"}, databases: []string{"bench_1x10_abcdefghij",
			"BENCH_1x10_ABCDEFGHIJ", "shop_abcdefghij"}},
			func(c *Conn) (bool, error) { return c.DropBenchAccount(t.Context(), account) },
			[]string{"DROP USER", "DROP DATABASE"}},
		"gone": {script{}, func(c *Conn) (bool, error) { return c.DropBenchAccount(t.Context(), account) },
			nil},
		"only a database left": {script{databases: []string{"bench_1x10_abcdefghij"}},
			func(c *Conn) (bool, error) { return c.DropBenchAccount(t.Context(), account) }, []string{"DROP DATABASE"}},
	} {
		c := &Conn{db: sql.OpenDB(&tc.server)}
		changed, err := tc.ask(c)
		c.Close()
		var reported []string
		for _, statement := range tc.server.statements {
			reported = append(reported, strings.Join(strings.Fields(strings.ReplaceAll(statement, ",", " "))[:2], " "))
			if !strings.Contains(statement, "abcdefghij") || strings.Contains(statement, "shop") {
				t.Errorf("%s: %s", name, statement)
			}
		}
		if err != nil || changed != (tc.wantReport != nil) || !slices.Equal(reported, tc.wantReport) {
			t.Errorf("%s: %v, changed %t, %v", name, reported, changed, err)
		}
	}
}

// TestBenchAccountsOnly: whatever the caller asks for, no other account is touched, and no statement begins in a name.
func TestBenchAccountsOnly(t *testing.T) {
	for name, a := range map[string]agentapi.BenchAccount{
		"root":              {Suffix: "root", Hash: account.Hash, Present: true},
		"no suffix":         {Hash: account.Hash, Present: true},
		"an underscore":     {Suffix: "abcde_ghij", Hash: account.Hash, Present: true},
		"a wildcard":        {Suffix: "abcdefghi%", Hash: account.Hash, Present: true},
		"a statement":       {Suffix: "abcdefghij`@'%'; DROP DATABASE shop; --", Hash: account.Hash, Present: true},
		"a long one":        {Suffix: "abcdefghijabcdefg", Hash: account.Hash, Present: true},
		"no hash":           {Suffix: account.Suffix, Present: true},
		"a password":        {Suffix: account.Suffix, Hash: "word", Present: true},
		"a hash with quote": {Suffix: account.Suffix, Hash: account.Hash[:40] + "'", Present: true},
	} {
		for _, present := range []bool{true, false} {
			if a.Present = present; !present && a.Suffix == account.Suffix {
				continue
			}
			s := &script{users: []string{"x"}, databases: []string{"bench_x"}}
			c := &Conn{db: sql.OpenDB(s)}
			_, makeErr := c.MakeBenchAccount(t.Context(), a)
			_, dropErr := c.DropBenchAccount(t.Context(), a)
			if len(s.statements) > 0 || makeErr == nil && present || dropErr == nil && a.Suffix != account.Suffix {
				t.Errorf("%s: %v, %v, statements %q", name, makeErr, dropErr, s.statements)
			}
			c.Close()
		}
	}
}

// TestBenchAccountInARealServer: what such an account may do, and what not. It needs mariadbd and mariadb-install-db in
// the path.
func TestBenchAccountInARealServer(t *testing.T) {
	root, as := realServer(t)
	if changed, err := root.MakeBenchAccount(t.Context(), account); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if changed, err := root.MakeBenchAccount(t.Context(), account); err != nil || changed {
		t.Fatalf("made again: %t, %v", changed, err)
	}
	for _, statement := range []string{"CREATE DATABASE shop", "CREATE TABLE shop.t (id INT)",
		"CREATE DATABASE bench_1x10_other"} {
		if err := root.exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	client := as("bench_abcdefghij", "word")
	for statement, may := range map[string]bool{
		"CREATE DATABASE bench_2x10_abcdefghij COMMENT 'x'":            true,
		"SET SESSION wsrep_sync_wait = 15":                             true,
		"SHOW GLOBAL STATUS LIKE 'Com_commit'":                         true,
		"SHOW GLOBAL VARIABLES LIKE 'version_ssl_library'":             true,
		"SELECT * FROM shop.t":                                         false,
		"DROP DATABASE shop":                                           false,
		"DROP DATABASE bench_1x10_other":                               false,
		"CREATE DATABASE bench_2x10_x":                                 false,
		"CREATE DATABASE benchX2x10Xabcdefghij":                        false,
		"SELECT * FROM mysql.global_priv":                              false,
		"CREATE USER x":                                                false,
		"SET GLOBAL max_connections = 10":                              false,
		"GRANT SELECT ON `bench\\_%\\_abcdefghij`.* TO root@localhost": false,
	} {
		if _, err := client.ExecContext(t.Context(), statement); (err == nil) != may {
			t.Errorf("%s: %v", statement, err)
		}
	}
	for _, statement := range []string{"CREATE DATABASE bench_1x10_abcdefghij COMMENT 'me'",
		"CREATE TABLE bench_1x10_abcdefghij.t (id INT PRIMARY KEY, k INT)",
		"CREATE INDEX k ON bench_1x10_abcdefghij.t (k)", "INSERT INTO bench_1x10_abcdefghij.t VALUES (1, 2)",
		"CHECKSUM TABLE bench_1x10_abcdefghij.t"} {
		if _, err := client.ExecContext(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	var comment string
	var bytes int64
	if err := client.QueryRow("SELECT schema_comment FROM information_schema.schemata WHERE schema_name = ?",
		"bench_1x10_abcdefghij").Scan(&comment); err != nil || comment != "me" {
		t.Errorf("%q, %v", comment, err)
	}
	if err := client.QueryRow(
		"SELECT CAST(COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH + DATA_FREE), 0) AS SIGNED) FROM information_schema.TABLES "+
			"WHERE TABLE_SCHEMA = ?",
		"bench_1x10_abcdefghij").Scan(&bytes); err != nil || bytes == 0 {
		t.Errorf("%d bytes, %v", bytes, err)
	}
	for _, want := range []bool{true, false} {
		if changed, err := root.DropBenchAccount(t.Context(), account); err != nil || changed != want {
			t.Errorf("dropped: %t, %v", changed, err)
		}
	}
	left, err := root.names(t.Context(),
		"SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT LIKE '%schema' ORDER BY 1")
	if want := []string{"bench_1x10_other", "mysql", "shop", "sys"}; err != nil ||
		!slices.Equal(slices.DeleteFunc(left, func(n string) bool { return n == "test" }), want) {
		t.Errorf("left are %v, %v", left, err)
	}
	if err := as("bench_abcdefghij", "word").PingContext(t.Context()); err == nil {
		t.Error("the account can still log in")
	}
}

// realServer starts a mariadbd, and returns root's way to it and one for any client.
func realServer(t *testing.T) (root *Conn, as func(name, password string) *sql.DB) {
	t.Helper()
	if _, err := exec.LookPath("mariadbd"); err != nil {
		t.Skip("without a mariadbd")
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "s")
	if out, err := exec.Command("mariadb-install-db", "--no-defaults", "--skip-test-db",
		"--auth-root-authentication-method=normal", "--datadir="+data, "--user="+me.Username).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command("mariadbd", "--no-defaults", "--user="+me.Username, "--datadir="+data, "--socket="+socket,
		"--skip-networking", "--innodb-buffer-pool-size=16M")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if root, err = Open(socket, "root"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(root.Close)
	for end := time.Now().Add(30 * time.Second); root.db.Ping() != nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not start")
		}
	}
	return root, func(name, password string) *sql.DB {
		cfg := mysql.NewConfig()
		cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = name, password, "unix", socket
		connector, err := mysql.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
}
