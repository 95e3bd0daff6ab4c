package runner

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/external"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

const (
	// importer is the account that the copy is written by, which is dropped at its end.
	importer = "galera-operator-import"
	// maxSkipped and maxSkippedText bound what is reported of accounts that were left out.
	maxSkipped     = 32
	maxSkippedText = 200
)

// inspectSource reports what a server is like, and what keeps it from being copied.
func inspectSource(ctx context.Context, t task.External, p places) (task.Result, error) {
	out, err := askSource(ctx, t, p)
	return task.Result{Source: out}, err
}

// askSource connects to the source, and checks it.
func askSource(ctx context.Context, t task.External, p places) (*task.Source, error) {
	version := "" // of a running cluster, which the Job that loads into it asks
	if !t.Only {
		var err error
		if _, version, err = serverOfImage(ctx, p); err != nil {
			return nil, err
		}
	}
	source, err := openSource(t)
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }()
	return checkSource(ctx, source, t, wanted(t, version))
}

// wanted is what a source is checked for.
func wanted(t task.External, version string) external.Wanted {
	return external.Wanted{Version: version, VolumeBytes: t.VolumeBytes, Files: t.Backup != "",
		LowerCase: mycnf.LowerCaseTableNames(t.Settings)}
}

func checkSource(ctx context.Context, source *sql.DB, t task.External, w external.Wanted) (*task.Source, error) {
	out, err := external.Inspect(ctx, source, options(t), w)
	if err != nil {
		return nil, explained(err)
	}
	return out, nil
}

func options(t task.External) external.Options {
	if t.Only {
		return external.Options{Databases: t.Databases, Only: &external.Only{Table: t.Table},
			Connections: t.Connections, Rate: t.Rate, Memory: external.Memory{Limit: t.MemoryBytes}}
	}
	return external.Options{
		Memory:    external.Memory{Limit: t.MemoryBytes, Shared: true, Pool: bufferPool(t.Settings)},
		Databases: t.Databases, Users: t.Users, Follow: t.Follow,
		Skip:        append([]string{importer, replayer}, t.Skip...),
		Connections: t.Connections, Rate: t.Rate}
}

// openSource reads the credentials. What the Secrets lack may be added to them later.
func openSource(t task.External) (*sql.DB, error) {
	s := external.Server{Host: t.Host, Port: t.Port, Plain: t.Plain, Identity: t.Identity}
	name, err := os.ReadFile(filepath.Join(task.SourceDir, task.SourceUser))
	if err != nil {
		return nil, because(task.ReasonSourceRefused, fmt.Errorf("reading the credentials: %w", err))
	}
	password, err := os.ReadFile(filepath.Join(task.SourceDir, task.SourcePassword))
	if err != nil {
		return nil, because(task.ReasonSourceRefused, fmt.Errorf("reading the credentials: %w", err))
	}
	s.User, s.Password = strings.TrimSpace(string(name)), string(bytes.TrimRight(password, "\r\n"))
	if !t.Plain {
		if s.CA, err = os.ReadFile(filepath.Join(task.SourceCADir, task.CA)); err != nil {
			return nil, because(task.ReasonSourceRefused, fmt.Errorf("reading the CA: %w", err))
		}
	}
	db, err := s.Open()
	if err != nil {
		return nil, because(task.ReasonSourceRefused, err)
	}
	return db, nil
}

// filled is what a database in the working directory was made of.
type filled struct {
	source   task.Source
	position galera.Position
	// tables is the version of the server that has made its system tables, "" for no database: the source has findings.
	tables string
}

// fillOnce fills the volume, unless this has been done already, with what do makes of it as the beginning of a new
// history.
func fillOnce(ctx context.Context, t task.External, p places,
	do func(server, version string) (filled, error)) (task.Result, error) {
	unlock, err := lock(p)
	if err != nil {
		return task.Result{}, err
	}
	defer unlock()
	if done, err := inspect(p, task.Restore{ID: t.ID, History: t.History}); done != nil || err != nil {
		return task.Result{Restored: done, Source: p.imported()}, err
	}
	server, version, err := serverOfImage(ctx, p)
	if err != nil {
		return task.Result{}, err
	}
	f, err := do(server, version)
	switch {
	case err != nil:
		return task.Result{}, err
	case f.tables == "":
		return task.Result{Source: &f.source}, nil
	}
	out := task.Restored{ID: t.ID, Position: f.position.String(), Source: f.source.GTID}
	if err := p.noteImported(f.source); err != nil {
		return task.Result{}, err
	}
	return task.Result{Restored: &out, Source: &f.source}, finish(p, restored{out, t.History},
		datadir.Versions{Used: version, Tables: f.tables})
}

// importSource fills the volume with a copy of a server, as the beginning of a new history. It may be cut off anywhere:
// the next attempt takes another snapshot of the source, and keeps the rows that are the same in it.
func importSource(ctx context.Context, t task.External, p places) (task.Result, error) {
	return fillOnce(ctx, t, p, func(server, version string) (f filled, err error) {
		source, err := openSource(t)
		if err != nil {
			return f, err
		}
		defer func() { _ = source.Close() }()
		have, err := checkSource(ctx, source, t, wanted(t, version))
		switch {
		case err != nil:
			return f, err
		case len(have.Findings) > 0: // it has changed since it was checked
			return filled{source: *have}, nil
		}
		if f.source, err = copyOrResume(ctx, source, t, server, version, have.Bytes, p); err != nil {
			return f, err
		}
		f.source.Version, f.source.Warnings, f.tables = have.Version, have.Warnings, version
		say("beginning the history %s", t.History)
		f.position, err = beginAfter(ctx, p, t.History, 0, identifiers(t.ServerID, t.Domain)...)
		return f, err
	})
}

// serverOfImage returns the path and the version of the image's mariadbd.
func serverOfImage(ctx context.Context, p places) (path, version string, err error) {
	if path = mariadbd.FindServer(); path == "" {
		return "", "", fatal(task.ReasonToolFailed, errors.New("the image has no mariadbd"))
	}
	if version, err = mariadbd.ServerVersion(ctx, p.table, path); err != nil {
		return "", "", because(task.ReasonToolFailed, err)
	}
	return path, version, nil
}

// makeEmpty makes a database with no tables but those of the system in the working directory.
func makeEmpty(ctx context.Context, t task.External, server string, p places) error {
	if err := errors.Join(p.forgetCopy(), os.RemoveAll(p.work), os.MkdirAll(p.State, 0o750)); err != nil {
		return err
	}
	at := p.Places
	at.Data, at.State = p.work, filepath.Join(p.Tmp, "made") // its notes are not those of the volume
	if err := errors.Join(os.RemoveAll(at.State), os.MkdirAll(at.State, 0o750)); err != nil {
		return err
	}
	account, err := user.LookupId(fmt.Sprint(os.Getuid()))
	if err != nil {
		return because(task.ReasonToolFailed, err)
	}
	kept := mycnf.AtCreation(t.Settings)
	maker := mariadbd.Maker{Table: p.table, Places: at, Server: server, User: account.Username, Settings: kept,
		Log: func(string) {}} // what fails is in the error
	if err := maker.Make(ctx); err != nil {
		return because(task.ReasonToolFailed, err)
	}
	options := "[mysqld]\n"
	for _, o := range kept {
		options += o.Key + "=" + o.Value + "\n"
	}
	return os.WriteFile(filepath.Join(p.work, "backup-my.cnf"), []byte(options), 0o600)
}

// copySource runs a server that only this process connects to, and has it filled. The note is that of an earlier
// attempt with a mark, or the one to make.
func copySource(ctx context.Context, source *sql.DB, t task.External, note *begun, p places) (out task.Source,
	err error) {
	password := rand.Text() + "-" + strings.ToLower(rand.Text())
	init := filepath.Join(p.Tmp, "import.sql")
	defer func() { _ = os.Remove(init) }()
	account := "'" + importer + "'@'localhost'"
	text := "CREATE OR REPLACE USER " + account + " IDENTIFIED BY '" + password + "';\nGRANT ALL ON *.* TO " + account +
		" WITH GRANT OPTION;\n"
	if err := os.WriteFile(init, []byte(text), 0o600); err != nil {
		return out, err
	}
	files := filepath.Join(p.Tmp, "files") // no statement reads a file elsewhere: the keys, for instance
	if err := os.MkdirAll(files, 0o700); err != nil {
		return out, err
	}
	o, b := options(t), newBoard(time.Now())
	args := append(importing(t, o), "--secure-file-priv="+files, "--init-file="+init)
	proc, err := mariadbd.Start(p.table, p.serverOn(p.work, args...))
	if err != nil {
		return out, because(task.ReasonToolFailed, fmt.Errorf("%w: %w", errNotServed, err))
	}
	ended := false
	defer func() {
		if !ended {
			proc.Kill() // what it has on the disk is gone on with
			<-proc.Done()
		}
	}()
	check, err := connectAs(ctx, importer, password, p.Socket(), proc)
	if err != nil {
		return out, fmt.Errorf("%w: %w", errNotServed, err)
	}
	_ = check.Close()
	target, err := external.OpenTarget(p.Socket(), importer, password)
	if err != nil {
		return out, because(task.ReasonToolFailed, err)
	}
	o.Progress, o.Resumed, o.Loaded = b.set, note.Mark, p.forgetCopy
	o.Created = func(mark string) error {
		note.Mark = mark
		return p.noteBegun(*note)
	}
	serving, end := context.WithCancel(ctx)
	defer end()
	go b.serve(serving, task.CopiedDir)
	r, err := external.Copy(ctx, source, target, o)
	if err == nil && t.Follow {
		err = external.SetPosition(ctx, target, r.GTID)
	}
	if err == nil {
		_, err = target.ExecContext(ctx, "DROP USER "+account)
	}
	_ = target.Close()
	if err != nil {
		return out, explained(err)
	}
	say("copied and compared %s with %s, at the GTID %q; %s of them were there from an earlier attempt",
		galera.Count(r.Tables, "table"), galera.Count(r.Rows, "row"), r.GTID, galera.Count(r.Kept, "row"))
	ended = true
	return task.Source{GTID: r.GTID, Tables: r.Tables, Bytes: r.Bytes, Rows: r.Rows,
		LockedMilliseconds: r.LockedMilliseconds, Skipped: shortened(r.Skipped)}, stop(proc)
}

// importing are the options of the server that is filled. It shares the container's memory with this process. It has
// the server_id of the nodes, which disable the events that a server of another one has created.
func importing(t task.External, o external.Options) []string {
	out := append(settings(t.Settings), fmt.Sprintf("--server-id=%d", max(1, t.ServerID)), "--event-scheduler=OFF",
		"--wsrep-on=OFF", "--innodb-flush-log-at-trx-commit=0", "--max-allowed-packet=1G", "--read-only=OFF", "--sql-mode=")
	return append(out, poolOf(o.Memory, o.Connections)...)
}

// poolOf is the option with the buffer pool of a server that shares the container's memory with this process.
func poolOf(m external.Memory, connections int) []string {
	if pool := m.BufferPool(connections); pool > 0 {
		return []string{fmt.Sprintf("--innodb-buffer-pool-size=%d", pool)}
	}
	return nil
}

// defaultPool is MariaDB's.
const defaultPool = 128 << 20

// bufferPool is the size that settings ask for, 0 for one that is none.
func bufferPool(settings map[string]string) int64 {
	for key, value := range settings {
		if mycnf.Normalise(key) == "innodb-buffer-pool-size" {
			n, _ := mycnf.Bytes(value)
			return n
		}
	}
	return defaultPool
}

// shortened names some of what was left out, and counts the others.
func shortened(names []string) (out []string) {
	for i, n := range names {
		if i == maxSkipped {
			return append(out, fmt.Sprintf("and %d more", len(names)-i))
		}
		out = append(out, strings.ToValidUTF8(n[:min(len(n), maxSkippedText)], ""))
	}
	return out
}

// explained gives an error of a copy its reason.
func explained(err error) error {
	var source external.SourceError
	switch {
	case errors.Is(err, external.ErrDiffers):
		return fatal(task.ReasonImportDiffers, err)
	case errors.Is(err, external.ErrRefused), errors.Is(err, external.ErrTooLarge):
		return fatal(task.ReasonImportRefused, err)
	case errors.Is(err, external.ErrChanged):
		return because(task.ReasonSourceChanged, err)
	case external.DiskFull(err):
		return because(task.ReasonDiskFull, err)
	case errors.As(err, &source) && external.Unreachable(err) && !external.Refused(err):
		return because(task.ReasonSourceUnreachable, err)
	case errors.As(err, &source):
		return because(task.ReasonSourceRefused, err)
	}
	return because(task.ReasonToolFailed, err)
}

// importedFile is the note of what was copied, for an attempt that finds it done.
const importedFile = "imported.json"

func (p places) noteImported(s task.Source) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return datadir.WriteFile(filepath.Join(p.State, importedFile), text, 0o600)
}

func (p places) imported() *task.Source {
	var s task.Source
	text, err := os.ReadFile(filepath.Join(p.State, importedFile))
	if err != nil || json.Unmarshal(text, &s) != nil {
		return nil
	}
	return &s
}
