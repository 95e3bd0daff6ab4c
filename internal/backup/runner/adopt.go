package runner

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/mbstream"
	"github.com/galera-operator/galera-operator/internal/backup/pipe"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// ofFollowing leaves out what is found about copies by statements only: a backup brings it along.
func ofFollowing(found []task.Finding) []task.Finding {
	return slices.DeleteFunc(found, func(f task.Finding) bool {
		return f.Name == external.TableVersioned || f.Name == external.DefinitionHidden
	})
}

// inspectBackup reports how large another server's backup is, and whether the server can be followed.
func inspectBackup(ctx context.Context, t task.External, p places) (task.Result, error) {
	bytes, err := p.storedBytes(ctx)
	if err != nil {
		return task.Result{}, err
	}
	out := &task.Source{}
	if t.Follow {
		if out, err = askSource(ctx, t, p); err != nil {
			return task.Result{}, err
		}
		out.Findings = ofFollowing(out.Findings)
	}
	out.Bytes = bytes
	return task.Result{Source: out}, nil
}

// adoptBackup fills the volume with another server's backup, as the beginning of a new history. It may be cut off
// anywhere: it begins anew then.
func adoptBackup(ctx context.Context, t task.External, p places) (task.Result, error) {
	return fillOnce(ctx, t, p, func(_, version string) (f filled, err error) {
		a, err := unpackAdopted(ctx, t, version, p)
		if err != nil {
			return f, err
		}
		say("preparing the data")
		if err := unprepared(prepare(ctx, p), func() error { return refuseShort(p.work) }); err != nil {
			return f, err
		}
		if f.source, err = makeOwn(ctx, t, a, p); err != nil {
			return f, err
		}
		f.tables = a.server()
		say("beginning the history %s", t.History)
		f.position, err = beginAdopted(ctx, t, p)
		return f, err
	})
}

// unpackAdopted fetches the backup into the working directory, and refuses one that a cluster cannot begin with.
func unpackAdopted(ctx context.Context, t task.External, version string, p places) (a adopted, err error) {
	bytes, err := p.storedBytes(ctx)
	if err != nil {
		return a, err
	}
	if err := errors.Join(os.RemoveAll(p.work), os.MkdirAll(p.State, 0o750)); err != nil {
		return a, err
	}
	if err := roomFor(p, bytes, "the backup's data"); err != nil { // more if it is compressed
		return a, err
	}
	say("unpacking %d MiB of %s", bytes>>20, t.Backup)
	seen, err := unpackStored(ctx, p)
	if err != nil {
		return a, err
	}
	if a, err = readAdopted(p.work); err != nil {
		return a, err
	}
	if err := cmp.Or(a.refuse(version, t), a.refuseMixed(seen.latest())); err != nil {
		return a, err
	}
	if t.Follow {
		f := askFollowed(ctx, t, a)
		start, err := startOf(a.GTID, t.Host, f)
		if err != nil {
			return a, err
		}
		switch {
		case f.At == nil:
			say("only the GTID domains of the position %s are compared with those of %s, which does not know of %s, %s: its "+
				"binary log of that time is purged, or it is another server", a.GTID, t.Host, a.BinlogFile, a.BinlogPos)
		case start != a.GTID:
			say("the position is %s without what %s was made from, and has nothing of in its binary log: %s", a.GTID, t.Host,
				start)
		}
		a.GTID = start
	}
	if err := dropBinlog(p.work); err != nil {
		return a, err
	}
	name := filepath.Join(p.work, optionFile)
	text, err := readFact(name)
	if err != nil {
		return a, err
	}
	return a, os.WriteFile(name, []byte(ownOptions(text)), 0o600)
}

// unpackStored unpacks the stream, and reads along what the tablespaces are like.
func unpackStored(ctx context.Context, p places) (newest, error) {
	seen := newest{}
	var stream *mbstream.Checker
	var damage error
	err := unpackInto(ctx, p.work, p, func(to io.Writer) error {
		stream = mbstream.NewChecker(to, seen.see)
		_, err := p.ask(ctx, pipe.Request{What: pipe.Stream}, sequential{stream})
		if err == nil {
			damage = ofStream(stream.Close())
		}
		return cmp.Or(err, damage)
	})
	if damage != nil {
		return nil, damage // and not what mbstream says of it
	}
	if err != nil {
		return nil, err
	}
	return seen, refuseUnwritten(p.work, stream.Sizes())
}

// ofStream is what is wrong with a stream that was read to its end: it is so each time.
func ofStream(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, mbstream.ErrName):
		return refusedBackup("%w: make another one with mariadb-backup --stream=mbstream", err)
	}
	return damagedStream(err)
}

func (p places) storedBytes(ctx context.Context) (int64, error) {
	m, err := p.manifest(ctx)
	return m.StreamBytes, err
}

// refusedTables are findings about tables that no node would have, or keep, as the others do.
var refusedTables = []string{external.EngineNotReplicated, external.PrimaryKeyMissing, external.SequenceNotSupported}

// adopting are options of the server that the data are read on: definitions are written for this program, whatever mode
// applications have, and of many tables they take their time.
var adopting = []string{"--sql-mode=", "--max-statement-time=0"}

// makeOwn makes the other server's data those of a cluster: without what only the operator has, and at a position that
// the server is followed from. It refuses tables that Galera does not replicate.
func makeOwn(ctx context.Context, t task.External, a adopted, p places) (out task.Source, err error) {
	err = onServer(ctx, p, task.Replay{Settings: t.Settings}, adopting, func(db *sql.DB, _ *mariadbd.Process) error {
		if err := refuseLacking(ctx, db, p.work); err != nil {
			return err
		}
		have, err := external.Inspect(ctx, db, external.Options{}, external.Wanted{Version: a.server()})
		if err != nil {
			return ofOwnServer(err)
		}
		have.Findings = slices.DeleteFunc(have.Findings, func(f task.Finding) bool {
			return !slices.Contains(refusedTables, f.Name)
		})
		if err := refusedFindings(have.Findings); err != nil {
			return err
		}
		if err := refuseXA(ctx, db); err != nil {
			return err
		}
		skipped, err := external.DropOwned(ctx, db, append([]string{importer, replayer}, t.Skip...))
		if err != nil {
			return because(task.ReasonToolFailed, err)
		}
		// A node disables the events of another originator than itself when it starts.
		err = execute(ctx, db, fmt.Sprintf("UPDATE mysql.event SET originator = %d", max(1, t.ServerID)),
			"DROP DATABASE IF EXISTS "+agentapi.MarksDatabase)
		if err != nil {
			return err
		}
		position := ""
		if t.Follow {
			position = a.GTID
		}
		err = ownPosition(ctx, db, position)
		out = task.Source{Version: a.server(), GTID: a.GTID, Tables: have.Tables, Bytes: have.Bytes,
			Skipped: shortened(skipped)}
		return err
	})
	return out, err
}

// ofTable are numbers of errors that are about a table, or what it is made with, and not about the server.
var ofTable = []uint16{
	1017, // ER_FILE_NOT_FOUND
	1033, // ER_NOT_FORM_FILE
	1034, // ER_NOT_KEYFILE
	1035, // ER_OLD_KEYFILE
	1112, // ER_UNSUPPORTED_EXTENSION
	1115, // ER_UNKNOWN_CHARACTER_SET
	1194, // ER_CRASHED_ON_USAGE
	1195, // ER_CRASHED_ON_REPAIR
	1273, // ER_UNKNOWN_COLLATION
	1286, // ER_UNKNOWN_STORAGE_ENGINE
	1459, // ER_TABLE_NEEDS_UPGRADE
	1707, // ER_TABLE_NEEDS_REBUILD
	1812, // ER_TABLESPACE_MISSING
	1814, // ER_TABLESPACE_DISCARDED
	1877, // ER_TABLE_CORRUPT
	1932, // ER_NO_SUCH_TABLE_IN_ENGINE
	4161, // ER_UNKNOWN_DATA_TYPE
}

// ofOwnServer explains why the server on the data could not describe them. What it answers about a table, for instance
// that the image lacks its engine, it answers each time. Anything else may pass.
func ofOwnServer(err error) error {
	if named := (external.SourceError{}); errors.As(err, &named) {
		err = named.Err // that is another server
	}
	var answer *mysql.MySQLError
	if errors.As(err, &answer) && slices.Contains(ofTable, answer.Number) {
		return refusedBackup("the image's server cannot read the data: %w. Correct that on the server, and make another "+
			"backup", err)
	}
	if external.DiskFull(err) {
		return because(task.ReasonDiskFull, err)
	}
	return because(task.ReasonToolFailed, err)
}

// refusedFindings is the refusal of a backup with some findings, nil for none.
func refusedFindings(found []task.Finding) error {
	var why []string
	for _, f := range found {
		objects := strings.Join(f.Objects, ", ")
		if more := f.Count - len(f.Objects); more > 0 {
			objects += fmt.Sprintf(" and %d more", more)
		}
		why = append(why, f.Name+": "+objects+": "+f.Message)
	}
	if len(why) == 0 {
		return nil
	}
	return refusedBackup("%s. Correct that on the server, and make another backup", strings.Join(why, ". "))
}

// refuseXA refuses data with XA transactions that wait for their end: they hold locks, and no node of Galera ends them.
func refuseXA(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, "XA RECOVER")
	if err != nil {
		return because(task.ReasonToolFailed, err)
	}
	defer func() { _ = rows.Close() }()
	if rows.Next() {
		return refusedBackup("it holds prepared XA transactions: commit or roll back what XA RECOVER shows on the server, " +
			"and make another backup")
	}
	return rows.Err()
}

// beginAdopted begins the history after the position in another one, if the data are those of a node of Galera.
func beginAdopted(ctx context.Context, t task.External, p places) (galera.Position, error) {
	from, err := recovered(ctx, p)
	if err != nil {
		return from, err
	}
	seqno := int64(0)
	if from.Known() {
		seqno = from.Seqno
	}
	return beginAfter(ctx, p, t.History, seqno, identifiers(t.ServerID, t.Domain)...)
}
