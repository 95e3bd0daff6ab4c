package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		return fatal(task.ReasonReplayFailed, errors.New("the data name no transaction that the archive could be followed from"))
	}
	say("the cluster follows the archive from %s", at)
	password := rand.Text() + "-" + strings.ToLower(rand.Text())
	init := filepath.Join(p.Tmp, "position.sql")
	text := "CREATE OR REPLACE USER '" + replayer + "'@'localhost' IDENTIFIED BY '" + password + "';\n" +
		"GRANT ALL ON *.* TO '" + replayer + "'@'localhost' WITH GRANT OPTION;\n"
	if err := os.WriteFile(init, []byte(text), 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(init) }()
	proc, err := mariadbd.Start(p.table, p.serverOn(p.work, append(settings(r.Settings), "--event-scheduler=OFF",
		"--wsrep-on=OFF", "--server-id="+replayServer, "--skip-slave-start", "--init-file="+init, "--read-only=OFF")...))
	if err != nil {
		return because(task.ReasonToolFailed, err)
	}
	ended := false
	defer func() {
		if !ended {
			proc.Kill() // it is begun anew
			<-proc.Done()
		}
	}()
	db, err := connectAs(ctx, replayer, password, p.Socket(), proc)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := external.SetPosition(ctx, db, at.String()); err != nil {
		return because(task.ReasonToolFailed, err)
	}
	if _, err := db.ExecContext(ctx, "DROP USER '"+replayer+"'@'localhost'"); err != nil {
		return because(task.ReasonToolFailed, fmt.Errorf("the account of the restore could not be dropped: %w", err))
	}
	_ = db.Close()
	ended = true
	if err := stop(proc); err != nil {
		return err
	}
	return clean(p.work)
}
