package external

import (
	"slices"
	"testing"
)

// TestRenamed: a column of 10.5 has the collation that its copy has.
func TestRenamed(t *testing.T) {
	for is, want := range map[string]string{"utf8_general_ci": "utf8mb3_general_ci", "utf8_bin": "utf8mb3_bin",
		"utf8mb3_bin": "utf8mb3_bin", "utf8mb4_bin": "utf8mb4_bin", "": ""} {
		if got := renamed(is); got != want {
			t.Errorf("%q is called %q, not %q", is, got, want)
		}
	}
}

// TestAlike: the rows of each table are compared that has the same columns, whatever is found of others.
func TestAlike(t *testing.T) {
	table := func(name string, columns ...Column) Table {
		return Table{Object: Object{Database: "shop", Name: name}, Engine: "InnoDB", Columns: columns}
	}
	id, v := Column{Name: "id", Type: "int"}, Column{Name: "v", Type: "int"}
	source := Inventory{Tables: []Table{table("a", id), table("b", id, v), table("c", id), table("d", id)}}
	node := Inventory{Tables: []Table{table("a", id), table("b", v, id), table("d", id), table("own", id)}}
	var names []string
	for _, t := range node.alike(source.Tables) {
		names = append(names, t.Name)
	}
	if !slices.Equal(names, []string{"a", "d"}) {
		t.Errorf("%q", names)
	}
	if found := source.differs(node); len(found) != 3 {
		t.Errorf("%q", found)
	}
}
