package external

import (
	"testing"
)

// TestMark: a target is taken over only with the tables that the source has now. Rows, and what is created after them,
// make no difference.
func TestMark(t *testing.T) {
	of := func(change func(*Inventory)) string {
		inv := Inventory{Databases: []Object{{Database: "shop", Create: "CREATE DATABASE shop"}},
			Tables: []Table{{Object: Object{Database: "shop", Name: "t", Create: "CREATE TABLE `t` (\n  `id` int(11)\n" +
				") ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=latin1"}, Rows: 6}}}
		change(&inv)
		return inv.mark()
	}
	was := of(func(*Inventory) {})
	for name, c := range map[string]struct {
		change func(*Inventory)
		same   bool
	}{
		"nothing": {func(*Inventory) {}, true},
		"more rows": {func(i *Inventory) {
			i.Tables[0].Create = "CREATE TABLE `t` (\n  `id` int(11)\n) ENGINE=InnoDB AUTO_INCREMENT=9 DEFAULT CHARSET=latin1"
			i.Tables[0].Rows = 8
		}, true},
		"a view":  {func(i *Inventory) { i.Views = []Object{{Database: "shop", Name: "v", Create: "CREATE VIEW"}} }, true},
		"a table": {func(i *Inventory) { i.Tables = append(i.Tables, i.Tables[0]) }, false},
		"a column": {func(i *Inventory) {
			i.Tables[0].Create = "CREATE TABLE `t` (\n  `id` bigint(20)\n) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=latin1"
		}, false},
		"no table":   {func(i *Inventory) { i.Tables = nil }, false},
		"a database": {func(i *Inventory) { i.Databases[0].Create += " CHARACTER SET latin1" }, false},
	} {
		if got := of(c.change) == was; got != c.same {
			t.Errorf("%s: the same: %v", name, got)
		}
	}
}

// TestCounted: the counter is that of the table, whatever a comment quotes.
func TestCounted(t *testing.T) {
	for create, want := range map[string]string{
		"CREATE TABLE `t` (\n  `id` int(11) COMMENT ' AUTO_INCREMENT=3'\n) ENGINE=InnoDB AUTO_INCREMENT=7 COMMENT='x'":              "7",
		"CREATE TABLE `t` (\n  `id` int(11) COMMENT ') ENGINE=InnoDB AUTO_INCREMENT=3'\n) ENGINE=InnoDB COMMENT='AUTO_INCREMENT=4'": "",
	} {
		got := ""
		if found := counted.FindStringSubmatch(create); found != nil {
			got = found[1]
		}
		if got != want {
			t.Errorf("%s: %q", create, got)
		}
	}
}
