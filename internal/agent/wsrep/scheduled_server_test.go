//go:build integration

package wsrep

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

// realServer is a connection to a real mariadbd.
func realServer(t *testing.T, image string) *Conn {
	t.Helper()
	c, _ := startServer(t, image)
	return c
}

// startServer starts a real mariadbd in a container, with its socket in a folder of the test.
func startServer(t *testing.T, image string) (c *Conn, socket string) {
	t.Helper()
	//nolint:usetesting // the container writes there as another user
	dir, err := os.MkdirTemp("", "wsrep-")
	if err != nil {
		t.Fatal(err)
	}
	script := "mariadb-install-db --no-defaults --skip-test-db --auth-root-authentication-method=normal " +
		"--datadir=/run/d/data --user=root >/dev/null && exec mariadbd --no-defaults --user=root --datadir=/run/d/data " +
		"--socket=/run/d/s --skip-networking --innodb-buffer-pool-size=16M"
	out, err := exec.Command("docker", "run", "-d", "--user=0", "--entrypoint=sh", "-v", dir+":/run/d", image, "-c",
		script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	id := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		_ = exec.Command("docker", "rm", "-f", "-v", id).Run()
		_ = os.RemoveAll(dir)
	})
	socket = filepath.Join(dir, "s")
	if c, err = Open(socket, "root"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for deadline := time.Now().Add(3 * time.Minute); c.db.Ping() != nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server does not start")
		}
	}
	return c, socket
}

// through is another way to the same server, with a hook.
func (c *Conn) through(hook func(statement string) error) *Conn {
	return &Conn{db: sql.OpenDB(hooked{c.connector, hook})}
}

func (c *Conn) must(t *testing.T, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := c.db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func scanText(r *sql.Rows) (text string, err error) { return text, r.Scan(&text) }

var serverImages = []string{"galera-mariadb:11.8", "galera-mariadb:10.11"}

// TestSetEvent: what a statement does between the reading of an event and the change of its status here is neither
// undone nor given another definer.
func TestSetEvent(t *testing.T) {
	for _, image := range serverImages {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			c := Scheduler{realServer(t, image)}
			c.must(t, "CREATE DATABASE app", "CREATE USER a@h, b@h", "GRANT ALL ON app.* TO a@h, b@h")
			const create = "CREATE OR REPLACE DEFINER = a@h EVENT app.`e``1` ON SCHEDULE EVERY 1 DAY DISABLE ON SLAVE " +
				"COMMENT 'c' DO SELECT 1"
			for name, tc := range map[string]struct {
				between string
				done    bool
				want    string
			}{
				"nothing":              {"DO 0", true, "ENABLED a@h c"},
				"it is disabled":       {"ALTER DEFINER = a@h EVENT app.`e``1` DISABLE", false, "DISABLED a@h c"},
				"it is another one":    {strings.Replace(create, "a@h", "b@h", 1), false, "SLAVESIDE_DISABLED b@h c"},
				"it is dropped":        {"DROP EVENT app.`e``1`", false, ""},
				"it has a new comment": {"ALTER DEFINER = a@h EVENT app.`e``1` COMMENT 'd'", false, "SLAVESIDE_DISABLED a@h d"},
			} {
				c.must(t, create, "UPDATE mysql.event SET modified = FROM_UNIXTIME(1700000000)")
				rows, err := c.eventRows(t.Context(), c.db, "TRUE")
				if err != nil || len(rows) != 1 {
					t.Fatal(rows, err)
				}
				c.must(t, tc.between)
				done, err := c.setEvent(t.Context(), rows[0], agentapi.EventEnabled)
				if err != nil || done != tc.done {
					t.Errorf("%s: %t, %v", name, done, err)
				}
				if got := c.event(t); got != tc.want {
					t.Errorf("%s: %q, want %q", name, got, tc.want)
				}
			}
		})
	}
}

// event is the only event there is.
func (c Scheduler) event(t *testing.T) string {
	t.Helper()
	out, err := sqlrows.Collect(t.Context(), c.db, scanText,
		"SELECT CONCAT_WS(' ', status, definer, comment) FROM mysql.event")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "; ")
}

// TestSetEventOfAStatementUnderWay: a statement that has begun is let through, and nothing waits for long.
func TestSetEventOfAStatementUnderWay(t *testing.T) {
	c := Scheduler{realServer(t, serverImages[0])}
	c.must(t, "CREATE DATABASE app", "CREATE EVENT app.e ON SCHEDULE EVERY 1 DAY DISABLE ON SLAVE DO SELECT 1")
	rows, err := c.eventRows(t.Context(), c.db, "TRUE")
	if err != nil {
		t.Fatal(err)
	}
	holder, err := c.local(t.Context(), "LOCK TABLES mysql.event READ")
	if err != nil {
		t.Fatal(err)
	}
	other := make(chan error, 1)
	go func() {
		_, err := c.db.ExecContext(context.Background(), "ALTER EVENT app.e COMMENT 'other'")
		other <- err
	}()
	waits := "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table%'"
	for n := 0; n == 0; {
		if err := c.db.QueryRowContext(t.Context(), waits).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	if done, _ := c.setEvent(t.Context(), rows[0], agentapi.EventEnabled); done {
		t.Error("it was changed while another statement was in progress")
	}
	discard(holder)
	if err := <-other; err != nil {
		t.Error(err)
	}
	if got := c.event(t); got != "SLAVESIDE_DISABLED root@localhost other" {
		t.Error(got)
	}
}

// hooked are connections with a hook that is called before each statement, and may refuse it.
type hooked struct {
	driver.Connector
	hook func(statement string) error
}

func (h hooked) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := h.Connector.Connect(ctx)
	return hookedConn{conn, h.hook}, err
}

type hookedConn struct {
	driver.Conn
	hook func(statement string) error
}

func (h hookedConn) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result,
	error) {
	if err := h.hook(statement); err != nil {
		return nil, err
	}
	return h.Conn.(driver.ExecerContext).ExecContext(ctx, statement, args)
}

func (h hookedConn) QueryContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	if err := h.hook(statement); err != nil {
		return nil, err
	}
	return h.Conn.(driver.QueryerContext).QueryContext(ctx, statement, args)
}

// TestSetEventGivenUp: an ALTER EVENT that is given up changes nothing, also when it cannot be killed.
func TestSetEventGivenUp(t *testing.T) {
	plain := Scheduler{realServer(t, serverImages[0])}
	plain.must(t, "CREATE DATABASE app", "CREATE USER a@h, b@h", "GRANT ALL ON app.* TO a@h, b@h")
	for name, given := range map[string]func(statement string, cancel func()) error{
		"KILL fails": func(statement string, _ func()) error {
			if strings.HasPrefix(statement, "KILL") {
				return errors.New("refused")
			}
			return nil
		},
		"the caller gives up": func(statement string, cancel func()) error {
			if strings.Contains(statement, "PROCESSLIST") {
				cancel()
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := Scheduler{plain.through(func(statement string) error { return given(statement, cancel) })}
			defer c.Conn.Close()
			const create = "CREATE OR REPLACE DEFINER = a@h EVENT app.e ON SCHEDULE EVERY 1 DAY DISABLE ON SLAVE DO SELECT 1"
			plain.must(t, create)
			rows, err := plain.eventRows(t.Context(), plain.db, "TRUE")
			if err != nil {
				t.Fatal(err)
			}
			plain.must(t, strings.Replace(create, "a@h", "b@h", 1))
			if done, err := c.setEvent(ctx, rows[0], agentapi.EventEnabled); done || err == nil {
				t.Errorf("done %t, error %v", done, err)
			}
			plain.must(t, "ALTER DEFINER = b@h EVENT app.e COMMENT 'after it'") // it is behind an ALTER EVENT that goes on
			if got := plain.event(t); got != "SLAVESIDE_DISABLED b@h after it" {
				t.Error(got)
			}
		})
	}
}

// TestUnguarded: a statement that has ended though the table was locked is an error, whatever its result.
func TestUnguarded(t *testing.T) {
	for _, ended := range []error{nil, io.EOF} {
		altered := make(chan error, 1)
		altered <- ended
		same, err := Scheduler{}.unchanged(t.Context(), nil, 1, eventRow{}, altered)
		if same || err == nil || strings.Contains(err.Error(), "%!") || !errors.Is(err, cmp.Or(ended, err)) {
			t.Errorf("%t, %v", same, err)
		}
	}
}

// TestManyEvents: a database with many events keeps no other one's from being reported, the latest ones are reported
// always, and all have their turn.
func TestManyEvents(t *testing.T) {
	c := Scheduler{realServer(t, serverImages[0])}
	c.must(t, "CREATE DATABASE a", "CREATE DATABASE z")
	const many = 400
	for i := range many {
		c.must(t, fmt.Sprintf("CREATE EVENT a.e%03d ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1", i))
	}
	c.must(t, "CREATE EVENT z.last ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1",
		"UPDATE mysql.event SET modified = FROM_UNIXTIME(1700000000 + RIGHT(name, 3)) WHERE db = 'a'",
		"UPDATE mysql.event SET modified = FROM_UNIXTIME(1600000000) WHERE db = 'z'")
	seen := map[string]bool{}
	for minute := range 4 { // 401 - 192 take turns of 64
		query := strings.ReplaceAll(eventsQuery, "SYSDATE()", fmt.Sprintf("FROM_UNIXTIME(%d)", 1800000000+60*minute))
		names, err := sqlrows.Collect(t.Context(), c.db, scanText, "SELECT CONCAT(db, '.', name) FROM ("+query+") q")
		if err != nil {
			t.Fatal(err)
		}
		if len(names) > agentapi.MaxEvents || len(names) <= recent {
			t.Errorf("%d events", len(names))
		}
		for _, name := range []string{"z.last", "a.e399", "a.e300"} {
			if !slices.Contains(names, name) {
				t.Errorf("%s is not among those of minute %d", name, minute)
			}
		}
		for _, name := range names {
			seen[name] = true
		}
	}
	if len(seen) != many+1 {
		t.Errorf("%d of %d have had their turn", len(seen), many+1)
	}
	read, err := c.Read(t.Context())
	if err != nil || read.More != many+1-len(read.Events) || read.More == 0 {
		t.Errorf("%d events, %d more, %v", len(read.Events), read.More, err)
	}
	byName := func(x, y agentapi.ScheduledEvent) int { return strings.Compare(x.Name, y.Name) }
	if !slices.IsSortedFunc(read.Events, byName) {
		t.Error("not in the order of their names")
	}
}
