//go:build integration

package tables

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/external"
)

// TestLivingSource: tables of a server that is in use come under other names, with the keys between them, and that
// server keeps what it has. Each round copies what it holds then.
func TestLivingSource(t *testing.T) {
	t.Parallel()
	source, to := servers(t)
	fill(t, source)
	execute(t, to.DB, "CREATE DATABASE imported")
	s := Selection{Database: "shop", Into: "imported"}
	if done, err := to.Begin(t.Context(), s); done != nil || err != nil {
		t.Fatal(done, err)
	}
	there := rows(t, source, "SHOW FULL TABLES IN shop")
	if _, _, err := to.Copy(t.Context(), source, s, Round("1", 0), external.Options{Connections: 2}); err != nil {
		t.Fatal(err)
	}
	execute(t, source, "INSERT INTO shop.customers (name) VALUES ('Eve')")
	var at external.Progress
	taken, r, err := to.Copy(t.Context(), source, s, Round("1", 1), external.Options{Connections: 2,
		Progress: func(p external.Progress) { at = p }})
	if err != nil || r.Tables != 3 || at.Rows != 12005 || at.Compared != 3 {
		t.Fatalf("%+v %+v %v", r, at, err)
	}
	if got := rows(t, to.DB, "SHOW TABLES IN "+through); !slices.Equal(got,
		[]string{"r1_1_0", "r1_1_1", "r1_1_2", "state"}) {
		t.Fatalf("of the round before there is %v", got)
	}
	left := []string{"view dear", "sequence numbers", "trigger counting", "procedure nothing", "foreign key orders.person"}
	if !slices.Equal(taken.Names, []string{"counted", "customers", "orders"}) || !slices.Equal(taken.LeftOut, left) {
		t.Fatal(taken.Names, taken.LeftOut)
	}
	if err := to.Publish(t.Context(), s, taken, Loaded{Tables: r.Tables, Rows: r.Rows}); err != nil {
		t.Fatal(err)
	}
	foreign(t, to.DB, "imported")
	for _, table := range taken.Names {
		all := "SELECT * FROM %s." + table + " ORDER BY 1"
		want := rows(t, source, strings.Replace(all, "%s", "shop", 1))
		got := rows(t, to.DB, strings.Replace(all, "%s", "imported", 1))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, want %d", table, len(got), len(want))
		}
	}
	if got := rows(t, source, "SHOW FULL TABLES IN shop"); !slices.Equal(got, there) {
		t.Errorf("the source had %v, and has %v", there, got)
	}

	one := Selection{Database: "shop", Table: "orders", Into: "shop", As: "orders"}
	taken, _, err = to.Copy(t.Context(), source, one, Round("2", 0), external.Options{})
	left = []string{"trigger counting", "foreign key orders.orders_ibfk_1", "foreign key orders.person"}
	if err != nil || !slices.Equal(taken.Names, []string{"orders"}) || !slices.Equal(taken.LeftOut, left) {
		t.Fatal(taken, err)
	}
	if err := to.Publish(t.Context(), one, taken, Loaded{}); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, to.DB, "SELECT COUNT(*) FROM shop.orders"); got[0] != "12000" {
		t.Error(got)
	}
	one.Table = "absent"
	if _, _, err := to.Copy(t.Context(), source, one, Round("3", 0), external.Options{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a table that is absent: %v", err)
	}
}
