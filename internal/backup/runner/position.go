package runner

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// setPosition has the data name the last transaction of the archive that they hold. A cluster that follows the archive
// goes on from there, on whichever node.
func setPosition(ctx context.Context, p places, r *task.Replay, reached string) error {
	at, err := binlog.Parse(reached)
	if err != nil || r == nil || at == (binlog.GTID{}) {
		return fatal(task.ReasonReplayFailed,
			errors.New("the data name no transaction that the archive could be followed from"))
	}
	say("the cluster follows the archive from %s", at)
	return onServer(ctx, p, *r, nil, func(db *sql.DB, _ *mariadbd.Process) error {
		others, err := otherDomains(ctx, db, at.Domain)
		if err != nil {
			return err
		}
		if err := external.SetPosition(ctx, db, strings.Join(append(others, at.String()), ",")); err != nil {
			return because(task.ReasonToolFailed, err)
		}
		return nil
	})
}
