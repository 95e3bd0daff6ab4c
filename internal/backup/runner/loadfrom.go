package runner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/tables"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
)

// loadFrom loads tables of a server that is in use into a living cluster. It may be cut off anywhere, as load may: what
// was not compared has no final name, and another round copies what the server holds then.
func loadFrom(ctx context.Context, t task.Load) (task.Result, error) {
	return loadOnce(ctx, t, func(to tables.Target) (task.Result, error) { return loadSource(ctx, t, to) })
}

func loadSource(ctx context.Context, t task.Load, to tables.Target) (task.Result, error) {
	source, err := openSource(*t.From)
	if err != nil {
		return task.Result{}, err
	}
	defer func() { _ = source.Close() }()
	var version string
	if err := to.DB.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return task.Result{}, loadError(err)
	}
	have, err := checkSource(ctx, source, *t.From, wanted(*t.From, version))
	switch {
	case err != nil:
		return task.Result{}, err
	case len(have.Findings) > 0: // it has changed since it was checked
		return task.Result{Source: have}, nil
	}
	if err := roomInCluster(have.Bytes, t.VolumeBytes); err != nil {
		return task.Result{}, err
	}
	l, r, err := copyRounds(ctx, t, to, source)
	if err != nil {
		return task.Result{}, copiedError(err)
	}
	out := loadedResult(t, l)
	out.Source = &task.Source{Version: have.Version, GTID: l.GTID, Tables: l.Tables, Bytes: have.Bytes, Rows: l.Rows,
		LockedMilliseconds: r.LockedMilliseconds}
	return out, nil
}

// copyRounds copies and compares until it has succeeded, and gives the tables their names.
func copyRounds(ctx context.Context, t task.Load, to tables.Target, source *sql.DB) (l tables.Loaded,
	r external.Report, err error) {
	s, of, o, b := selection(t), loadName(t.Attempt), options(*t.From), newBoard(time.Now())
	o.Progress = b.set
	serving, end := context.WithCancel(ctx)
	defer end()
	go b.serve(serving, task.CopiedDir)
	for round := 1; ; round++ {
		var taken tables.Taken
		say("copying %s", s)
		b.again(time.Now())
		if taken, r, err = to.Copy(ctx, source, s, tables.Round(of, round), o); err == nil {
			l = tables.Loaded{Tables: r.Tables, Rows: r.Rows, LeftOut: taken.LeftOut, GTID: r.GTID}
			err = to.Publish(ctx, s, taken, l)
		}
		var broken external.SourceError
		if err == nil || round == maxRounds || final(err) || errors.As(err, &broken) || !pauseLoad(ctx, err) {
			return l, r, err
		}
		// The tables may have got their names without an answer: nothing is copied again before that is known.
		if done, err := beginLoad(ctx, to, s); err != nil {
			return l, r, err
		} else if done != nil {
			return *done, r, nil
		}
	}
}

// copiedError gives an error its reason: that of a copy, if it is the source's.
func copiedError(err error) error {
	if source := (external.SourceError{}); errors.As(err, &source) && !errors.Is(err, external.ErrTooLarge) {
		return explained(err)
	}
	return loadError(err)
}

// roomInCluster refuses tables that are larger than the volumes of a cluster: they are written to the binary log as
// well.
func roomInCluster(bytes, volume int64) error {
	if need := 2 * bytes; volume > 0 && need > volume {
		return fatal(task.ReasonDiskFull, fmt.Errorf("the tables take about %d MiB, and as much in the binary log, and the "+
			"volumes of the cluster have %d MiB: give it larger ones (spec.storage.size)", bytes>>20, volume>>20))
	}
	return nil
}
