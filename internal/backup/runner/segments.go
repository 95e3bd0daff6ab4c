package runner

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// contentReaders is how many segments are read whole at the same time.
const contentReaders = 4

// checkArchive tests the archive around a backup, without a key: from the backup before it on, so that tests of all
// backups together read each segment. Every segment is there, follows the one before it, and holds what its head names.
// It returns how many there are, 0 where nothing leads on from the backup.
func checkArchive(ctx context.Context, bucket *store.Bucket, dir string, m manifest.Manifest) (int, error) {
	w := walk{bucket: bucket, dir: binlog.Dir(dir)}
	var err error
	if w.numbers, err = w.list(ctx); err != nil || len(w.numbers) == 0 || m.GTID == "" {
		return 0, err
	}
	last, err := w.head(ctx, w.numbers[len(w.numbers)-1])
	if err != nil {
		return 0, err
	}
	through, err := w.through(ctx)
	if err != nil {
		return 0, err
	}
	if through.Segment > last.Number {
		return 0, damagedArchive(last.Number+1, "it is missing, and the archive ends with the segment "+
			binlog.Name(through.Segment))
	}
	bases := []policy.Base{policy.BaseOf(m, last.Last.Domain)}
	before, err := previous(ctx, bucket, dir, m.ID)
	if err != nil {
		return 0, err
	}
	if before != nil {
		bases = append(bases, policy.BaseOf(*before, last.Last.Domain))
	}
	heads, err := w.back(ctx, bases)
	if err != nil {
		return 0, err
	}
	of, at, why := policy.Check(heads, bases)
	for i := 0; why == "" && i < len(heads); i++ {
		at, why = heads[i].Number, heads[i].Unreadable // it may be the one that goes on from the backup
	}
	if why != "" {
		return 0, damagedArchive(at, why)
	}
	say("reading %s of the archive", galera.Count(len(of), "segment"))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(contentReaders)
	for _, h := range of {
		g.Go(func() error { return w.content(ctx, h) })
	}
	return len(of), g.Wait()
}

func damagedArchive(number uint64, why string) error {
	return fatal(task.ReasonArchiveDamaged, fmt.Errorf("the segment %s of the archive: %s", binlog.Name(number), why))
}

// previous is the manifest of the backup before one, nil for none. IDs begin with the time.
func previous(ctx context.Context, bucket *store.Bucket, dir, id string) (*manifest.Manifest, error) {
	all, err := directories(ctx, bucket, dir)
	if err != nil {
		return nil, stored("the backups could not be listed", err)
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(path.Base(b), path.Base(a)) })
	for _, d := range all {
		if name := path.Base(d); name == binlog.Directory || name >= id {
			continue
		}
		m, _, err := readManifest(ctx, bucket, d)
		if reason, _ := explain(err); err != nil && reason != task.ReasonBackupNotFound &&
			reason != task.ReasonBackupDamaged {
			return nil, err
		}
		if err == nil {
			return &m, nil
		}
	}
	return nil, nil
}

// back reads heads, the last ones first, until they go back to all bases.
func (w *walk) back(ctx context.Context, bases []policy.Base) ([]binlog.Head, error) {
	var batches [][]binlog.Head
	for left := w.numbers; len(left) > 0; {
		cut := max(0, len(left)-batch)
		some, err := w.heads(ctx, left[cut:])
		if err != nil {
			return nil, err
		}
		batches, left = append(batches, some), left[:cut]
		if !slices.ContainsFunc(bases, func(b policy.Base) bool { return !policy.GoesBack(some[0], b) }) {
			break
		}
	}
	slices.Reverse(batches)
	return slices.Concat(batches...), nil
}

// missingSegment is the number of a segment that was listed, and is missing.
type missingSegment uint64

// Error implements error.
func (n missingSegment) Error() string {
	return fmt.Sprintf("the segment %s is missing", binlog.Name(uint64(n)))
}

// goneSegment is the error of such a segment. It may have been removed by retention since then: the next attempt lists
// the archive again.
func goneSegment(number uint64) error {
	return because(task.ReasonArchiveDamaged, missingSegment(number))
}

func isGone(err error) bool { return errors.As(err, new(missingSegment)) }

// content reads a segment whole.
func (w *walk) content(ctx context.Context, h binlog.Head) error {
	return again(ctx, "a segment could not be read", func(ctx context.Context) error {
		r, err := w.bucket.NewReader(ctx, path.Join(w.dir, binlog.Key(h.Number)), nil)
		if store.Missing(err) {
			return goneSegment(h.Number)
		}
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		from := &noting{r: r}
		why := wrongContent(from, h)
		switch {
		case from.err != nil:
			return from.err
		case why != "":
			return damagedArchive(h.Number, why)
		}
		return nil
	})
}

// wrongContent reports why an object is not the segment of a head, "" when it is.
func wrongContent(from io.Reader, h binlog.Head) string {
	r := bufio.NewReaderSize(from, binlog.MaxHead)
	line, err := r.ReadSlice('\n')
	if err != nil {
		return "it has no head"
	}
	if have, _, err := binlog.Decode(line); err != nil || have.Checksum != h.Checksum {
		return "its head is another one than a moment before"
	}
	sum := sha256.New()
	size, err := io.Copy(sum, r)
	switch {
	case err != nil:
		return "it could not be read" // the reader has noted why
	case h.Empty() && size > 0:
		return "it holds data, and its head names none"
	case !h.Empty() && hex.EncodeToString(sum.Sum(nil)) != h.SHA256:
		return "its content is not what its head names"
	}
	return ""
}
