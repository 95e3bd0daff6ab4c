package external

import (
	"slices"
	"strings"
	"testing"
)

// TestRecreated: a table gets its name in the target, keys lead to where the tables are that are copied too, and the
// others are left out, whatever stands in names and texts.
func TestRecreated(t *testing.T) {
	const list = "\n  `id` int(11) NOT NULL COMMENT 'a, b) it''s \\') `x`',\n  `a``b,)` enum('x,y','(') DEFAULT 'x,y'," +
		"\n  PRIMARY KEY (`id`,`a``b,)`),\n  CHECK (`id` > 0 and concat('),',`id`) <> ')')"
	const end = "\n) ENGINE=InnoDB COMMENT='CONSTRAINT `k` FOREIGN KEY (`id`) REFERENCES `p` (`id`)'"
	to := func(o Object) (Object, bool) {
		at, copied := map[string]string{"shop.p": "r_0", "shop.q`": "r_1"}[o.String()]
		return Object{Database: "through", Name: at}, copied
	}
	key := func(name, parent string) string {
		return ",\n  CONSTRAINT `" + name + "` FOREIGN KEY (`id`, `a``b,)`) REFERENCES " + parent +
			" (`id`, `n`) ON DELETE CASCADE"
	}
	for name, c := range map[string]struct{ keys, want, out string }{
		"none":                  {"", "", ""},
		"to a copied table":     {key("k", "`p`"), key("k", "`through`.`r_0`"), ""},
		"by its database":       {key("k", "`shop`.`q```"), key("k", "`through`.`r_1`"), ""},
		"to another database":   {key("k", "`crm`.`p`"), "", "k"},
		"to a table left out":   {key("k``)", "`z`"), "", "k`)"},
		"the last is left out":  {key("k", "`p`") + key("l", "`z`"), key("k", "`through`.`r_0`"), "l"},
		"the first is left out": {key("k", "`z`") + key("l", "`p`"), key("l", "`through`.`r_0`"), "k"},
	} {
		table := Table{Object: Object{Database: "shop", Name: "o`", Create: "CREATE TABLE `o``` (" + list + c.keys + end},
			target: Object{Database: "through", Name: "r_9"}}
		got, out, err := recreated(table, to)
		want := "CREATE TABLE `r_9` (" + list + c.want + end
		if err != nil || got != want || strings.Join(out, " ") != c.out {
			t.Errorf("%s: %v, %v\n%s\n%s", name, err, out, got, want)
		}
	}
	for name, create := range map[string]string{"another table": "CREATE TABLE `x` (" + list + end,
		"no end": "CREATE TABLE `o``` (" + list, "a key of another form": "CREATE TABLE `o``` (" + list +
			",\n  CONSTRAINT `k` FOREIGN KEY (`id`) REFERENCES p (`id`)" + end, "an open quote": "CREATE TABLE `o``` (`a"} {
		table := Table{Object: Object{Database: "shop", Name: "o`", Create: create}}
		if got, _, err := recreated(table, to); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestOnly: nothing but tables is copied, and with one table no key is.
func TestOnly(t *testing.T) {
	inv := Inventory{Databases: []Object{{Database: "shop"}}, Views: []Object{{Name: "v"}}, Hidden: []string{"shop.p"},
		Sequences: []Sequence{{}}, Tables: []Table{table("a", "InnoDB"), table("b", "InnoDB")}}
	inv.Tables[0].Create = "CREATE TABLE `a` (\n  `b` int\n)"
	inv.Tables[1].Create = "CREATE TABLE `b` (\n  `a` int,\n  CONSTRAINT `k` FOREIGN KEY (`a`) REFERENCES `a` (`b`)," +
		"\n  CONSTRAINT `l` FOREIGN KEY (`a`) REFERENCES `b` (`a`)\n)"
	as := func(i int) Object { return Object{Database: "through", Name: string(rune('x' + i))} }
	all := inv.only(Only{As: as})
	if len(all.Tables) != 2 || len(all.Views)+len(all.Hidden)+len(all.Sequences) > 0 || len(all.Databases) != 1 {
		t.Errorf("%+v", all)
	}
	out, err := all.renamed(Only{As: as})
	if err != nil || len(out) > 0 || !strings.Contains(all.Tables[1].Create, "REFERENCES `through`.`x` (") ||
		all.Tables[0].inTarget() != "`through`.`x`" || all.Tables[0].quoted() != "`shop`.`a`" {
		t.Errorf("%v %v %+v", out, err, all.Tables)
	}
	one := inv.only(Only{Table: "b", As: as})
	if out, err = one.renamed(Only{Table: "b", As: as}); err != nil || len(one.Tables) != 1 ||
		!slices.Equal(out, []string{"foreign key b.k", "foreign key b.l"}) ||
		strings.Contains(one.Tables[0].Create, "FOREIGN") {
		t.Errorf("%v %v %+v", out, err, one.Tables)
	}
}
