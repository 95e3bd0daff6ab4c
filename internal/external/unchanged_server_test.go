//go:build integration

package external

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestExchangedTables: tables that get the names of others while they are copied, which no read in a snapshot notices,
// make the copy begin anew. What keeps the tables as they are does not.
func TestExchangedTables(t *testing.T) {
	for _, series := range []string{"10.11", "11.8"} {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			source, _ := start(t, "galera-mariadb:"+series)
			target, socket := start(t, "galera-mariadb:11.8", "--skip-log-bin")
			run(t, source, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
				"CREATE DATABASE shop", "CREATE TABLE shop.live (id INT PRIMARY KEY, v INT)",
				"CREATE TABLE shop.staging LIKE shop.live", "INSERT INTO shop.live VALUES (1, 1)",
				"INSERT INTO shop.staging VALUES (2, 2)", "CREATE DATABASE other",
				"CREATE TABLE other.t (id INT PRIMARY KEY, v INT)", "INSERT INTO other.t VALUES (1, 3)")
			from, err := server(source).Open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = from.Close() }()
			to, err := OpenTarget(socket, "root", "")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = to.Close() }()
			copying := func(meanwhile ...string) error {
				run(t, target, "DROP DATABASE IF EXISTS shop")
				_, err := Copy(t.Context(), from, to, Options{Databases: []string{"shop"},
					Created: func(string) error { // before the first row is read
						run(t, source, meanwhile...)
						return nil
					}})
				return err
			}
			const exchange = "RENAME TABLE shop.live TO shop.t, shop.staging TO shop.live, shop.t TO shop.staging"
			for _, alright := range []string{"DO 1", "INSERT INTO shop.live VALUES (7, 7)", "ANALYZE TABLE shop.live",
				"CREATE TABLE shop.later (id INT PRIMARY KEY)", "FLUSH TABLES", "ALTER TABLE other.t COMMENT 'x'"} {
				if err := copying(alright); err != nil {
					t.Errorf("%s: %v", alright, err)
				}
			}
			for name, altered := range map[string][]string{"exchanged": {exchange}, "and back": {exchange, exchange},
				"a column more": {"ALTER TABLE shop.live ADD COLUMN w INT", "ALTER TABLE shop.staging ADD COLUMN w INT"}} {
				if err := copying(altered...); !errors.Is(err, ErrChanged) {
					t.Errorf("%s: %v", name, err)
				}
			}
			run(t, source, "CREATE TABLE shop.single (id INT PRIMARY KEY, v INT)",
				"CREATE TABLE shop.parts (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN "+
					"(10), PARTITION p1 VALUES LESS THAN MAXVALUE)", "INSERT INTO shop.parts VALUES (3, 3)")
			const partition = "ALTER TABLE shop.parts EXCHANGE PARTITION p0 WITH TABLE shop.single"
			for name, altered := range map[string][]string{"a partition": {partition},
				"a partition, and back": {partition, partition}, "prepared": {"EXECUTE IMMEDIATE '" + partition + "'"}} {
				if err := copying(altered...); !errors.Is(err, ErrChanged) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if err := copying("DO 1"); err != nil {
				t.Errorf("with partitions: %v", err)
			}

			run(t, target, "DROP DATABASE shop")
			c := &copier{Options: Options{Databases: []string{"shop"}, Connections: 2}, source: from, target: to}
			if err := c.findBudget(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer c.snapshot.close()
			if err := c.run(t.Context(), c.createTables, c.copyTables); err != nil {
				t.Fatal(err)
			}
			run(t, source, exchange)
			err = c.run(t.Context(), func(ctx context.Context) error {
				err := c.compareTables(ctx)
				if !errors.Is(err, ErrDiffers) {
					t.Errorf("the exchanged tables are the same: %v", err)
				}
				return err
			})
			if !errors.Is(err, ErrChanged) || errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), "shop.live") {
				t.Errorf("a difference is final, though the tables are others: %v", err)
			}
		})
	}
}
