package runner

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

const (
	// replayer is the account of the replay, which is dropped at its end.
	replayer = "galera-operator-replay"
	// replayServer is another server than any the transactions are of: a server does not apply its own.
	replayServer = "4294967295"
)

// onServer does something on a server with the restored data that replicates to no other, and leaves the data as those
// of a backup. args are options of its own.
func onServer(ctx context.Context, p places, r task.Replay, args []string,
	do func(db *sql.DB, proc *mariadbd.Process) error) error {
	password := rand.Text() + "-" + strings.ToLower(rand.Text())
	init, err := initFile(p, password)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(init) }()
	proc, err := mariadbd.Start(p.table, p.serverOn(p.work, serverArgs(r.Settings, init, args)...))
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
	if err := do(db, proc); err != nil {
		return err
	}
	if err := execute(ctx, db, "DROP USER '"+replayer+"'@'localhost'"); err != nil {
		return err
	}
	_ = db.Close()
	ended = true
	if err := stop(proc); err != nil {
		return err
	}
	return clean(p.work)
}

// serverArgs are the options of that server. Of two for the same variable, the later one counts.
func serverArgs(all map[string]string, init string, own []string) []string {
	return append(append(settings(all),
		// DISABLED would refuse the statements about events in the archive; OFF runs none.
		"--event-scheduler=OFF", "--wsrep-on=OFF", "--server-id="+replayServer, "--init-file="+init, "--read-only=OFF"),
		own...)
}

// execute executes statements.
func execute(ctx context.Context, db *sql.DB, statements ...string) error {
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return because(task.ReasonToolFailed, fmt.Errorf("%s: %w", statement, err))
		}
	}
	return nil
}

// initFile is what the server does first: it makes the account of the replay. The account has a
// password: no other way to log in is the same in all series. It has what the plug-ins of a restored server may want of
// one.
func initFile(p places, password string) (string, error) {
	name := filepath.Join(p.Tmp, "replay.sql")
	text := "CREATE OR REPLACE USER '" + replayer + "'@'localhost' IDENTIFIED BY '" + password + "';\n" +
		"GRANT ALL ON *.* TO '" + replayer + "'@'localhost' WITH GRANT OPTION;\n"
	return name, os.WriteFile(name, []byte(text), 0o600)
}
