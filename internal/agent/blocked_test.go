//go:build integration

package agent_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestLockedTable: a statement of another node waits for a table that a connection has locked. The node reports that
// connection, and nothing once it is ended. A backup's connection, which ends by itself, is not reported.
func TestLockedTable(t *testing.T) {
	t.Parallel()
	s := &scenario{T: t, world: newWorld(t, 3, nil)}
	s.wait()
	s.form()
	n, ctx := s.node(1), context.Background()
	s.node(0).mustSQL("CREATE DATABASE held; CREATE TABLE held.items (id INT PRIMARY KEY)")
	conn := n.session()
	var id int64
	check(s.T, conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id))
	_, err := conn.ExecContext(ctx, "LOCK TABLES held.items READ")
	check(s.T, err)
	// As a backup does. BACKUP LOCK would not do: Galera ends a connection that has it.
	copied := make(chan error, 1)
	go func() {
		_, err := s.node(2).socket("LOCK TABLES held.items READ; SELECT SLEEP(300)")
		copied <- err
	}()
	const copying = " FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(300)'"
	s.awaitSQL(2, "SELECT COUNT(*)"+copying, "1")
	altered := make(chan error, 1)
	go func() {
		_, err := s.node(0).sql("ALTER TABLE held.items ADD COLUMN note INT")
		altered <- err
	}()
	r := n.until("it reports who blocks a statement", time.Minute,
		func(r agentapi.Report) bool { return r.Blocked != nil })
	h := r.Blocked.Holder
	if r.Blocked.Table != "held.items" || h == nil || h.ID != id || h.User != "root" || h.Host == "" || !h.Idle ||
		h.Held < r.Blocked.For || r.Blocked.For < agentapi.BlockedAfter {
		s.Errorf("%+v, held by %+v; want the connection %d", r.Blocked, h, id)
	}
	if other, err := s.node(0).report(); err != nil || other.Blocked != nil {
		s.Errorf("the other node reports %+v, %v", other.Blocked, err)
	}
	// The agent of the other one has asked since a report was due.
	s.awaitSQL(2, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'Waiting for table metadata lock' "+
		"AND TIME_MS > 32000", "1")
	if r, err := s.node(2).report(); err != nil || r.Blocked != nil {
		s.Errorf("a backup's connection is reported: %+v, %v", r.Blocked, err)
	}
	s.node(2).mustSQL("KILL " + s.node(2).mustSQL("SELECT ID"+copying))
	if err := <-copied; err == nil {
		s.Error("the backup's connection had ended before")
	}
	n.mustSQL(fmt.Sprintf("KILL %d", id))
	check(s.T, <-altered)
	n.until("nothing is blocked", time.Minute, func(r agentapi.Report) bool { return r.Blocked == nil })
	s.node(0).mustSQL("DROP DATABASE held")
}
