package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"gocloud.dev/blob"
	"golang.org/x/sync/errgroup"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// readers is how many heads are read at the same time, batch how many before it is looked whether they go back far enough.
const (
	readers = 16
	batch   = 128
)

// target finds the backup for a point in time, and the segments of the archive that lead there.
func target(ctx context.Context, bucket *store.Bucket, t task.Find, found []place) (base string, r *task.Replay, err error) {
	var refused error
	for _, f := range found {
		a := walk{bucket: bucket, dir: binlog.Dir(f.dir)}
		b, err := a.base(ctx, f)
		if err != nil {
			return "", nil, err
		}
		if !t.Target.Before(b) {
			if refused == nil {
				refused = fmt.Errorf("the backup %s, at %s, is not before it%s", f.id, b.Time.UTC().Format("2006-01-02T15:04:05Z"), without(b))
			}
			continue
		}
		chosen, err := a.choose(ctx, b, *t.Target)
		if err != nil {
			return "", nil, err
		}
		return path.Join(f.dir, f.id), &task.Replay{Target: *t.Target, From: chosen.From, To: chosen.To, Bytes: chosen.Bytes, Domain: b.GTID.Domain}, nil
	}
	if refused == nil {
		refused = fmt.Errorf("there is no complete backup %s below %q", t.ID, t.Dir)
	}
	return "", nil, fatal(task.ReasonOutside, fmt.Errorf("%s cannot be restored: %w", *t.Target, refused))
}

func without(b binlog.Base) string {
	if b.GTID == (binlog.GTID{}) {
		return ", or tells no GTID that the archive knows: it was made before spec.backup.pointInTime was enabled"
	}
	return ""
}

// walk goes through the archive of one cluster.
type walk struct {
	bucket  *store.Bucket
	dir     string
	numbers []uint64
}

// base reads what a backup says of its position, in the domain of the archive.
func (w *walk) base(ctx context.Context, f place) (binlog.Base, error) {
	m, _, err := readManifest(ctx, w.bucket, path.Join(f.dir, f.id))
	if err != nil {
		return binlog.Base{}, err
	}
	b := binlog.Base{ID: f.id, Time: m.CompletedAt}
	if w.numbers, err = w.list(ctx); err != nil || len(w.numbers) == 0 {
		return b, err
	}
	last, err := w.head(ctx, w.numbers[len(w.numbers)-1])
	if err != nil {
		return b, err
	}
	b.GTID, _ = binlog.In(m.GTID, last.Last.Domain)
	return b, nil
}

func (w *walk) list(ctx context.Context) (out []uint64, err error) {
	objects := w.bucket.List(&blob.ListOptions{Prefix: w.dir + "/"})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, stored("the archive could not be listed", err)
		}
		if n, ok := binlog.Number(o.Key); ok {
			out = append(out, n)
		}
	}
}

func (w *walk) head(ctx context.Context, number uint64) (h binlog.Head, err error) {
	err = again(ctx, "a segment could not be read", func(ctx context.Context) error {
		h, err = store.Head(ctx, w.bucket, path.Join(w.dir, binlog.Name(number)))
		return err
	})
	return h, err
}

// choose reads heads, the last ones first, until they go back to the base.
func (w *walk) choose(ctx context.Context, b binlog.Base, t binlog.Target) (binlog.Range, error) {
	var heads []binlog.Head
	for left := w.numbers; len(left) > 0; {
		cut := max(0, len(left)-batch)
		some, err := w.heads(ctx, left[cut:])
		if err != nil {
			return binlog.Range{}, err
		}
		heads, left = append(some, heads...), left[:cut]
		if binlog.GoesOn(some[0], b) {
			break
		}
	}
	through, err := w.through(ctx)
	if err != nil {
		return binlog.Range{}, err
	}
	r, err := binlog.Choose(heads, b, t, through)
	if err != nil {
		return r, fatal(task.ReasonOutside, err)
	}
	return r, nil
}

func (w *walk) heads(ctx context.Context, numbers []uint64) ([]binlog.Head, error) {
	out := make([]binlog.Head, len(numbers))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i, n := range numbers {
		g.Go(func() (err error) {
			out[i], err = w.head(ctx, n)
			return err
		})
	}
	return out, g.Wait()
}

func (w *walk) through(ctx context.Context) (t binlog.Through, err error) {
	text, err := w.bucket.ReadAll(ctx, path.Join(w.dir, binlog.ThroughName))
	switch {
	case store.Missing(err):
		return t, nil
	case err != nil:
		return t, stored("an object could not be read", err)
	}
	return t, json.Unmarshal(text, &t)
}

// readBase is what the restored copy itself says of its position: the files of mariadb-backup.
func readBase(m manifest.Manifest, info string, domain uint32) (binlog.GTID, error) {
	have, _ := binlog.In(info, domain)
	want, _ := binlog.In(m.GTID, domain)
	if have != want || have == (binlog.GTID{}) {
		return have, fatal(task.ReasonDamaged, fmt.Errorf("the copy says that it is at the GTID %q, and its manifest says %q", info, m.GTID))
	}
	return have, nil
}
