package external

import "testing"

// TestExchanged: a table that is not there any more, or has another time, may be another one. Those that came
// afterwards are none of the copy's.
func TestExchanged(t *testing.T) {
	table := func(name, at string) Table {
		return Table{Object: Object{Database: "shop", Name: name}, changed: at}
	}
	then := Inventory{Tables: []Table{table("live", "1"), table("staging", "2")}}
	for name, c := range map[string]struct {
		now  []Table
		want string
	}{
		"the same":         {now: []Table{table("staging", "2"), table("live", "1"), table("later", "3")}},
		"exchanged":        {now: []Table{table("live", "3"), table("staging", "3")}, want: "shop.live"},
		"and back":         {now: []Table{table("live", "1"), table("staging", "3")}, want: "shop.staging"},
		"dropped":          {now: []Table{table("live", "1")}, want: "shop.staging"},
		"of unknown times": {now: []Table{table("live", ""), table("staging", "2")}, want: "shop.live"},
	} {
		if is := then.exchanged(Inventory{Tables: c.now}.times()); is != c.want {
			t.Errorf("%s: %q, want %q", name, is, c.want)
		}
	}
}

// TestUnsettled: a table that was altered just now can be altered once more without getting another time.
func TestUnsettled(t *testing.T) {
	inv := Inventory{Tables: []Table{{Object: Object{Database: "shop", Name: "live"}}}}
	if name := inv.unsettled(); name != "" {
		t.Error(name)
	}
	inv.Tables = append(inv.Tables, Table{Object: Object{Database: "shop", Name: "new"}, justNow: true})
	if name := inv.unsettled(); name != "shop.new" {
		t.Errorf("%q", name)
	}
}
