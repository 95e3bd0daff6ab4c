package tables

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/external"
)

var errAway = errors.New("away")

func refusedWith(number uint16) error { return &mysql.MySQLError{Number: number, Message: "refused"} }

// TestChoose: tables of InnoDB are loaded. Of a database, views and sequences are left out; what is named has to be
// one.
func TestChoose(t *testing.T) {
	of, all := Selection{Database: "shop", Table: "orders"}, Selection{Database: "shop"}
	list := func(rows ...[]any) []reply { // either is asked for what it is
		return []reply{{to: "schema_name = 'shop'", rows: [][]any{{1}}}, {to: "table_schema = 'shop' ORDER", rows: rows},
			{to: "table_schema = 'shop' AND table_name = 'orders' ORDER", rows: rows}}
	}
	table, view := []any{"orders", "BASE TABLE", "InnoDB"}, []any{"all", "VIEW", ""}
	lower := []any{"customers", "base table", "innodb"}
	sequence := []any{"numbers", "SEQUENCE", "InnoDB"}
	for name, c := range map[string]struct {
		of      Selection
		answers []reply
		names   []string
		leftOut []string
		err     error
		says    string
	}{
		"a database": {all, list(view, lower, sequence, table)[:2], []string{"customers", "orders"},
			[]string{"view all", "sequence numbers"}, nil, ""},
		"a table": {of, slices.Delete(list(table), 1, 2), []string{"orders"}, nil, nil, ""},
		"no database": {of, []reply{{to: "schemata", rows: [][]any{{0}}}}, nil, nil, ErrNotFound,
			"the database shop"},
		"no table":        {of, list(), nil, nil, ErrNotFound, ": shop.orders"},
		"no tables":       {all, list(view), nil, []string{"view all"}, ErrNotFound, "the database shop has no tables"},
		"a view is named": {of, list(view), nil, nil, ErrRefused, "is a view"},
		"a sequence":      {of, list(sequence), nil, nil, ErrRefused, "is a sequence"},
		"of another engine": {all, list(table, []any{"old", "BASE TABLE", "Aria"}), []string{"orders"}, nil, ErrRefused,
			"shop.old has the storage engine Aria"},
		"with a history": {of, list([]any{"orders", "SYSTEM VERSIONED", "InnoDB"}), nil, nil, ErrRefused,
			"is system-versioned"},
		"it is away":  {of, []reply{{to: "schemata", err: errAway}}, nil, nil, errAway, ""},
		"its list is": {of, append(list()[:1:1], reply{to: "table_schema", err: errAway}), nil, nil, errAway, ""},
	} {
		s := script{answers: c.answers}
		names, leftOut, err := choose(t.Context(), s.db(t), c.of)
		if !errors.Is(err, c.err) || err != nil && !strings.Contains(err.Error(), c.says) || err == nil && c.err != nil ||
			err == nil && !slices.Equal(names, c.names) || !slices.Equal(leftOut, c.leftOut) {
			t.Errorf("%s: %v, %v, %v", name, names, leftOut, err)
		}
	}
}

// TestTakes: tables get the names of a round, without triggers and foreign keys that lead out of what is loaded. What
// is left out is listed, and nothing is changed before all of it is known.
func TestTakes(t *testing.T) {
	answers := []reply{
		{to: "schemata", rows: [][]any{{1}}},
		{to: "SUM(data_length", rows: [][]any{{7}}},
		{to: "table_type, COALESCE", rows: [][]any{{"o`r", "BASE TABLE", "InnoDB"}}},
		{to: "triggers", rows: [][]any{{"tr"}}},
		{to: "referential_constraints", rows: [][]any{{"o`r", "fk1", "shop"}, {"o`r", "fk2", "hr"}}},
		{to: "routines", rows: [][]any{{"event", "ev"}, {"function", "f"}}},
	}
	const drop = "ALTER TABLE `shop`.`o``r` DROP FOREIGN KEY "
	for name, c := range map[string]struct {
		of      Selection
		keys    []string
		leftOut string
	}{
		"a database": {Selection{Database: "shop"}, []string{drop + "`fk2`"},
			"[trigger tr foreign key o`r.fk2 event ev function f]"},
		"a table": {Selection{Database: "shop", Table: "o`r"}, []string{drop + "`fk1`", drop + "`fk2`"},
			"[trigger tr foreign key o`r.fk1 foreign key o`r.fk2]"},
	} {
		s := script{answers: answers}
		db := s.db(t)
		taken, err := Take(t.Context(), db, c.of, "in", Round("1", 0))
		want := slices.Concat([]string{"SET SESSION foreign_key_checks = 0", "DROP TRIGGER `shop`.`tr`"}, c.keys,
			[]string{"SET SESSION foreign_key_checks = 1", "CREATE DATABASE `in`",
				"RENAME TABLE `shop`.`o``r` TO `in`.`r1_0_0`"})
		if err != nil || !slices.Equal(s.sent, want) || taken.Bytes != 7 || len(taken.Names) != 1 ||
			"["+strings.Join(taken.LeftOut, " ")+"]" != c.leftOut {
			t.Errorf("%s: %+v, %v\n%s", name, taken, err, strings.Join(s.sent, "\n"))
		}
		s.sent = nil
		if err := taken.Again(t.Context(), db, "in", Round("1", 1)); err != nil || taken.round != "r1_1" ||
			!slices.Equal(s.sent, []string{"SET SESSION foreign_key_checks = 1",
				"RENAME TABLE `in`.`r1_0_0` TO `in`.`r1_1_0`"}) {
			t.Errorf("%s: %v, %v", name, s.sent, err)
		}
		s.answers = []reply{{to: "RENAME", err: errAway}}
		if err := taken.Again(t.Context(), db, "in", Round("1", 2)); !errors.Is(err, errAway) || taken.round != "r1_1" {
			t.Errorf("%s: %v, %v", name, taken.round, err)
		}
	}
	for _, fails := range []string{"schemata", "table_type", "triggers", "referential_constraints", "routines",
		"CREATE DATABASE",
		"SUM(data_length"} {
		s := script{answers: append([]reply{{to: fails, err: errAway}}, answers...)}
		_, err := Take(t.Context(), s.db(t), Selection{Database: "shop"}, "in", "r")
		if early := fails != "CREATE DATABASE" && fails != "SUM(data_length"; !errors.Is(err, errAway) ||
			early != (len(s.sent) == 0) {
			t.Errorf("%s fails: %v, %v", fails, err, s.sent)
		}
	}
}

// TestBelongings: of a source that is in use nothing is changed, and the same is left out.
func TestBelongings(t *testing.T) {
	s := script{answers: []reply{
		{to: "('VIEW', 'SEQUENCE')", rows: [][]any{{"view", "v"}}},
		{to: "trigger_schema = 'shop' ORDER", rows: [][]any{{"tr"}}},
		{to: "trigger_schema = 'shop' AND event_object_table = 'orders' ORDER", rows: [][]any{{"its"}}},
		{to: "routines", rows: [][]any{{"event", "ev"}}},
	}}
	for want, of := range map[string]Selection{"view v trigger tr event ev": {Database: "shop"},
		"trigger its": {Database: "shop", Table: "orders"}} {
		leftOut, err := belongings(t.Context(), s.db(t), of)
		if err != nil || strings.Join(leftOut, " ") != want || len(s.sent) > 0 {
			t.Errorf("%v, %v, %v", leftOut, s.sent, err)
		}
	}
	for _, fails := range []string{"('VIEW', 'SEQUENCE')", "triggers", "routines"} {
		s := script{answers: []reply{{to: fails, err: errAway}}}
		if _, err := belongings(t.Context(), s.db(t), Selection{Database: "shop"}); !errors.Is(err, errAway) {
			t.Errorf("%s fails: %v", fails, err)
		}
	}
}

// TestFree: names can be given that nothing has. A new database may be there, if it is empty.
func TestFree(t *testing.T) {
	tables := reply{to: "information_schema.tables WHERE table_schema = 'shop'", rows: [][]any{{"orders"}, {"v"}}}
	there := reply{to: "schema_name = 'shop'", rows: [][]any{{1}}}
	absent := reply{to: "schemata", rows: [][]any{{0}}}
	one, all := Selection{Table: "x", Into: "shop"}, Selection{Into: "shop"}
	for name, c := range map[string]struct {
		of      Selection
		answers []reply
		names   []string
		want    error
	}{
		"a free name":            {one, []reply{tables}, []string{"before"}, nil},
		"one that is taken":      {one, []reply{tables}, []string{"before", "v"}, ErrExists},
		"an empty database":      {one, []reply{there}, []string{"orders"}, nil},
		"no database":            {one, []reply{absent}, []string{"orders"}, ErrNoDatabase},
		"a new database":         {all, []reply{there}, []string{"orders"}, nil},
		"a database with tables": {all, []reply{tables}, []string{"before"}, ErrExists},
		"the cluster is away":    {one, []reply{{to: "tables", err: errAway}}, nil, errAway},
		"it goes away":           {one, []reply{{to: "schemata", err: errAway}}, nil, errAway},
	} {
		s := script{answers: c.answers}
		if err := (Target{s.db(t), "in"}).Free(t.Context(), c.of, c.names); !errors.Is(err, c.want) ||
			err != nil && c.want == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPublishes: a round that was compared is recorded before its tables get their names, all at once. One that another
// attempt has given up gets none, and tables that have their names already are left alone.
func TestPublishes(t *testing.T) {
	loaded := reply{to: "SELECT table_name", rows: [][]any{{"r1_0"}, {"r1_2"}, {"r2_0"}}}
	const note = "INSERT INTO `in`.`state` VALUES ('r1', 'compared', " +
		`'{"tables":3,"rows":9,"names":["a","b","c"]}')`
	const rename = "RENAME TABLE `in`.`r1_0` TO `shop`.`a`, `in`.`r1_2` TO `shop`.`c`"
	for name, c := range map[string]struct {
		answers []reply
		sent    []string
		want    error
	}{
		"all":                 {[]reply{loaded}, []string{note, "SET SESSION foreign_key_checks = 1", rename}, nil},
		"they have all names": {nil, []string{note}, nil},
		"it was given up":     {[]reply{loaded, {to: "INSERT", err: refusedWith(duplicate)}}, []string{note}, errGivenUp},
		"it is not recorded":  {[]reply{loaded, {to: "INSERT", err: errAway}}, []string{note}, errAway},
		"nothing is known":    {[]reply{{to: "SELECT table_name", err: errAway}}, []string{note}, errAway},
		"a name is taken": {[]reply{loaded, {to: "RENAME", err: refusedWith(tableExists)}}, []string{note,
			"SET SESSION foreign_key_checks = 1", rename}, ErrExists},
		"the database is gone": {[]reply{loaded, {to: "RENAME", err: refusedWith(unknownSchema)}}, []string{note,
			"SET SESSION foreign_key_checks = 1", rename}, ErrNoDatabase},
		"it goes away": {[]reply{loaded, {to: "RENAME", err: errAway}}, []string{note,
			"SET SESSION foreign_key_checks = 1", rename}, errAway},
	} {
		s := script{answers: c.answers}
		taken := Taken{Names: []string{"a", "b", "c"}, round: "r1"}
		err := Target{s.db(t), "in"}.Publish(t.Context(), Selection{Into: "shop"}, taken, Loaded{Tables: 3, Rows: 9})
		if !errors.Is(err, c.want) || err != nil && c.want == nil || !slices.Equal(s.sent, c.sent) {
			t.Errorf("%s: %v\n%s", name, err, strings.Join(s.sent, "\n"))
		}
	}
	if got := final(Selection{Table: "orders", As: "before"}, []string{"orders"}); !slices.Equal(got,
		[]string{"before"}) {
		t.Errorf("a table is called %v", got)
	}
}

// TestBegins: what an earlier attempt has compared gets its names, and nothing is loaded again.
func TestBegins(t *testing.T) {
	note := reply{to: "stage = 'compared'", rows: [][]any{{"r1", `{"tables":1,"rows":9,"names":["a"]}`}}}
	loaded := reply{to: "SELECT table_name", rows: [][]any{{"r1_0"}}}
	for name, c := range map[string]struct {
		answers []reply
		done    bool
		sent    int
		fails   string
	}{
		"the first attempt": {nil, false, 1, ""},
		"one was compared":  {[]reply{note, loaded}, true, 3, ""},
		"and has its names": {[]reply{note}, true, 1, ""},
		"its note is damaged": {[]reply{{to: "stage", rows: [][]any{{"r1", "{"}}}, loaded}, false, 1,
			"the note of the round r1"},
		"it is not known": {[]reply{{to: "stage =", err: errAway}}, false, 1, "away"},
		"nothing can be created": {[]reply{{to: "CREATE TABLE", err: errAway}, note}, false, 1,
			"creating the table of stages"},
	} {
		s := script{answers: c.answers}
		done, err := Target{s.db(t), "in"}.Begin(t.Context(), Selection{Into: "shop"})
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) ||
			(done != nil) != c.done || c.done && (done.Tables != 1 || done.Rows != 9) || len(s.sent) != c.sent {
			t.Errorf("%s: %+v, %v\n%s", name, done, err, strings.Join(s.sent, "\n"))
		}
	}
}

// TestAbandons: what other rounds have left is dropped once they cannot record any more that they were compared. One
// that has recorded it is not touched.
func TestAbandons(t *testing.T) {
	loaded := reply{to: "SELECT table_name", rows: [][]any{{"r1_1_0"}, {"r1_0_11"}}}
	stage := func(is string) reply { return reply{to: "SELECT stage", rows: [][]any{{is}}} }
	mark := "INSERT IGNORE INTO `in`.`state` VALUES ('r1_0', 'abandoned', '')"
	off := "SET SESSION foreign_key_checks = 0"
	for name, c := range map[string]struct {
		answers []reply
		sent    []string
		want    error
	}{
		"nothing is left": {nil, []string{off}, nil},
		"another round": {[]reply{loaded, stage(abandoned)}, []string{off, mark,
			"DROP TABLE IF EXISTS `in`.`r1_0_11`"}, nil},
		"one that was compared":  {[]reply{loaded, stage(compared)}, []string{off, mark}, errGivenUp},
		"its stage is not known": {[]reply{loaded, {to: "SELECT stage", err: errAway}}, []string{off, mark}, errAway},
		"it is not marked": {[]reply{loaded, {to: "INSERT", err: errAway}, stage(abandoned)}, []string{off, mark},
			errAway},
		"it is not dropped": {[]reply{loaded, stage(abandoned), {to: "DROP", err: errAway}}, []string{off, mark,
			"DROP TABLE IF EXISTS `in`.`r1_0_11`"}, errAway},
		"what is left is unknown":   {[]reply{{to: "SELECT table_name", err: errAway}}, nil, errAway},
		"keys cannot be turned off": {[]reply{loaded, {to: "SET", err: errAway}, stage(abandoned)}, []string{off}, errAway},
	} {
		s := script{answers: c.answers}
		if err := (Target{s.db(t), "in"}).abandon(t.Context(), "r1_1"); !errors.Is(err, c.want) ||
			err != nil && c.want == nil || !slices.Equal(s.sent, c.sent) {
			t.Errorf("%s: %v\n%s", name, err, strings.Join(s.sent, "\n"))
		}
	}
}

// TestNamed: what is said of tables names them as the source does, and not as a round.
func TestNamed(t *testing.T) {
	names := make([]string, 12)
	for i := range names {
		names[i] = string(rune('a' + i))
	}
	taken := Taken{Names: names, round: "r1_0", from: "shop"}
	err := taken.named("through", external.SourceError{Err: errors.New("through.r1_0_11 and through.r1_0_1 differ")})
	if err.Error() != (external.SourceError{Err: errors.New("shop.l and shop.b differ")}).Error() ||
		!errors.As(err, new(external.SourceError)) {
		t.Error(err)
	}
}
