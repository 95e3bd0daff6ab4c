package runner

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/tables"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

const (
	// maxRounds is how often a load that breaks off is begun anew, with the data that are restored already, loadPause the
	// time between: a cluster has another primary by then.
	maxRounds = 5
	loadPause = 15 * time.Second
	// clusterPort is that of a cluster's Services.
	clusterPort = 3306
	// maxLeftOut bounds what a result names of what was left out, in bytes.
	maxLeftOut = 1500
)

// load restores a backup on this pod's volume, and loads tables of it into a living cluster. It may be cut off
// anywhere: what is not complete has no final name, and the next attempt goes on from what was compared, or begins
// anew.
func load(ctx context.Context, t task.Load, p places) (task.Result, error) {
	return loadOnce(ctx, t, func(to tables.Target) (task.Result, error) { return loadRestored(ctx, t, p, to) })
}

// loadOnce loads into the cluster what an earlier attempt has not loaded.
func loadOnce(ctx context.Context, t task.Load, load func(tables.Target) (task.Result, error)) (task.Result, error) {
	db, err := openCluster()
	if err != nil {
		return task.Result{}, err
	}
	defer func() { _ = db.Close() }()
	to := tables.Target{DB: db, Database: t.Through}
	if done, err := loadedBefore(ctx, to, selection(t)); err != nil {
		return task.Result{}, err
	} else if done != nil {
		return loadedResult(t, *done), nil
	}
	return load(to)
}

func loadRestored(ctx context.Context, t task.Load, p places, to tables.Target) (task.Result, error) {
	m, err := p.manifest(ctx)
	if err != nil {
		return task.Result{}, err
	}
	t.Settings = onItsOwn(t.Settings, m)
	if t.Replay != nil {
		replay := *t.Replay
		replay.Settings, t.Replay = t.Settings, &replay
	}
	p.encrypted = len(m.Keys) > 0 // nor do the temporary files of the server hold rows in clear
	r, err := restore(ctx, t.Restore, p)
	if err != nil {
		return task.Result{}, err
	}
	memory := loadMemory(t)
	source, end, err := serve(ctx, t.Settings, p, poolOf(memory, 1)...)
	if err != nil {
		return task.Result{}, err
	}
	defer end()
	of := loadName(t.Attempt)
	taken, err := tables.Take(ctx, source, selection(t), t.Through, tables.Round(of, 0))
	if err != nil {
		return task.Result{}, loadError(err)
	}
	if err := fitsCluster(p, taken.Bytes, t.VolumeBytes); err != nil {
		return task.Result{}, err
	}
	l, err := loadRounds(ctx, t, of, to, source, taken, external.Options{Memory: memory}, *r.Restored)
	if err != nil {
		return task.Result{}, loadError(err)
	}
	return loadedResult(t, l), nil
}

// loadMemory is what the load may take. The server with the restored data runs in the same container.
func loadMemory(t task.Load) external.Memory {
	return external.Memory{Limit: t.MemoryBytes, Shared: true, FromSource: true, Pool: bufferPool(t.Settings)}
}

func selection(t task.Load) tables.Selection {
	return tables.Selection{Database: t.Database, Table: t.Table, Into: t.Into, As: t.As}
}

// loadedBefore returns what an earlier attempt has loaded, nil if none has and the names are free.
func loadedBefore(ctx context.Context, to tables.Target, s tables.Selection) (*tables.Loaded, error) {
	done, err := beginLoad(ctx, to, s)
	if done != nil && err == nil {
		say("an attempt before has loaded all of %s", s)
		return done, nil
	}
	if err == nil {
		err = to.Free(ctx, s, []string{s.As})
	}
	return nil, loadError(err)
}

// loadName is that of this process's load in the names of tables.
func loadName(attempt int32) string {
	return fmt.Sprintf("%d_%s", attempt, strings.ToLower(rand.Text()[:8]))
}

func loadedResult(t task.Load, l tables.Loaded) task.Result {
	return task.Result{Loaded: &task.Loaded{ID: t.ID, Tables: l.Tables, Rows: l.Rows, GTID: l.GTID, Late: l.Late,
		LeftOut: brief(l.LeftOut)}}
}

// openCluster returns connections to the primary of the cluster.
func openCluster() (*sql.DB, error) {
	file := func(name string) []byte {
		text, _ := os.ReadFile(filepath.Join(task.ClusterDir, name)) // one that is missing is refused by what needs it
		return bytes.TrimRight(text, "\r\n")
	}
	db, err := external.Server{Host: string(file(task.ClusterHost)), Port: clusterPort,
		User: string(file(task.ClusterUser)), Password: string(file(task.ClusterPassword)),
		CA: file(task.CA), Identity: true}.OpenTarget()
	if err != nil {
		return nil, because(task.ReasonLoadFailed, fmt.Errorf("the account of the cluster: %w", err))
	}
	return db, nil
}

// beginLoad begins at the cluster, which may be about to get another primary.
func beginLoad(ctx context.Context, to tables.Target, s tables.Selection) (done *tables.Loaded, err error) {
	for round := 1; ; round++ {
		if done, err = to.Begin(ctx, s); err == nil || round == maxRounds || final(err) {
			return done, err
		}
		if !pauseLoad(ctx, err) {
			return nil, err
		}
	}
}

// loadRounds loads and compares until it has succeeded, and gives the tables their names.
func loadRounds(ctx context.Context, t task.Load, of string, to tables.Target, source *sql.DB, taken tables.Taken,
	o external.Options, from task.Restored) (l tables.Loaded, err error) {
	s := selection(t)
	began, said := time.Now(), time.Now()
	o.Progress = func(at external.Progress) {
		if time.Since(said) > tellEvery {
			said = time.Now()
			say("%s", at.Describe(time.Since(began)))
		}
	}
	for round := 1; ; round++ {
		say("loading %s: %s with about %d MiB", s, galera.Count(len(taken.Names), "table"), taken.Bytes>>20)
		if l, err = to.Load(ctx, source, taken, o); err == nil {
			l.GTID, l.Late = from.GTID, from.Late // kept in the cluster: another attempt may report them
			err = to.Publish(ctx, s, taken, l)
		}
		var broken external.SourceError
		if err == nil || round == maxRounds || final(err) || errors.As(err, &broken) || !pauseLoad(ctx, err) {
			return l, err
		}
		// The tables may have got their names without an answer: nothing is loaded again before that is known.
		if done, err := beginLoad(ctx, to, s); err != nil {
			return l, err
		} else if done != nil {
			return *done, nil
		}
		if err := taken.Again(ctx, source, t.Through, tables.Round(of, round)); err != nil {
			return l, err
		}
	}
}

// pauseLoad waits before a load goes on, and reports whether it may.
func pauseLoad(ctx context.Context, err error) bool {
	say("the load has broken off, and is begun anew: %s", err)
	select {
	case <-time.After(loadPause):
		return true
	case <-ctx.Done():
		return false
	}
}

// final reports whether another round would fail as well.
func final(err error) bool {
	_, is := explain(loadError(err))
	return is
}

// loadError gives an error its reason.
func loadError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tables.ErrNotFound), errors.Is(err, tables.ErrNoDatabase):
		return fatal(task.ReasonTableNotFound, err)
	case errors.Is(err, tables.ErrExists):
		return fatal(task.ReasonTargetExists, err)
	case errors.Is(err, tables.ErrRefused), errors.Is(err, external.ErrRefused), errors.Is(err, external.ErrTooLarge):
		return fatal(task.ReasonTableRefused, err)
	case external.DiskFull(err): // another attempt would fill the nodes' volumes again
		return fatal(task.ReasonDiskFull, fmt.Errorf("the cluster has no space left: %w", err))
	case errors.Is(err, external.ErrDiffers):
		return because(task.ReasonLoadDiffers, err)
	}
	return because(task.ReasonLoadFailed, err)
}

// serve starts a server on the restored data that only this process connects to, until end is called.
func serve(ctx context.Context, all map[string]string, p places, more ...string) (source *sql.DB, end func(),
	err error) {
	password := rand.Text() + "-" + strings.ToLower(rand.Text())
	init, account := filepath.Join(p.Tmp, "load.sql"), "'"+importer+"'@'localhost'"
	text := "CREATE OR REPLACE USER " + account + " IDENTIFIED BY '" + password + "';\nGRANT ALL ON *.* TO " + account +
		" WITH GRANT OPTION;\n"
	if err := os.WriteFile(init, []byte(text), 0o600); err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.Remove(init) }()
	args := append(settings(all), "--event-scheduler=OFF", "--wsrep-on=OFF", "--init-file="+init, "--read-only=OFF",
		"--innodb-flush-log-at-trx-commit=0", "--max-allowed-packet=1G")
	proc, err := mariadbd.Start(p.table, p.serverOn(p.Data, append(args, more...)...))
	if err != nil {
		return nil, nil, because(task.ReasonToolFailed, err)
	}
	kill := func() {
		proc.Kill() // the data are thrown away
		<-proc.Done()
	}
	check, err := connectAs(ctx, importer, password, p.Socket(), proc)
	if err == nil {
		_ = check.Close()
		source, err = external.OpenSource(p.Socket(), importer, password)
	}
	if err != nil {
		kill()
		return nil, nil, err
	}
	return source, func() {
		_ = source.Close()
		kill()
	}, nil
}

// fitsCluster refuses what the volumes of the cluster have no space for: what the restored data take is about what the
// cluster's do. The tables are written to the binary log as well.
func fitsCluster(p places, bytes, volume int64) error {
	used, err := sizeOf(p.Data)
	if err != nil || volume == 0 {
		return err
	}
	if need := used + 2*bytes; need > volume {
		return fatal(task.ReasonDiskFull, fmt.Errorf("the data of the cluster take about %d MiB of its volumes of %d MiB, "+
			"and the tables %d MiB, and as much in the binary log: give the cluster larger volumes (spec.storage.size)",
			used>>20, volume>>20, bytes>>20))
	}
	return nil
}

// sizeOf is what the files of a directory take.
func sizeOf(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) { // a temporary file of the server
			return nil
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return total, err
}

// brief names some of what was left out, and counts the others.
func brief(names []string) (out []string) {
	size := 0
	for i, n := range names {
		n = strings.ToValidUTF8(n[:min(len(n), maxSkippedText)], "")
		if size += len(n); size > maxLeftOut || i == maxSkipped-1 && len(names) > maxSkipped {
			return append(out, fmt.Sprintf("and %d more", len(names)-i))
		}
		out = append(out, n)
	}
	return out
}
