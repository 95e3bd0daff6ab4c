package runner

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

const (
	// relayLog is what the server's own replication reads, relayIndex names it.
	relayLog   = "relay.000001"
	relayIndex = "relay.index"
	// stuckTime is how long the server may be idle. One that is at work on a statement is waited for: the Job's own time
	// bounds that.
	stuckTime = time.Minute
	tellEvery = 30 * time.Second
)

// replay applies the archive to the prepared data, by MariaDB's own replication: the segments become a relay log that
// ends at the target. It returns the last transaction, and how many later ones name a time before the target.
func replay(ctx context.Context, t task.Restore, m manifest.Manifest, p places) (reached string, late int, err error) {
	r := *t.Replay
	_, _, position := binlogInfo(p.work)
	base, err := readBase(m, position, r.Domain)
	if err != nil || r.From == 0 && !t.Follow {
		return base.String(), 0, err
	}
	if base, err = heldBy(ctx, p, base); err != nil || r.From == 0 {
		return base.String(), 0, err
	}
	if err := roomFor(p, r.Bytes, "the archive's transactions"); err != nil {
		return "", 0, err
	}
	f, err := os.Create(filepath.Join(p.work, relayLog))
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }()
	say("fetching the transactions after %s, up to %s", base, r.Target)
	have, err := p.relay(ctx, base, f)
	if err != nil {
		return "", 0, err
	}
	if err := f.Close(); err != nil {
		return "", 0, err
	}
	if have.Last == base {
		return have.Reached.String(), have.Late, clean(p.work)
	}
	return have.Reached.String(), have.Late, apply(ctx, p, r, have.Last, have.Count)
}

// heldBy asks InnoDB for the last transaction that the data hold.
func heldBy(ctx context.Context, p places, base binlog.GTID) (binlog.GTID, error) {
	found, err := mariadbd.Recover(ctx, p.table, p.server("--wsrep-gtid-mode=ON")) // or it does not print the number
	if err != nil {
		return base, because(task.ReasonToolFailed, err)
	}
	held := lastHeld(base, found.Start)
	if held != base {
		say("the copy holds what is in no binary log of its node, up to %s", held)
	}
	return held, clean(p.work)
}

// lastHeld returns the last transaction that the data hold. What was made with sql_log_bin=0 on the node that was
// copied, right before, is in no binary log of that node, but InnoDB has its number (start is the position of
// --wsrep-recover). The other nodes, and so the archive, may have logged it: a statement that changes tables would be
// applied twice.
func lastHeld(base binlog.GTID, start string) binlog.GTID {
	_, number, _ := strings.Cut(start, ",")
	if g, err := binlog.Parse(number); err == nil && g.Follows(base) {
		return g
	}
	return base
}

// binlogInfo is the position in the binary log that mariadb-backup has written alongside the data.
func binlogInfo(dir string) (file, offset, gtid string) {
	for _, name := range []string{"mariadb_backup_binlog_info", "xtrabackup_binlog_info"} {
		text, err := readFact(filepath.Join(dir, name))
		if fields := strings.Split(strings.TrimSpace(text), "\t"); err == nil && len(fields) == 3 {
			return fields[0], fields[1], fields[2]
		}
	}
	return "", "", ""
}

// apply has the server apply the relay log, and makes sure that it has done so to the last transaction. It does so with
// one thread: several gained nothing, and mariadbd 11.8.9 crashes with them where no binary log of a source is named.
func apply(ctx context.Context, p places, r task.Replay, last binlog.GTID, count int) error {
	index := filepath.Join(p.work, relayIndex)
	if err := os.WriteFile(index, []byte("./"+relayLog+"\n"), 0o600); err != nil {
		return err
	}
	return onServer(ctx, p, r, []string{"--relay-log=" + filepath.Join(p.work, "relay"),
		"--relay-log-index=" + index, "--relay-log-purge=OFF", "--relay-log-recovery=OFF", "--slave-exec-mode=STRICT",
		"--innodb-flush-log-at-trx-commit=0", "--master-info-file=" + filepath.Join(p.work, "master.info"),
		"--relay-log-info-file=" + filepath.Join(p.work, "relay-log.info"), "--replicate-same-server-id=OFF"},
		func(db *sql.DB, proc *mariadbd.Process) error {
			others, err := otherDomains(ctx, db, last.Domain)
			if err != nil {
				return err
			}
			if err := execute(ctx, db, "SET GLOBAL gtid_slave_pos = ''",
				"CHANGE MASTER TO MASTER_HOST = 'archive', RELAY_LOG_FILE = '"+relayLog+
					"', RELAY_LOG_POS = 4, MASTER_USE_GTID = no", "START SLAVE SQL_THREAD"); err != nil {
				return err
			}
			if err := follow(ctx, db, proc, last, count); err != nil {
				return err
			}
			return execute(ctx, db, "STOP SLAVE", "SET GLOBAL gtid_slave_pos = '"+strings.Join(others, ",")+"'",
				"RESET SLAVE ALL")
		})
}

// otherDomains is the position of what the data have of other domains: the cluster may have followed another server
// before. A follower that does not name it would get all of it again from a server that still has it.
func otherDomains(ctx context.Context, db *sql.DB, domain uint32) ([]string, error) {
	var all string
	if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_slave_pos").Scan(&all); err != nil {
		return nil, because(task.ReasonToolFailed, err)
	}
	_, others := binlog.In(all, domain)
	return others, nil
}

// settings are the cluster's own, as far as they are about data and memory.
func settings(all map[string]string) (out []string) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		name := mycnf.Normalise(key)
		if mycnf.Refused(key, all[key]) != "" {
			continue
		}
		if slices.ContainsFunc([]string{"wsrep", "log-", "binlog", "gtid", "server-id", "slave", "replicate", "relay",
			"master", "read-only", "init-", "sync-", "expire", "max-binlog", "rpl-", "report-", "general-log"},
			func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			continue
		}
		out = append(out, "--"+strings.ReplaceAll(key, "_", "-")+"="+all[key])
	}
	return out
}

// follow waits until the server has applied the last transaction. The server itself reports which one that is.
func follow(ctx context.Context, db *sql.DB, proc *mariadbd.Process, last binlog.GTID, count int) error {
	moved, reported := time.Now(), time.Now()
	var before binlog.GTID
	for {
		s, err := slave(ctx, db)
		if err != nil {
			return because(task.ReasonToolFailed, err)
		}
		at, _ := binlog.In(s["gtid_slave_pos"], last.Domain)
		done, on, err := applied(s, at, before, last, time.Since(moved))
		switch {
		case err != nil:
			return err
		case done:
			say("applied everything up to %s: %s", last, galera.Count(count, "transaction"))
			return nil
		case on:
			before, moved = at, time.Now()
		}
		if time.Since(reported) > tellEvery {
			reported = time.Now()
			say("applied up to %s, of %s", at, last)
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-proc.Done():
			return because(task.ReasonToolFailed, fmt.Errorf("mariadbd has ended while it applied the archive: %s",
				mariadbd.Why(proc.Exit().Lines)))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// applied judges where the server is: done when it has applied the last transaction, and on when it has applied more
// than before, which it was at for some time.
func applied(s map[string]string, at, before, last binlog.GTID, since time.Duration) (done, on bool, err error) {
	switch {
	case at == last:
		return true, false, nil
	case s["Last_SQL_Errno"] != "0":
		return false, false, failedReplay(s, at)
	case at != before:
		return false, true, nil
	case idle(s) && since > stuckTime:
		return false, false, because(task.ReasonReplayFailed,
			fmt.Errorf("the server has stopped to apply transactions after %s, before %s", at, last))
	}
	return false, false, nil
}

// idle reports whether the server applies nothing: its thread has ended, or waits for more than there is.
func idle(s map[string]string) bool {
	return s["Slave_SQL_Running"] != "Yes" || strings.HasPrefix(s["Slave_SQL_Running_State"],
		"Slave has read all relay log")
}

// failedReplay sorts out an error of the server: another attempt helps only against a full disk, or a lock.
func failedReplay(s map[string]string, at binlog.GTID) error {
	err := fmt.Errorf("the server could not apply the transaction after %s: %s", at, s["Last_SQL_Error"])
	switch n, _ := strconv.Atoi(s["Last_SQL_Errno"]); n {
	case 1021, 1114:
		return because(task.ReasonDiskFull, err)
	case 1205, 1213:
		return because(task.ReasonReplayFailed, err)
	}
	return fatal(task.ReasonReplayFailed, err)
}

// slave is the state of the server's replication.
func slave(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := sqlrows.Named(ctx, db, "SHOW SLAVE STATUS")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, row := range rows {
		maps.Copy(out, row)
	}
	var at string
	err = db.QueryRowContext(ctx, "SELECT @@gtid_slave_pos").Scan(&at)
	out["gtid_slave_pos"] = at
	return out, err
}
