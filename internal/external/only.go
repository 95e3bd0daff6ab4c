package external

import (
	"fmt"
	"regexp"
	"strings"
)

// Only is a copy of tables of one database into one that the target has already, under other names: without what else
// the database has, and without keys that lead to tables which are not copied.
type Only struct {
	// Table is the only one; "" for all.
	Table string
	// As is where the target has the table with an index in Report.Names, and what it calls it.
	As func(i int) Object
}

// only leaves the tables of a selection, without what else their database has.
func (inv Inventory) only(o Only) Inventory {
	out := Inventory{Databases: inv.Databases}
	for _, t := range inv.Tables {
		if o.Table == "" || t.Name == o.Table {
			out.Tables = append(out.Tables, t)
		}
	}
	return out
}

// renamed gives the tables their names in the target, and returns the keys that are left out.
func (inv Inventory) renamed(o Only) (leftOut []string, err error) {
	to := map[string]Object{}
	for i := range inv.Tables {
		t := &inv.Tables[i]
		t.target = o.As(i)
		to[t.quoted()] = t.target
	}
	for i := range inv.Tables {
		t := &inv.Tables[i]
		create, without, err := recreated(*t, func(table Object) (Object, bool) {
			is, copied := to[Table{Object: table}.quoted()]
			return is, copied && o.Table == ""
		})
		if err != nil {
			return nil, err
		}
		t.Create = create
		for _, key := range without {
			leftOut = append(leftOut, "foreign key "+t.Name+"."+key)
		}
	}
	return leftOut, nil
}

const bareQuoted = "`(?:[^`]|``)*`"

var (
	startsKey = regexp.MustCompile(`^\s*(?:CONSTRAINT ` + bareQuoted + ` )?FOREIGN KEY `)
	// foreignKey is how SHOW CREATE TABLE writes one.
	foreignKey = regexp.MustCompile(`(?s)^(\s*CONSTRAINT (` + bareQuoted + `) FOREIGN KEY \(` + bareQuoted +
		`(?:, ?` + bareQuoted + `)*\) REFERENCES )(` + bareQuoted + `)(?:\.(` + bareQuoted + `))?( .*)$`)
)

// recreated is the statement that creates a table in the target: its foreign keys lead to where to has the tables that
// they lead to, and the others are left out. It is pure.
func recreated(t Table, to func(Object) (Object, bool)) (create string, leftOut []string, err error) {
	body, ok := strings.CutPrefix(t.Create, "CREATE TABLE "+ident(t.Name)+" (")
	if !ok {
		return "", nil, fmt.Errorf("%w: the definition of %s", errImplausible, t)
	}
	items, rest, ok := divided(body)
	if !ok {
		return "", nil, fmt.Errorf("%w: the definition of %s has no end", errImplausible, t)
	}
	var kept []string
	for _, item := range items {
		if !startsKey.MatchString(item) {
			kept = append(kept, item)
			continue
		}
		m := foreignKey.FindStringSubmatch(item)
		if m == nil {
			return "", nil, fmt.Errorf("%w: the foreign key %s of %s", errImplausible, strings.TrimSpace(item), t)
		}
		parent := Object{Database: t.Database, Name: unquoted(m[3])}
		if m[4] != "" {
			parent = Object{Database: unquoted(m[3]), Name: unquoted(m[4])}
		}
		if is, copied := to(parent); copied {
			kept = append(kept, m[1]+ident(is.Database)+"."+ident(is.Name)+m[5])
		} else {
			leftOut = append(leftOut, unquoted(m[2]))
		}
	}
	if len(leftOut) > 0 && len(kept) > 0 { // the last item ends with the line
		kept[len(kept)-1] = strings.TrimRight(kept[len(kept)-1], "\n") + "\n"
	}
	return "CREATE TABLE " + ident(t.target.Name) + " (" + strings.Join(kept, ",") + ")" + rest, leftOut, nil
}

// divided divides a definition's list at its commas, up to the parenthesis that ends it; rest is what follows.
func divided(body string) (items []string, rest string, ok bool) {
	depth, from := 1, 0
	for i := 0; i < len(body); i++ {
		switch c := body[i]; c {
		case '`', '\'', '"':
			if i = endOfQuoted(body, i); i < 0 {
				return nil, "", false
			}
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return append(items, body[from:i]), body[i+1:], true
			}
		case ',':
			if depth == 1 {
				items, from = append(items, body[from:i]), i+1
			}
		}
	}
	return nil, "", false
}

// endOfQuoted is where the quotes end that begin at an index, negative if they do not. Two of them stand for one: that
// reads as the end, and another beginning.
func endOfQuoted(s string, from int) int {
	for i := from + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[from] != '`':
			i++
		case s[i] == s[from]:
			return i
		}
	}
	return -1
}

func unquoted(name string) string {
	return strings.ReplaceAll(name[1:len(name)-1], "``", "`")
}
