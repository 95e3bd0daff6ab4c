//go:build integration

package external

import (
	"errors"
	"strings"
	"testing"
)

// TestStoredColumn: a STORED generated column that the new server computes otherwise than the source has stored is
// named, with what to do, and the copy is not taken. The remedy that it names is enough.
func TestStoredColumn(t *testing.T) {
	for _, series := range []string{"10.11", "11.8"} {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			source, _ := start(t, "galera-mariadb:"+series)
			target, socket := start(t, "galera-mariadb:11.8", "--skip-log-bin")
			run(t, source, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
				"CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY, created TIMESTAMP NULL, "+
					"day DATE AS (DATE(created)) STORED, twice INT AS (id * 2) STORED, KEY (day))",
				"SET time_zone = '+02:00'; INSERT INTO shop.orders (id, created) VALUES (1, '2026-06-01 12:00:00')")
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
			is, err := Inspect(t.Context(), from, Options{}, Wanted{Version: "11.8.3"})
			if err != nil || len(is.Findings) > 0 || len(is.Warnings) != 1 || is.Warnings[0].Name != ComputedColumns ||
				strings.Join(is.Warnings[0].Objects, ", ") != "shop.orders.day" {
				t.Errorf("%+v: %v", is, err)
			}
			if _, err := Copy(t.Context(), from, to, Options{}); err != nil {
				t.Errorf("the same values are refused: %v", err)
			}
			run(t, target, "DROP DATABASE shop")
			run(t, source, "SET time_zone = '+02:00'; INSERT INTO shop.orders (id, created) VALUES (2, '2026-06-01 01:00:00')")
			_, err = Copy(t.Context(), from, to, Options{})
			if !errors.Is(err, ErrDiffers) ||
				!strings.Contains(err.Error(), "generated column shop.orders.day: the new server") {
				t.Errorf("other values are taken: %v", err)
			}
			t.Log(err)
			if day := value(t, target, "SELECT day FROM shop.orders WHERE id = 2"); day != "2026-05-31" {
				t.Errorf("the test shows nothing: %s", day)
			}
			run(t, target, "DROP DATABASE shop")
			run(t, source, "ALTER TABLE shop.orders MODIFY day DATE")
			if _, err := Copy(t.Context(), from, to, Options{}); err != nil {
				t.Error(err)
			}
			if day := value(t, target, "SELECT day FROM shop.orders WHERE id = 2"); day != "2026-06-01" {
				t.Errorf("a plain column does not keep what was stored: %s", day)
			}
		})
	}
}
