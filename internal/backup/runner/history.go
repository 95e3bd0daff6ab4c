package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

const (
	// startTime bounds the start of the server on the prepared data, stopTime its end.
	startTime = 15 * time.Minute
	stopTime  = 5 * time.Minute
	// synced is what mariadbd reports when it has written the first view of the new history, and serving when it waits for
	// signals.
	synced  = "WSREP: Synchronized with group, ready for connections"
	serving = "mariadbd: ready for connections"
)

// begin gives the data a history of their own: mariadbd is started on them once, alone and without a network, from the
// position of the backup in a history of another name, and stopped. InnoDB and grastate.dat report the new position
// then. It is the same on every node that restores the same backup, so that all of them go on from there without a copy
// of each other's data.
func begin(ctx context.Context, p places, history string, ids ...string) (source, position galera.Position,
	err error) {
	source, err = recovered(ctx, p)
	if err != nil {
		return source, position, err
	}
	if !source.Known() {
		return source, position, fatal(task.ReasonBackupDamaged,
			errors.New("the data have no position in any history of Galera"))
	}
	position, err = beginAfter(ctx, p, history, source.Seqno, ids...)
	return source, position, err
}

// beginAfter begins a history after a seqno, with the identifiers of the nodes.
func beginAfter(ctx context.Context, p places, history string, seqno int64, ids ...string) (position galera.Position,
	err error) {
	if err := clean(p.work); err != nil {
		return position, err
	}
	if err := datadir.PermitBootstrap(p.work, galera.Position{UUID: history, Seqno: galera.UndefinedSeqno}); err != nil {
		return position, err
	}
	if err := runOnce(ctx, p, galera.Position{UUID: history, Seqno: seqno}, ids...); err != nil {
		return position, err
	}
	state, err := datadir.ReadGrastate(p.work)
	if err != nil {
		return position, because(task.ReasonToolFailed, err)
	}
	position, err = recovered(ctx, p)
	if err == nil && (position != state.Position || position.UUID != history || position.Seqno <= seqno) {
		err = because(task.ReasonToolFailed, fmt.Errorf(
			"the new history does not begin as it should: InnoDB is at %s, Galera at %s", position, state.Position))
	}
	if err == nil {
		err = clean(p.work)
	}
	return position, err
}

// clean removes what is of the backup, or of the run here, and not of the database: a cache of write-sets would be of
// the wrong size.
func clean(dir string) error {
	for _, pattern := range []string{"galera.cache", "gcache.page.*", "mariadb_backup_*", "xtrabackup_*",
		"donor_galera_info", "gvwstate.dat",
		"binlog.*", "relay.*", "master.info", "relay-log.info", "multi-master.info", "tc.log"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, name := range names {
			info, err := os.Lstat(name)
			if err == nil && info.IsDir() {
				continue // a database, whatever its name
			}
			if err == nil {
				err = os.Remove(name)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// server is a mariadbd on the prepared data that only this process reaches. What InnoDB has to know of them stands in
// backup-my.cnf.
func (p places) server(args ...string) mariadbd.Command {
	own := []string{
		"--wsrep-on=ON", "--wsrep-provider=" + mariadbd.FindProvider(), "--wsrep-cluster-address=gcomm://",
		"--wsrep-cluster-name=restore", "--wsrep-node-name=restore",
		"--wsrep-node-address=127.0.0.1", "--wsrep-sst-method=rsync",
		"--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:4567;gcache.size=16M;gcache.dir=" + p.work +
			";pc.recovery=false",
	}
	return p.serverOn(p.work, append(own, args...)...)
}

// serverOn is one on the data in a directory, without a network.
func (p places) serverOn(dir string, args ...string) mariadbd.Command {
	own := []string{
		"--defaults-file=" + filepath.Join(dir, "backup-my.cnf"), "--datadir=" + dir, "--tmpdir=" + p.Tmp,
		"--innodb-undo-directory=" + dir,
		"--socket=" + p.Socket(), "--pid-file=" + p.PidFile(), "--skip-networking", "--skip-log-bin", "--skip-ssl",
		"--skip-log-error", "--skip-slave-start",
		"--skip-name-resolve", "--event-scheduler=DISABLED", "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
	}
	if p.encrypted { // backup-my.cnf has the keys, and what is InnoDB's
		own = append(own, "--aria-encrypt-tables=ON", "--encrypt-tmp-files=ON", "--encrypt-tmp-disk-tables=ON",
			"--innodb-encrypt-temporary-tables=ON")
	}
	return mariadbd.Command{Path: mariadbd.FindServer(), Args: append(own, args...), Env: mariadbd.Env(p.Places), Dir: dir}
}

func recovered(ctx context.Context, p places) (galera.Position, error) {
	found, err := mariadbd.Recover(ctx, p.table, p.server())
	if err != nil {
		return galera.Position{}, because(task.ReasonToolFailed, err)
	}
	return found.Position, nil
}

// runOnce starts the server, and stops it as soon as it is the Primary component of the new history.
func runOnce(ctx context.Context, p places, from galera.Position, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	ready := make(chan struct{})
	c := p.server(append([]string{"--wsrep-new-cluster", "--wsrep-start-position=" + from.String()}, args...)...)
	c.Log = whenStarted(func() { close(ready) })
	proc, err := mariadbd.Start(p.table, c)
	if err != nil {
		return because(task.ReasonToolFailed, err)
	}
	select {
	case <-ready:
	case <-proc.Done():
		return because(task.ReasonToolFailed, fmt.Errorf("mariadbd could not start on the restored data (exit code %d): %s",
			proc.Exit().Code, mariadbd.Why(proc.Exit().Lines)))
	case <-ctx.Done():
		proc.Kill()
		<-proc.Done()
		return because(task.ReasonToolFailed, errors.New("mariadbd did not become ready on the restored data: "+
			mariadbd.Why(proc.Exit().Lines)))
	}
	return stop(proc)
}

// whenStarted reads a server's log, and calls done once, when the server is Synced and waits for signals. The two come
// in any order, and one that was asked to stop before the second was seen to hang.
func whenStarted(done func()) func(line string) {
	missing := map[string]bool{synced: true, serving: true}
	return func(line string) {
		for word := range missing {
			if strings.Contains(line, word) {
				if delete(missing, word); len(missing) == 0 {
					done()
				}
			}
		}
	}
}

// stop ends a server in good order.
func stop(proc *mariadbd.Process) error {
	proc.Terminate()
	late := time.AfterFunc(stopTime, proc.Kill)
	defer late.Stop()
	<-proc.Done()
	if exit := proc.Exit(); exit.Code != 0 {
		return because(task.ReasonToolFailed, fmt.Errorf("mariadbd did not stop in good order on the restored data: %s",
			mariadbd.Why(exit.Lines)))
	}
	return nil
}

// identifiers are options with those of the nodes, none for the default. InnoDB keeps them with the position: a node
// that joins goes on with those that it finds there, and the one that bootstraps with its settings'.
func identifiers(server, domain uint32) []string {
	if server == 0 {
		return nil
	}
	return []string{fmt.Sprintf("--server-id=%d", server), fmt.Sprintf("--wsrep-gtid-domain-id=%d", domain),
		"--wsrep-gtid-mode=ON"}
}
