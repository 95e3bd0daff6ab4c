//go:build integration

package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/external"
)

const through = "galera_operator_restore_1"

// servers returns a source and a target: new servers in containers.
func servers(t *testing.T) (source *sql.DB, target Target) {
	t.Helper()
	from, err := external.OpenSource(start(t), "root", "")
	if err != nil {
		t.Fatal(err)
	}
	to, err := external.OpenTarget(start(t), "root", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = from.Close(), to.Close() })
	for _, db := range []*sql.DB{from, to} {
		for try := 0; db.Ping() != nil; try++ {
			if try == 1800 {
				t.Fatal("a server does not answer")
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	execute(t, to, "CREATE DATABASE "+through, "CREATE DATABASE shop")
	return from, Target{DB: to, Database: through}
}

// start runs a server, and returns its socket.
func start(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tables-") //nolint:usetesting // the container writes there as another user
	if err != nil {
		t.Fatal(err)
	}
	script := "mariadb-install-db --no-defaults --skip-test-db --auth-root-authentication-method=normal " +
		"--datadir=/run/d/data --user=root >/dev/null && exec mariadbd --no-defaults --user=root --datadir=/run/d/data " +
		"--socket=/run/d/s --innodb-buffer-pool-size=32M --innodb-flush-log-at-trx-commit=0"
	out, err := exec.Command("docker", "run", "-d", "--user=0", "--entrypoint=sh", "-v", dir+":/run/d",
		"galera-mariadb:11.8", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		_ = exec.Command("docker", "rm", "-f", "-v", strings.TrimSpace(string(out))).Run()
		_ = os.RemoveAll(dir)
	})
	return filepath.Join(dir, "s")
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, s := range statements {
		if _, err := c.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// rows are those of a query, each as one text.
func rows(t *testing.T, db *sql.DB, query string) (out []string) {
	t.Helper()
	err := external.Each(t.Context(), db, query, nil, func(v []string) error {
		out = append(out, strings.Join(v, "|"))
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

// fill makes a shop with everything that is in the way of a table that is moved.
func fill(t *testing.T, db *sql.DB) {
	t.Helper()
	execute(t, db, "CREATE DATABASE shop", "CREATE DATABASE crm", "USE shop",
		"CREATE TABLE crm.people (id INT PRIMARY KEY)", "INSERT INTO crm.people VALUES (1), (2)",
		"CREATE TABLE customers (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20))",
		"INSERT INTO customers (name) VALUES ('Ann'), ('Bob')",
		`CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, customer INT, person INT, price DECIMAL(10,2), note TEXT,
		twice DECIMAL(11,2) AS (price * 2) STORED, KEY (customer), CHECK (price > 0),
		FOREIGN KEY (customer) REFERENCES customers (id), CONSTRAINT person FOREIGN KEY (person) REFERENCES crm.people (id))`,
		"INSERT INTO orders (customer, person, price, note) SELECT 1 + seq % 2, 1, seq, CONCAT('é', CHAR(10), seq) "+
			"FROM seq_1_to_12000",
		"CREATE TABLE counted (n INT)", // no primary key
		"INSERT INTO counted VALUES (1), (1)",
		"CREATE TRIGGER counting AFTER INSERT ON orders FOR EACH ROW INSERT INTO counted VALUES (NEW.id)",
		"CREATE VIEW dear AS SELECT * FROM orders WHERE price > 100", "CREATE SEQUENCE numbers",
		"CREATE PROCEDURE nothing() SELECT 1")
}

func mustTake(t *testing.T, source *sql.DB, s Selection, round string) Taken {
	t.Helper()
	taken, err := Take(t.Context(), source, s, through, round)
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

// TestTable: a table comes under another name with the rows and the definition that it had, without what belongs to
// others. A load that is begun anew leaves nothing of the one before, and nothing that is there is overwritten.
func TestTable(t *testing.T) {
	t.Parallel()
	source, to := servers(t)
	fill(t, source)
	s := Selection{Database: "shop", Table: "orders", Into: "shop", As: "orders_before"}
	// the living table, whose constraint has the name of the restored one's
	execute(t, to.DB, "USE shop", "CREATE TABLE customers (id INT PRIMARY KEY)",
		"CREATE TABLE orders (id INT PRIMARY KEY, customer INT, "+
			"CONSTRAINT orders_ibfk_1 FOREIGN KEY (customer) REFERENCES customers (id))",
		"INSERT INTO orders VALUES (7, NULL)")
	want := rows(t, source, "SELECT * FROM shop.orders ORDER BY id")

	if done, err := to.Begin(t.Context(), s); done != nil || err != nil {
		t.Fatal(done, err)
	}
	taken := mustTake(t, source, s, Round("1", 0))
	if _, err := to.Load(t.Context(), source, taken, external.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, to.DB, "SHOW TABLES IN shop"); !slices.Equal(got, []string{"customers", "orders"}) {
		t.Fatalf("before it is complete there is %v", got)
	}
	given := taken
	if err := taken.Again(t.Context(), source, through, Round("2", 0)); err != nil {
		t.Fatal(err)
	}
	l, err := to.Load(t.Context(), source, taken, external.Options{})
	if err != nil || l.Tables != 1 || l.Rows != 12000 {
		t.Fatal(l, err)
	}
	if got := rows(t, to.DB, "SHOW TABLES IN "+through); !slices.Equal(got, []string{"r2_0_0", "state"}) {
		t.Fatalf("of the round before there is %v", got)
	}
	if err := to.Publish(t.Context(), s, given, l); !errors.Is(err, errGivenUp) {
		t.Fatalf("a load that was replaced gives names: %v", err)
	}
	execute(t, to.DB, "CREATE TABLE shop.orders_before (own INT)", "INSERT INTO shop.orders_before VALUES (1)")
	if err := to.Free(t.Context(), s, []string{s.As}); !errors.Is(err, ErrExists) {
		t.Fatalf("a name that is taken: %v", err)
	}
	if err := to.Publish(t.Context(), s, taken, l); !errors.Is(err, ErrExists) {
		t.Fatalf("a table is overwritten: %v", err)
	}
	if got := rows(t, to.DB, "SELECT * FROM shop.orders_before"); !slices.Equal(got, []string{"1"}) {
		t.Fatalf("the table that was there has %v", got)
	}
	execute(t, to.DB, "DROP TABLE shop.orders_before")
	// as after a crash between the note and the names
	done, err := to.Begin(t.Context(), s)
	if err != nil || done == nil || done.Rows != 12000 || !slices.Equal(done.LeftOut,
		[]string{"trigger counting", "foreign key orders.orders_ibfk_1", "foreign key orders.person"}) {
		t.Fatal(done, err)
	}
	if got := rows(t, to.DB, "SELECT * FROM shop.orders_before ORDER BY id"); !slices.Equal(got, want) {
		t.Fatalf("%d rows, want %d; %v", len(got), len(want), got[:min(3, len(got))])
	}
	// as after a crash between the names and the answer
	if done, err := to.Begin(t.Context(), s); err != nil || done == nil || done.Rows != 12000 {
		t.Fatal(done, err)
	}
	definition := rows(t, to.DB, "SHOW CREATE TABLE shop.orders_before")[0]
	if strings.Contains(definition, "FOREIGN") || !strings.Contains(definition, "GENERATED") ||
		!strings.Contains(definition, "AUTO_INCREMENT=") {
		t.Error(definition)
	}
	if got := rows(t, to.DB, "SELECT * FROM shop.orders"); !slices.Equal(got, []string{"7|"}) {
		t.Errorf("the living table has %v", got)
	}
}

// TestDatabase: all tables of a database come at once, with the foreign keys between them, also where a server has
// crashed in the middle of the names.
func TestDatabase(t *testing.T) {
	t.Parallel()
	source, to := servers(t)
	fill(t, source)
	execute(t, to.DB, "CREATE DATABASE shop_before")
	s := Selection{Database: "shop", Into: "shop_before"}
	want := rows(t, source, "SELECT * FROM shop.orders ORDER BY id")
	if done, err := to.Begin(t.Context(), s); done != nil || err != nil {
		t.Fatal(done, err)
	}
	if err := to.Free(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	taken := mustTake(t, source, s, Round("1", 0))
	left := []string{"view dear", "sequence numbers", "trigger counting", "foreign key orders.person", "procedure nothing"}
	if !slices.Equal(taken.Names, []string{"counted", "customers", "orders"}) || !slices.Equal(taken.LeftOut, left) {
		t.Fatal(taken.Names, taken.LeftOut)
	}
	l, err := to.Load(t.Context(), source, taken, external.Options{})
	if err != nil || l.Tables != 3 || l.Rows != 12004 {
		t.Fatal(l, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := to.Publish(ctx, s, taken, l); err == nil {
		t.Fatal("a load that was cut off has given names")
	}
	execute(t, to.DB, fmt.Sprintf(`INSERT INTO %s.state VALUES ('r1_0', 'compared',
		'{"tables":3,"rows":12004,"names":["counted","customers","orders"]}')`, through),
		"RENAME TABLE "+through+".r1_0_1 TO shop_before.customers")
	if done, err := to.Begin(t.Context(), s); err != nil || done == nil || done.Tables != 3 {
		t.Fatal(done, err)
	}
	if got := rows(t, to.DB, "SHOW TABLES IN shop_before"); !slices.Equal(got, taken.Names) {
		t.Fatal(got)
	}
	if got := rows(t, to.DB, "SELECT * FROM shop_before.orders ORDER BY id"); !slices.Equal(got, want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	foreign(t, to.DB, "shop_before")
	if _, err := to.DB.Exec("SET foreign_key_checks = 1"); err != nil {
		t.Fatal(err)
	}
	if err := to.Free(t.Context(), s, nil); !errors.Is(err, ErrExists) {
		t.Errorf("a database with tables: %v", err)
	}
	// and by one statement
	s.Into = "shop_again"
	execute(t, to.DB, "DROP DATABASE "+through, "CREATE DATABASE "+through, "CREATE DATABASE shop_again")
	if done, err := to.Begin(t.Context(), s); done != nil || err != nil {
		t.Fatal(done, err)
	}
	if l, err = to.Load(t.Context(), source, taken, external.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := to.Publish(t.Context(), s, taken, l); err != nil {
		t.Fatal(err)
	}
	foreign(t, to.DB, "shop_again")
}

// foreign checks that the foreign key of a database is one to the table of the same database.
func foreign(t *testing.T, db *sql.DB, database string) {
	t.Helper()
	keys := rows(t, db, "SELECT constraint_name, unique_constraint_schema, referenced_table_name FROM "+
		"information_schema.referential_constraints WHERE constraint_schema = '"+database+"'")
	if !slices.Equal(keys, []string{"orders_ibfk_1|" + database + "|customers"}) {
		t.Error(keys)
	}
}

// TestRefusals: what cannot be loaded is refused, with the reason.
func TestRefusals(t *testing.T) {
	t.Parallel()
	source, to := servers(t)
	fill(t, source)
	execute(t, source, "USE shop", "CREATE TABLE old (id INT PRIMARY KEY) ENGINE=Aria",
		"CREATE TABLE kept (id INT PRIMARY KEY) WITH SYSTEM VERSIONING", "CREATE DATABASE nothing")
	for table, want := range map[string]error{"absent": ErrNotFound, "dear": ErrRefused, "numbers": ErrRefused,
		"old": ErrRefused, "kept": ErrRefused, "": ErrRefused} {
		_, err := Take(t.Context(), source, Selection{Database: "shop", Table: table, Into: "shop", As: "x"}, through, "r1_0")
		if !errors.Is(err, want) {
			t.Errorf("%q: %v", table, err)
		}
	}
	for _, database := range []string{"absent", "nothing"} {
		_, err := Take(t.Context(), source, Selection{Database: database, Into: "x"}, through, "r1_0")
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", database, err)
		}
	}
	err := to.Free(t.Context(), Selection{Database: "shop", Table: "orders", Into: "absent", As: "x"}, []string{"x"})
	if !errors.Is(err, ErrNoDatabase) {
		t.Errorf("into a database that is absent: %v", err)
	}
}
