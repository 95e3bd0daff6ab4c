//go:build integration

package accounts

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// server is a real mariadbd in a container, whose socket is in a folder of the test.
type server struct {
	id     string
	socket string
	keeper *Keeper
	root   *sql.DB
}

// servers are those of all tests by their image: what a test leaves in one is removed before the next.
var servers = map[string]*server{}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range servers {
		_ = exec.Command("docker", "rm", "-f", "-v", s.id).Run()
		_ = os.RemoveAll(filepath.Dir(s.socket))
	}
	os.Exit(code)
}

// empty is a server of that image as it was installed.
func empty(t *testing.T, image string) *server {
	t.Helper()
	s := servers[image]
	if s == nil {
		s = start(t, image)
		servers[image] = s
	}
	s = &server{id: s.id, socket: s.socket}
	s.root = s.as(t, "root", "")
	s.await(t)
	s.clean(t)
	s.keeper = &Keeper{Logger: slog.New(slog.DiscardHandler), DB: s.root, Status: func(context.Context) (wsrep.Status,
		error) {
		return wsrep.Status{Server: agentapi.Server{Component: galera.ComponentPrimary, Ready: true}}, nil
	}}
	return s
}

func start(t *testing.T, image string) *server {
	t.Helper()
	//nolint:usetesting // the container writes there as another user, and outlives the test
	dir, err := os.MkdirTemp("", "accounts-")
	if err != nil {
		t.Fatal(err)
	}
	script := "mariadb-install-db --no-defaults --skip-test-db --auth-root-authentication-method=normal " +
		"--datadir=/run/d/data --user=root >/dev/null && " +
		"exec mariadbd --no-defaults --user=root --datadir=/run/d/data --socket=/run/d/s --skip-networking " +
		"--innodb-buffer-pool-size=16M --plugin-load-add=auth_ed25519 --loose-plugin-load-add=auth_parsec"
	if strings.HasSuffix(image, ":10.11") {
		script = strings.ReplaceAll(script, " --loose-plugin-load-add=auth_parsec", "")
	}
	out, err := exec.Command("docker", "run", "-d", "--user=0", "--entrypoint=sh", "-v", dir+":/run/d", image, "-c",
		script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return &server{id: strings.TrimSpace(string(out)), socket: filepath.Join(dir, "s")}
}

func (s *server) await(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for s.root.Ping() != nil {
		if time.Now().After(deadline) {
			out, _ := exec.Command("docker", "logs", s.id).CombinedOutput()
			t.Fatalf("it does not start: %s", out)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// clean removes all users, roles and databases but those of an installation.
func (s *server) clean(t *testing.T) {
	t.Helper()
	for _, name := range s.names(t,
		"SELECT Host, User FROM mysql.global_priv WHERE User NOT IN ('root', 'mariadb.sys', 'PUBLIC', '')") {
		if name[0] == "" {
			s.exec(t, "DROP ROLE "+text(name[1]))
		} else {
			s.exec(t, "DROP USER "+account(name[1], name[0]))
		}
	}
	for _, name := range s.names(t,
		"SELECT '', SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN ('mysql', 'sys', "+
			"'information_schema', 'performance_schema')") {
		s.exec(t, "DROP DATABASE "+ident(name[1]))
	}
}

// names are the pairs that a statement selects.
func (s *server) names(t *testing.T, statement string) (pairs [][2]string) {
	t.Helper()
	rows, err := s.root.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var p [2]string
		if err := rows.Scan(&p[0], &p[1]); err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, p)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return pairs
}

// as is a way to the server with an account.
func (s *server) as(t *testing.T, name, password string) *sql.DB {
	t.Helper()
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = name, password, "unix", s.socket
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// login gets in with go-sql-driver, or with MariaDB's own client where that does not know the plugin.
func (s *server) login(t *testing.T, plugin, name, password string) error {
	t.Helper()
	if plugin != "parsec" {
		return s.as(t, name, password).Ping()
	}
	out, err := exec.Command("docker", "exec", "-e", "MYSQL_PWD="+password, s.id, "mariadb", "--no-defaults",
		"--default-character-set=utf8mb4", "--socket=/run/d/s", "--user="+name, "-e", "SELECT 1").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (s *server) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := s.root.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// each runs a test with the present series and with the oldest one.
func each(t *testing.T, do func(t *testing.T, s *server)) {
	for _, series := range []string{"11.8", "10.11"} {
		t.Run(series, func(t *testing.T) { do(t, empty(t, "galera-mariadb:"+series)) })
	}
}

func kept(t *testing.T, plugin, password string) string {
	t.Helper()
	k, err := agentapi.Kept(plugin, password, "salt")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// app is an account with nothing but a password.
func app(t *testing.T, edit func(*agentapi.SQLUser)) agentapi.SQLUser {
	u := agentapi.SQLUser{SQLOwner: agentapi.SQLOwner{Owner: "demo/app"}, Name: "app", Host: "%", Present: true,
		Plugin: "mysql_native_password", Accepts: []string{kept(t, "mysql_native_password", "word")}}
	if edit != nil {
		edit(&u)
	}
	if err := u.Check(); err != nil {
		t.Fatal(err)
	}
	return u
}

func (s *server) keepUser(t *testing.T, u agentapi.SQLUser) agentapi.SQLResult {
	t.Helper()
	return s.keeper.Users(t.Context(), []agentapi.SQLUser{u})[0]
}

// done fails unless all was done, by so many statements; -1 is any number.
func done(t *testing.T, r agentapi.SQLResult, statements int) {
	t.Helper()
	if r.Reason != "" || statements >= 0 && r.Statements != statements {
		t.Fatalf("%+v", r)
	}
}

func grant(database, table string, privileges ...string) agentapi.SQLGrant {
	return agentapi.SQLGrant{Privileges: privileges, Database: database, Table: table}
}

// TestConvergesFromAnyStateToAnyOther: whatever the state before, SHOW GRANTS and mysql.global_priv show the desired
// one, and the same request again needs no statement.
func TestConvergesFromAnyStateToAnyOther(t *testing.T) {
	hostile := "a`b'c\"d\\e%_ü;--"
	each(t, func(t *testing.T, s *server) {
		s.exec(t, "CREATE DATABASE shop", "CREATE DATABASE my_shop", "CREATE DATABASE myXshop",
			"CREATE DATABASE "+ident(hostile), "CREATE TABLE "+ident(hostile)+"."+ident(hostile)+" ("+ident(hostile)+
				" INT, b INT)",
			"CREATE TABLE shop.t (a INT, b INT, c INT)", "CREATE ROLE clerk", "CREATE ROLE "+ident("it's"))
		requests := map[string]func(*agentapi.SQLUser){
			"nothing":    nil,
			"all of one": func(u *agentapi.SQLUser) { u.Grants = []agentapi.SQLGrant{grant("shop", "*", "all")} },
			"some of one": func(u *agentapi.SQLUser) {
				u.Grants = []agentapi.SQLGrant{grant("shop", "*", "select", "INSERT", "Create Temporary Tables")}
			},
			"an underscore": func(u *agentapi.SQLUser) { u.Grants = []agentapi.SQLGrant{grant("my_shop", "*", "SELECT")} },
			"global": func(u *agentapi.SQLUser) {
				u.Grants = []agentapi.SQLGrant{grant("*", "*", "REPLICATION CLIENT", "PROCESS", "DELETE VERSIONING ROWS")}
			},
			"everything": func(u *agentapi.SQLUser) {
				u.Grants = []agentapi.SQLGrant{{Privileges: []string{"ALL PRIVILEGES"}, Database: "*", Table: "*", WithGrant: true}}
			},
			"a table": func(u *agentapi.SQLUser) {
				u.Grants = []agentapi.SQLGrant{grant("shop", "t", "SELECT", "UPDATE"), grant("shop", "*", "INSERT")}
			},
			"all of a table": func(u *agentapi.SQLUser) { u.Grants = []agentapi.SQLGrant{grant("shop", "t", "ALL PRIVILEGES")} },
			"columns": func(u *agentapi.SQLUser) {
				u.Grants = []agentapi.SQLGrant{{Privileges: []string{"SELECT", "UPDATE"}, Database: "shop", Table: "t",
					Columns: []string{"a", "b"}},
					{Privileges: []string{"SELECT"}, Database: "shop", Table: "t", Columns: []string{"c"}, WithGrant: true},
					grant("shop", "t", "INSERT")}
			},
			"hostile": func(u *agentapi.SQLUser) {
				u.Grants = []agentapi.SQLGrant{grant(hostile, "*", "SELECT"), grant(hostile, hostile, "INSERT"),
					{Privileges: []string{"UPDATE"}, Database: hostile, Table: hostile, Columns: []string{hostile}}}
			},
			"give away": func(u *agentapi.SQLUser) {
				u.Grants = []agentapi.SQLGrant{{Privileges: []string{"SELECT"}, Database: "shop", Table: "*", WithGrant: true}}
			},
			"roles":   func(u *agentapi.SQLUser) { u.Roles = []string{"it's", "clerk"} },
			"another": func(u *agentapi.SQLUser) { u.Roles = []string{"clerk"} },
			"limits": func(u *agentapi.SQLUser) {
				u.Limits = agentapi.SQLLimits{QueriesPerHour: 5000, UpdatesPerHour: 4000, ConnectionsPerHour: 300,
					UserConnections: 20, StatementMillis: 1500}
			},
			"TLS": func(u *agentapi.SQLUser) { u.TLS = true },
			"certificate": func(u *agentapi.SQLUser) {
				u.TLS, u.Subject, u.Issuer, u.Accepts = true, "/O=demo/CN=app", "/CN=shop.demo clients CA", []string{""}
			},
			"its issuer": func(u *agentapi.SQLUser) {
				u.TLS, u.Subject, u.Issuer, u.Accepts = true, "/O=demo/CN=app", "/CN=other.demo clients CA", []string{""}
			},
			"ed25519": func(u *agentapi.SQLUser) { u.Plugin, u.Accepts = "ed25519", []string{kept(t, "ed25519", "word")} },
			"two": func(u *agentapi.SQLUser) {
				u.Accepts = append(u.Accepts, kept(t, u.Plugin, "old"))
			},
		}
		for from, before := range requests {
			for to, edit := range requests {
				if from == to {
					continue
				}
				done(t, s.keepUser(t, app(t, before)), -1)
				u := app(t, edit)
				if r := s.keepUser(t, u); r.Reason != "" {
					t.Fatalf("from %s to %s: %+v", from, to, r)
				}
				if r := s.keepUser(t, u); r.Reason != "" || r.Statements != 0 {
					t.Fatalf("from %s to %s, again: %+v", from, to, r)
				}
			}
		}
		done(t, s.keepUser(t, app(t, requests["an underscore"])), -1)
		client := s.as(t, "app", "word")
		if _, err := client.Exec("USE my_shop"); err != nil {
			t.Error(err)
		}
		if _, err := client.Exec("USE myXshop"); err == nil {
			t.Error("an underscore is a wildcard")
		}
	})
}

// TestHostileNames: a name is a name, whatever is in it.
func TestHostileNames(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		for i, name := range []string{"o'neil", `back\slash`, "`; DROP USER root; --", "100%", "käse", "日本語", `"quoted"`,
			"a@b", strings.Repeat("n", 80)} {
			u := app(t, func(u *agentapi.SQLUser) {
				u.Name, u.Owner = name, fmt.Sprintf("demo/u%d", i)
				u.Grants = []agentapi.SQLGrant{grant("*", "*", "PROCESS")}
			})
			done(t, s.keepUser(t, u), -1)
			done(t, s.keepUser(t, u), 0)
			if err := s.as(t, name, "word").Ping(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			u.Present = false
			done(t, s.keepUser(t, u), -1)
			if err := s.as(t, name, "word").Ping(); err == nil {
				t.Errorf("%s is still there", name)
			}
			if len(name) > 64 {
				continue
			}
			d := agentapi.SQLDatabase{SQLOwner: agentapi.SQLOwner{Owner: "demo/d"}, Name: name, Present: true,
				CharacterSet: "latin1"}
			done(t, s.keeper.Database(t.Context(), d), -1)
			done(t, s.keeper.Database(t.Context(), d), 0)
			d.Present = false
			done(t, s.keeper.Database(t.Context(), d), -1)
			if is, err := (session{Conn: conn(t, s)}).schema(t.Context(), name); err != nil || is != nil {
				t.Errorf("%s: %v, %v", name, is, err)
			}
		}
	})
}

func conn(t *testing.T, s *server) *sql.Conn {
	t.Helper()
	c, err := s.root.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
