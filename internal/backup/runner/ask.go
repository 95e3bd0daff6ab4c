package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/pipe"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// ask has the container with the keys and the store answer. Its failures are as if they had happened here.
func (p places) ask(ctx context.Context, r pipe.Request, to pipe.Sink) (pipe.End, error) {
	e, err := pipe.Ask(ctx, p.pipe, r, to)
	switch {
	case errors.Is(err, pipe.ErrBroken):
		return e, because(task.ReasonToolFailed, fmt.Errorf(
			"the container that reads the store has ended, or was killed, before all data had arrived: %w", err))
	case err != nil:
		return e, err
	case e.Error != "":
		return e, failure{reason: e.Reason, fatal: e.Fatal, err: errors.New(e.Error), damaged: e.Damaged}
	}
	return e, nil
}

func (p places) manifest(ctx context.Context) (manifest.Manifest, error) { return p.manifestOf(ctx, 0) }

// chain returns the manifests of the backup and of those that it adds to: its own first, that of the full one last.
func (p places) chain(ctx context.Context) (all []manifest.Manifest, err error) {
	for step := 0; step == 0 || all[step-1].Base != nil; step++ {
		m, err := p.manifestOf(ctx, step)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func (p places) manifestOf(ctx context.Context, step int) (manifest.Manifest, error) {
	e, err := p.ask(ctx, pipe.Request{What: pipe.Manifest, Step: step}, sequential{io.Discard})
	if err == nil && e.Manifest == nil {
		err = because(task.ReasonToolFailed, errors.New("the container that reads the store has sent no manifest"))
	}
	if err != nil {
		return manifest.Manifest{}, err
	}
	return *e.Manifest, nil
}

// archive tests the archive around the backup, and returns how many of its segments were read.
func (p places) archive(ctx context.Context) (int, error) {
	e, err := p.ask(ctx, pipe.Request{What: pipe.Archive}, sequential{io.Discard})
	return e.Segments, err
}

// stream writes all of a step of the chain to a writer.
func (p places) stream(ctx context.Context, m manifest.Manifest, step int, to io.Writer) error {
	e, err := p.ask(ctx, pipe.Request{What: pipe.Stream, Step: step}, sequential{to})
	if err == nil && e.Bytes != m.StreamBytes {
		err = failure{reason: task.ReasonBackupDamaged, damaged: m.ID,
			err: fmt.Errorf("%d bytes have arrived, and the manifest names %d", e.Bytes, m.StreamBytes)}
	}
	return err
}

// relay writes the wanted transactions after a base to a file.
func (p places) relay(ctx context.Context, base binlog.GTID, to *os.File) (pipe.Relayed, error) {
	e, err := p.ask(ctx, pipe.Request{What: pipe.Relay, Base: base}, logFile{to})
	switch {
	case err != nil && !isStore(err):
		return pipe.Relayed{}, because(task.ReasonDiskFull, err)
	case err != nil:
		return pipe.Relayed{}, err
	case e.Relayed == nil:
		return pipe.Relayed{}, because(task.ReasonToolFailed,
			errors.New("the container that reads the store has sent no transactions"))
	}
	return *e.Relayed, nil
}

// sequential is a Sink of which nothing is dropped again.
type sequential struct{ io.Writer }

// Truncate implements pipe.Sink.
func (sequential) Truncate(int64) error { return errors.New("a backup's stream cannot be truncated") }

// logFile is a Sink.
type logFile struct{ *os.File }

// Truncate implements pipe.Sink.
func (f logFile) Truncate(size int64) error {
	if err := f.File.Truncate(size); err != nil {
		return err
	}
	_, err := f.Seek(size, io.SeekStart)
	return err
}
