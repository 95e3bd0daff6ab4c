package runner

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/backup/archive"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

const (
	// tellBad bounds how many damaged tables a message names.
	tellBad = 5
	// What a server answers that refuses an account: ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR and
	// ER_PLUGIN_IS_NOT_LOADED.
	codeDenied           = 1045
	codeDeniedNoPassword = 1698
	codeNoPlugin         = 1524
)

// verify tests a backup.
func verify(ctx context.Context, t task.Task) (r task.Result, err error) {
	r.Verified = &task.Verified{ID: t.Verify.ID}
	if t.Verify.Restore {
		p := defaultPlaces()
		if r.Verified.Tables, err = verifyTables(ctx, *t.Verify, p); err == nil {
			r.Verified.Segments, err = p.archive(ctx)
		}
	} else {
		r.Verified.Segments, err = verifyParts(ctx, t)
	}
	return r, err
}

// verifyParts tests a backup and the archive around it: it reads all of them.
func verifyParts(ctx context.Context, t task.Task) (segments int, err error) {
	err = withFetcher(ctx, t, func(f fetcher, ctx context.Context) (err error) {
		segments, err = f.check(ctx)
		return err
	})
	return segments, err
}

func (f fetcher) check(ctx context.Context) (segments int, err error) {
	all, err := f.chain(ctx)
	if err != nil {
		return 0, err
	}
	for _, m := range all {
		say("reading %s of %s", galera.Count(len(m.Parts), "part"), m.ID)
		err = archive.Check(ctx, m, partsOf(f.bucket, path.Join(f.dir, m.ID), m, f.limit))
		if err != nil && !isStore(err) && ctx.Err() == nil {
			return 0, damaged(m.ID, fmt.Errorf("%s: %w", m.ID, err))
		}
		if err != nil {
			return 0, err
		}
	}
	return checkArchive(ctx, f.bucket, f.dir, all[0])
}

// verifyTables tests a backup: it restores it on this pod's volume, and has a server check every table.
func verifyTables(ctx context.Context, t task.Verify, p places) (int, error) {
	m, err := p.manifest(ctx)
	if err != nil {
		return 0, err
	}
	p.encrypted = len(m.Keys) > 0
	done, err := restore(ctx, task.Restore{Dir: t.Dir, ID: t.ID, History: t.History, Keys: t.Keys}, p)
	if err != nil {
		return 0, err
	}
	if have := done.Restored.Source; m.Position != "" && have != m.Position {
		return 0, fatal(task.ReasonBackupDamaged, fmt.Errorf("the data are at %s, and the manifest says %s", have,
			m.Position))
	}
	proc, err := mariadbd.Start(p.table, p.serverOn(p.Data, "--skip-grant-tables", "--wsrep-on=OFF"))
	if err != nil {
		return 0, because(task.ReasonToolFailed, err)
	}
	defer func() {
		proc.Kill() // the data are thrown away
		<-proc.Done()
	}()
	db, err := connect(ctx, p.Socket(), proc)
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	return checkTables(ctx, db)
}

// connect waits until the server answers.
func connect(ctx context.Context, socket string, proc *mariadbd.Process) (*sql.DB, error) {
	return connectAs(ctx, "root", "", socket, proc)
}

// connectAs waits for it with an account. A server that answers has its accounts: what it refuses now it refuses for
// ever.
func connectAs(ctx context.Context, user, password, socket string, proc *mariadbd.Process) (*sql.DB, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = user, password, "unix", socket
	cfg.Logger = log.New(io.Discard, "", 0) // every error is returned as well
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	for {
		if err = db.PingContext(ctx); err == nil {
			return db, nil
		}
		if denied(err) {
			_ = db.Close()
			return nil, fatal(task.ReasonToolFailed, fmt.Errorf("mariadbd refuses the login on the restored data: %w", err))
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			_ = db.Close()
			return nil, because(task.ReasonToolFailed, fmt.Errorf("mariadbd does not answer on the restored data: %w", err))
		case <-proc.Done():
			_ = db.Close()
			return nil, because(task.ReasonToolFailed, fmt.Errorf("mariadbd could not start on the restored data: %s",
				mariadbd.Why(proc.Exit().Lines)))
		}
	}
}

// denied reports whether the server refuses the account.
func denied(err error) bool {
	return slices.Contains([]uint16{codeDenied, codeDeniedNoPassword, codeNoPlugin}, sqlrows.ErrorNumber(err))
}

// checkTables runs CHECK TABLE, as mariadb-check does, and returns how many tables are good.
func checkTables(ctx context.Context, db *sql.DB) (int, error) {
	tables, err := strs(ctx, db, `SELECT CONCAT('`+"`"+`', REPLACE(table_schema, '`+"`', '``"+`'), '`+"`.`"+
		`', REPLACE(table_name, '`+"`', '``"+`'), '`+"`"+`')
		FROM information_schema.tables WHERE table_type NOT IN ('VIEW', 'SYSTEM VIEW')
		AND table_schema NOT IN ('information_schema', 'performance_schema')`)
	if err != nil {
		return 0, because(task.ReasonToolFailed, err)
	}
	say("checking %s", galera.Count(len(tables), "table"))
	var bad []string
	for _, table := range tables {
		why, err := checkTable(ctx, db, table)
		if err != nil {
			return 0, because(task.ReasonToolFailed, fmt.Errorf("%s could not be checked: %w", table, err))
		}
		if why != "" {
			bad = append(bad, table+": "+why)
		}
	}
	if len(bad) > 0 {
		return 0, fatal(task.ReasonBackupDamaged, fmt.Errorf("%d of %d tables are damaged: %s", len(bad), len(tables),
			strings.Join(bad[:min(len(bad), tellBad)], "; ")))
	}
	return len(tables), nil
}

// checkTable describes what is wrong with a table, "" for nothing.
func checkTable(ctx context.Context, db *sql.DB, table string) (string, error) {
	var bad []string
	err := sqlrows.Each(ctx, db, "CHECK TABLE "+table, nil, func(rows *sql.Rows) error {
		var name, op, kind, text string
		err := rows.Scan(&name, &op, &kind, &text)
		if err == nil && !good(kind, text) {
			bad = append(bad, text)
		}
		return err
	})
	return strings.Join(bad, ", "), err
}

// good reports whether a line of CHECK TABLE describes no damage. A storage engine that cannot be checked says so in a
// note.
func good(kind, text string) bool {
	switch strings.ToLower(kind) {
	case "error":
		return false
	case "status":
		return slices.Contains([]string{"OK", "Table is already up to date"}, text)
	}
	return true
}

func strs(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	return sqlrows.Collect(ctx, db, func(rows *sql.Rows) (s string, err error) {
		err = rows.Scan(&s)
		return s, err
	}, query)
}
