package wsrep

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// Rebuild writes a table anew on this server alone: nothing of it is replicated, or gets into the binary log. It does
// not wait for those who use the table.
func (c *Conn) Rebuild(ctx context.Context, schema, table string) error {
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // its session is like no other
		_ = conn.Close()
	}()
	for _, statement := range []string{
		"SET SESSION wsrep_on = OFF, sql_log_bin = OFF, lock_wait_timeout = 5, max_statement_time = 60",
		fmt.Sprintf("ALTER TABLE `%s`.`%s` FORCE", schema, table),
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
