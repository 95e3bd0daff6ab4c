package wsrep

import (
	"context"
	"fmt"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Scheduled reads the events of a server that serves.
func (c *Conn) Scheduled(ctx context.Context) (*agentapi.Scheduled, error) {
	v, err := c.show(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('event_scheduler')")
	if err != nil {
		return nil, err
	}
	out := &agentapi.Scheduled{On: v["event_scheduler"] == "ON"}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	rows, err := c.db.QueryContext(ctx,
		"SELECT CONCAT(db, '.', name), status, COUNT(*) OVER () FROM mysql.event ORDER BY db, name LIMIT "+
			fmt.Sprint(agentapi.MaxEvents))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	all := 0
	for rows.Next() {
		var e agentapi.ScheduledEvent
		if err := rows.Scan(&e.Name, &e.Status, &all); err != nil {
			return nil, err
		}
		out.Events = append(out.Events, e)
	}
	out.More = all - len(out.Events)
	return out, rows.Err()
}
