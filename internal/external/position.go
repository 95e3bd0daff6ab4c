package external

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// SetPosition records in a target up to where it has the source's transactions. It is part of the data: every node that
// has them has the position.
func SetPosition(ctx context.Context, target *sql.DB, gtid string) error {
	if gtid == "" {
		return errors.New("the source has no position that its transactions could be followed from")
	}
	if _, err := target.ExecContext(ctx, "SET GLOBAL gtid_slave_pos = ?", gtid); err != nil {
		return fmt.Errorf("recording the source's position: %w", err)
	}
	var got string
	if err := target.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_slave_pos").Scan(&got); err != nil {
		return fmt.Errorf("reading the recorded position: %w", err)
	}
	if got == "" {
		return errors.New("the source's position was not recorded")
	}
	return nil
}
