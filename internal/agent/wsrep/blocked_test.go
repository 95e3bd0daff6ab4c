package wsrep

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestHoldsUpAll: appliers, and statements of the group's order, whatever their case and comments; no query of a
// client.
func TestHoldsUpAll(t *testing.T) {
	for text, want := range map[string]bool{
		"alter table t add c int": true, "  /* a */ /*b*/CREATE USER x": true, "set  password for x = 'y'": true,
		"\nTRUNCATE t": true, "SELECT 1": false, "update t set a = 'DROP TABLE'": false, "SET NAMES utf8": false,
		"ALTERNATE": false, "": false, "/* DROP */ SELECT 1": false,
	} {
		if got := (waiter{user: "app", text: text}).holdsUpAll(); got != want {
			t.Errorf("%q: %v", text, got)
		}
		if !(waiter{user: applier, text: text}).holdsUpAll() {
			t.Errorf("%q, applied: false", text)
		}
	}
}

// TestBlockedBy has what servers of 11.8 and 10.11 answered.
func TestBlockedBy(t *testing.T) {
	const table, schema, backup = "Table metadata lock", "Schema metadata lock", "Backup lock"
	apply := func(state, text string) waiter { return waiter{2, applier, state, text, 30 * time.Second} }
	of := func(id int64, kind, db, name string, seconds int) lock {
		return lock{id: id, user: "app", host: "10.1.2.3:4", command: "Sleep", kind: kind, schema: db, table: name,
			held: time.Duration(seconds) * time.Second}
	}
	for name, c := range map[string]struct {
		w     waiter
		locks []lock
		id    int64
		table string
	}{
		"a table": {apply("Waiting for table metadata lock", "alter table app.t add x int"),
			[]lock{of(10, backup, "", "", 50), of(10, schema, "app", "", 50), of(10, table, "app", "t", 50),
				of(2, schema, "app", "", 30)}, 10, "app.t"},
		"the one that it names": {apply("Waiting for table metadata lock", "ALTER TABLE `Orders` ADD x int"),
			[]lock{of(10, table, "app", "items", 90), of(11, table, "app", "orders", 50)}, 11, "app.orders"},
		"the one whose tables it uses": {apply("Waiting for table level lock", "create user u"),
			[]lock{of(9, table, "app", "t", 90), of(2, table, "mysql", "global_priv", 30),
				of(28, table, "mysql", "global_priv", 50)}, 28, "mysql.global_priv"},
		"the longest of equal ones": {apply("Waiting for table metadata lock", "drop table app.t"),
			[]lock{of(10, table, "app", "t", 40), of(11, table, "app", "t", 50)}, 11, "app.t"},
		"a database, from a client": {waiter{15, "root", "Waiting for table metadata lock", "drop database app",
			time.Minute}, []lock{of(15, backup, "", "", 60), of(14, table, "app", "t", 70), of(15, schema, "app", "", 60)}, 14,
			"app.t"},
		"another kind of lock only": {apply("Waiting for table metadata lock", "alter table app.t add x int"),
			[]lock{of(10, backup, "", "", 50)}, 0, ""},
		"a backup": {apply("Waiting for backup lock", "alter table app.t add x int"),
			[]lock{of(10, backup, "", "", 50), of(11, table, "app", "t", 50)}, 10, ""},
		"a state that is not known": {apply("Waiting for some new lock", "alter table app.t add x int"),
			[]lock{of(11, table, "app", "t", 50)}, 11, "app.t"},
		"no connection": {apply("Waiting for table metadata lock", "alter table app.t add x int"), nil, 0, ""},
	} {
		got := blockedBy(c.w, append(c.locks, lock{id: 1, user: applier, kind: table, schema: "app", table: "t",
			held: time.Hour}))
		switch {
		case got.For != c.w.wait, got.Table != c.table, (got.Holder == nil) != (c.id == 0):
			t.Errorf("%s: %+v", name, got)
		case got.Holder != nil && (got.Holder.ID != c.id || got.Holder.User != "app" || !got.Holder.Idle ||
			got.Holder.Host != "10.1.2.3:4" || got.Holder.Held < got.For && c.w.user == applier):
			t.Errorf("%s: %+v", name, got.Holder)
		}
	}
	own := of(10, table, "app", "t", 60)
	own.own = true
	w := apply("Waiting for table metadata lock", "alter table app.t add x int")
	if got := blockedBy(w, []lock{of(11, table, "app", "other", 300), own}); got != nil {
		t.Errorf("a backup's connection: %+v", got.Holder)
	}
	if got := blockedBy(w, []lock{of(11, table, "app", "t", 90), own}); got == nil || got.Holder.ID != 11 {
		t.Errorf("alongside a backup's connection: %+v", got)
	}
	own.held = ownLockTime
	if got := blockedBy(w, []lock{own}); got == nil || got.Holder.ID != 10 {
		t.Errorf("a connection of the agent's account without an end: %+v", got)
	}
	if agentapi.BlockedAfter > 30*time.Second {
		t.Error("with the interval at which agents ask, it is not reported within a minute")
	}
}
