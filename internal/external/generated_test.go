package external

import (
	"slices"
	"testing"
)

// TestIsStored: what is on the disk is compared, and the period of a system-versioned table is not: it is the moment of
// each server.
func TestIsStored(t *testing.T) {
	for _, c := range []struct {
		extra, expression string
		want              bool
	}{
		{"STORED GENERATED", "`a` + 1", true}, {"STORED GENERATED, INVISIBLE", "`a` + 1", true},
		{"VIRTUAL GENERATED", "`a` + 1", false}, {"", "", false},
		{"STORED GENERATED", "ROW START", false}, {"STORED GENERATED, INVISIBLE", "ROW END", false},
	} {
		if is := isStored(c.extra, c.expression); is != c.want {
			t.Errorf("%+v: %t", c, is)
		}
	}
}

// TestGeneratedColumns: the values of VIRTUAL columns are nowhere, and those of STORED ones are compared, not copied.
func TestGeneratedColumns(t *testing.T) {
	id, virtual, stored := Column{Name: "id"}, Column{Name: "v", Generated: true},
		Column{Name: "s", Generated: true, Stored: true}
	table := Table{Columns: []Column{id, virtual, stored}}
	for name, c := range map[string][2][]Column{"copied": {table.copied(), {id}}, "compared": {table.compared(),
		{id, stored}}, "computed": {table.computed(), {stored}}} {
		if !slices.Equal(c[0], c[1]) {
			t.Errorf("%s: %+v", name, c[0])
		}
	}
}

// TestDependent: STORED columns whose values depend on the time_zone of a session are named.
func TestDependent(t *testing.T) {
	columns := []Column{{Name: "at", Type: "timestamp"}, {Name: "on", Type: "datetime"}, {Name: "n", Type: "int"}}
	stored := func(name string) Column { return Column{Name: name, Generated: true, Stored: true} }
	virtual := Column{Name: "shown", Generated: true}
	columns = append(columns, stored("day"), stored("year"), stored("double"), stored("then"), stored("since"), virtual)
	expressions := []string{"", "", "", "cast(`at` as date)", "year(`on`)", "`n` * 2", "from_unixtime(`n`)",
		"UNIX_TIMESTAMP(`on`)", "cast(`at` as date)"}
	if is := dependent(columns, expressions); !slices.Equal(is, []string{"day", "then", "since"}) {
		t.Errorf("%q", is)
	}
	inv := Inventory{Tables: []Table{{Object: Object{Database: "shop", Name: "orders"}, dependent: []string{"day"}}, {}}}
	found := Warn(Facts{Inventory: inv})
	if len(found) != 1 || found[0].Name != ComputedColumns || found[0].Count != 1 ||
		found[0].Objects[0] != "shop.orders.day" {
		t.Errorf("%+v", found)
	}
}
