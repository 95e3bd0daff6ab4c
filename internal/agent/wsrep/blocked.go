package wsrep

import (
	"cmp"
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

// LockPlugin is the plugin that shows which connection holds a metadata lock. MariaDB has it in every package of the
// server, and does not load it by default.
const LockPlugin = "metadata_lock_info"

// applier is the user that the server names for the threads that apply write-sets.
const applier = "system user"

// waiter is a statement that waits for a lock.
type waiter struct {
	id    int64
	user  string
	state string
	// text is its beginning. It may hold a password, and goes nowhere.
	text string
	wait time.Duration
}

// ownLockTime is how long a connection of the agent's account may hold up others: that of a backup does, and ends by
// itself.
const ownLockTime = 10 * time.Minute

// lock is a metadata lock that a connection holds.
type lock struct {
	id                  int64
	user, host, command string
	kind, schema, table string
	held                time.Duration
	// own reports whether the connection is of the agent's account, on the socket.
	own bool
}

const (
	selectWaiters = `SELECT ID, USER, STATE, COALESCE(LEFT(INFO, 4096), ''), TIME_MS FROM information_schema.PROCESSLIST
		WHERE STATE LIKE 'Waiting for % lock' ORDER BY USER = 'system user' DESC, TIME_MS DESC LIMIT 100`
	selectLocks = `SELECT p.ID, p.USER, p.HOST, p.COMMAND, m.LOCK_TYPE, COALESCE(m.TABLE_SCHEMA, ''),
		COALESCE(m.TABLE_NAME, ''), COALESCE(m.LOCK_TIME_MS, 0) FROM information_schema.METADATA_LOCK_INFO m
		JOIN information_schema.PROCESSLIST p ON p.ID = m.THREAD_ID WHERE p.ID <> CONNECTION_ID()
		ORDER BY m.LOCK_TIME_MS DESC LIMIT 1000`
	selectPlugin = `SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'METADATA_LOCK_INFO' AND
		PLUGIN_STATUS = 'ACTIVE'`
)

// Blocked returns the statement of the group's order that has waited longest for a lock of this server, nil when none
// has waited for long.
func (c *Conn) Blocked(ctx context.Context) (*agentapi.Blocked, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	waiters, err := sqlrows.Collect(ctx, c.db, func(r *sql.Rows) (w waiter, err error) {
		var ms float64
		err = r.Scan(&w.id, &w.user, &w.state, &w.text, &ms)
		w.wait = milliseconds(ms)
		return w, err
	}, selectWaiters)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(waiters, waiter.holdsUpAll)
	if i < 0 || waiters[i].wait < agentapi.BlockedAfter {
		return nil, nil
	}
	known := 0
	if err := c.db.QueryRowContext(ctx, selectPlugin).Scan(&known); err != nil || known == 0 {
		if waiters[i].state == backupLock { // a backup that this member gives, as far as can be known
			return nil, err
		}
		return &agentapi.Blocked{For: waiters[i].wait}, err
	}
	locks, err := sqlrows.Collect(ctx, c.db, func(r *sql.Rows) (l lock, err error) {
		var ms float64
		err = r.Scan(&l.id, &l.user, &l.host, &l.command, &l.kind, &l.schema, &l.table, &ms)
		l.held, l.own = milliseconds(ms), l.user == c.user && l.host == "localhost"
		return l, err
	}, selectLocks)
	return blockedBy(waiters[i], locks), err
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms) * time.Millisecond }

// ordered matches the statements that the group carries out in one order, on every node, at the same place.
var ordered = regexp.MustCompile(
	`(?i)^\s*(/\*.*?\*/\s*)*(ALTER|CREATE|DROP|TRUNCATE|RENAME|GRANT|REVOKE|OPTIMIZE|REPAIR|` +
		`ANALYZE|SET\s+PASSWORD|SET\s+DEFAULT\s+ROLE)\b`)

// holdsUpAll reports whether later write-sets wait for the statement: it is being applied, or is one of the group's
// order. A query of a client that waits for a lock holds up nothing.
func (w waiter) holdsUpAll() bool { return w.user == applier || ordered.MatchString(w.text) }

const backupLock = "Waiting for backup lock"

// kinds are the locks that a state waits for.
var kinds = map[string]string{
	"Waiting for table metadata lock":  "Table metadata lock",
	"Waiting for table level lock":     "Table metadata lock", // who has locked the table has both
	"Waiting for schema metadata lock": "Schema metadata lock",
	backupLock:                         "Backup lock",
}

// blockedBy finds the connection that a statement waits for. Neither the server nor the plugin shows which lock
// a statement waits for, so it is the one whose table the statement names or uses, and that has been held longest. A
// transaction that holds a lock is not among them: Galera aborts it. It returns nil when that connection is a backup's.
func blockedBy(w waiter, locks []lock) *agentapi.Blocked {
	text := strings.ToLower(w.text)
	used := map[[2]string]bool{}
	for _, l := range locks {
		if l.id == w.id {
			used[[2]string{l.schema, l.table}], used[[2]string{l.schema}] = true, true
		}
	}
	score := func(l lock) (points int) {
		for _, name := range []string{l.schema, l.table} {
			if name != "" && strings.Contains(text, strings.ToLower(name)) {
				points++
			}
		}
		if l.schema != "" && used[[2]string{l.schema}] {
			points++
		}
		if l.table != "" && used[[2]string{l.schema, l.table}] {
			points++
		}
		return points
	}
	held := slices.DeleteFunc(slices.Clone(locks), func(l lock) bool {
		return l.id == w.id || l.user == applier || kinds[w.state] != "" && l.kind != kinds[w.state]
	})
	out := &agentapi.Blocked{For: w.wait}
	if len(held) == 0 {
		return out
	}
	l := slices.MaxFunc(held, func(a, b lock) int {
		return cmp.Or(cmp.Compare(score(a), score(b)), cmp.Compare(a.held, b.held))
	})
	if l.own && l.held < ownLockTime {
		return nil
	}
	out.Table = strings.Trim(l.schema+"."+l.table, ".")
	out.Holder = &agentapi.LockHolder{ID: l.id, User: l.user, Host: l.host, Idle: l.command == "Sleep", Held: l.held}
	return out
}
