package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// readers is how many heads are read at the same time, batch how many are read together.
const (
	readers = store.Parallel
	batch   = 128
)

// target finds the backup for a point in time, and the segments of the archive that lead there: the latest backup
// before it that they lead on from.
func target(ctx context.Context, bucket *store.Bucket, t task.Find, found []place) (base string, r *task.Replay,
	err error) {
	var refused error
	var a walk
	for _, f := range found { // of one cluster (pick)
		if a.bucket == nil { // what was read for one backup is not read again for an earlier one
			a = walk{bucket: bucket, dir: binlog.Dir(f.dir)}
		}
		r, why, err := a.findSegments(ctx, f, t)
		if err != nil {
			return "", nil, err
		}
		if why == nil {
			return path.Join(f.dir, f.id), r, nil
		}
		// Earlier backups do not count: one would decide what an ambiguous GTID means, and a doubt is the same with all.
		if errors.As(why, &ambiguous{}) || errors.As(why, new(policy.Doubtful)) {
			return "", nil, fatal(task.ReasonPointInTimeUnavailable, why)
		}
		if refused == nil {
			refused = why
		}
	}
	if refused == nil {
		refused = fmt.Errorf("%s cannot be restored: there is no complete backup %s below %q", *t.Target, t.ID, t.Dir)
	}
	return "", nil, fatal(task.ReasonPointInTimeUnavailable, refused)
}

// findSegments finds the segments that lead from one backup to a point in time. why is the reason when there are none.
func (w *walk) findSegments(ctx context.Context, f place, t task.Find) (r *task.Replay, why, err error) {
	refuse := func(of time.Time, why string) error {
		return fmt.Errorf("%s cannot be restored with the backup %s, of %s: %s", *t.Target, f.id,
			of.UTC().Format("2006-01-02T15:04:05Z"), why)
	}
	// Without reading the archive, which may be long.
	if at := t.Target.Second(); !t.Target.Time.IsZero() && f.completed.After(at) {
		return nil, refuse(f.completed, policy.NotBefore), nil
	}
	b, err := w.base(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	if why := policy.Before(b, *t.Target); why != "" {
		return nil, refuse(b.Time, why), nil
	}
	chosen, why, err := w.choose(ctx, b, *t.Target)
	if why == nil && err == nil && t.ID == "" {
		why, err = w.twice(ctx, f.id, chosen, *t.Target)
	}
	if why != nil || err != nil {
		return nil, why, err
	}
	if t.After != "" {
		if why, err := w.after(ctx, t.After); why != "" || err != nil {
			return nil, refuse(b.Time, why), err
		}
	}
	return &task.Replay{Target: *t.Target, From: chosen.From, To: chosen.To, Bytes: chosen.Bytes, Sum: chosen.Sum,
		Domain: b.GTID.Domain, Chain: chosen.Chain}, nil, nil
}

// after reports why the archive is none that has begun when all of another cluster was followed up to a transaction.
func (w *walk) after(ctx context.Context, last string) (why string, err error) {
	g, err := binlog.Parse(last)
	if err != nil {
		return "", err
	}
	h, err := w.head(ctx, w.numbers[len(w.numbers)-1])
	if err == nil && len(policy.Foreign(h, []binlog.GTID{g})) > 0 {
		why = "the archive has not begun again since its cluster has taken over after " + last
	}
	return why, err
}

// ambiguous is why a GTID may name two transactions.
type ambiguous struct{ error }

// twice reports why the GTID of a target may be that of another transaction, too, than the one that a backup leads to.
func (w *walk) twice(ctx context.Context, id string, chosen policy.Range, t binlog.Target) (why, err error) {
	if chosen.Also.Known() {
		return twoOf(t, fmt.Sprintf("one that the backup %s leads to, and one in a later part of the archive, in the line "+
			"of history %s", id, chosen.Also)), nil
	}
	a := policy.Archive{Numbers: w.numbers, Head: func(n uint64) (binlog.Head, error) { return w.readHead(ctx, n) }}
	h, err := policy.Earlier(a, chosen.Chain, t)
	if err != nil || h.Number == 0 {
		return nil, err
	}
	return twoOf(t, fmt.Sprintf("one that the backup %s leads to, and one in an earlier part of the archive, which ends "+
		"at %s in the line of history %s", id, h.Last, h.Line())), nil
}

// twoOf is why a GTID that two transactions may have is no target.
func twoOf(t binlog.Target, which string) error {
	return ambiguous{fmt.Errorf("%s cannot be restored, because two transactions may have it: %s. Name the backup to "+
		"begin with (backup, or store.id), or a time instead of the GTID", t, which)}
}

// walk goes through the archive of one cluster.
type walk struct {
	bucket  *store.Bucket
	dir     string
	numbers []uint64
	kept    *kept
}

// base reads what a backup says of its position, in the domain of the archive.
func (w *walk) base(ctx context.Context, f place) (policy.Base, error) {
	m, _, err := readManifest(ctx, w.bucket, path.Join(f.dir, f.id))
	if err != nil {
		return policy.Base{}, err
	}
	b := policy.Base{ID: f.id, Time: m.CompletedAt}
	if m.ID = f.id; m.GTID == "" {
		return b, nil
	}
	if w.numbers == nil {
		w.numbers, err = w.list(ctx)
	}
	if err != nil || len(w.numbers) == 0 {
		return b, err
	}
	domain, err := w.domain(ctx)
	return policy.BaseOf(m, domain), err
}

// domain is that of the archive's GTIDs, by its last head that can be read.
func (w *walk) domain(ctx context.Context) (uint32, error) {
	for i := len(w.numbers) - 1; i >= max(0, len(w.numbers)-batch); i-- {
		h, err := w.readHead(ctx, w.numbers[i])
		if err != nil || h.Unreadable == "" {
			return h.Last.Domain, err
		}
	}
	return 0, damagedArchive(w.numbers[len(w.numbers)-1], "it cannot be read, and those before it neither")
}

// list returns the numbers of the segments, in order. Each directory is listed on its own: for a page of a list, the
// library goes through all files of a volume below its prefix. A listing may be late: the segments after the last one
// that it has are asked for by name.
func (w *walk) list(ctx context.Context) (out []uint64, err error) {
	parts, err := directories(ctx, w.bucket, w.dir)
	for i := 0; i < len(parts) && err == nil; i++ {
		objects := w.bucket.List(&blob.ListOptions{Prefix: parts[i] + "/"})
		for {
			var o *blob.ListObject
			if o, err = objects.Next(ctx); err != nil {
				break
			}
			if n, ok := binlog.Number(o.Key); ok {
				out = append(out, n)
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return nil, stored("the archive could not be listed", err)
	}
	slices.Sort(out)
	for n := len(out); n > 0; n = len(out) {
		_, err := w.readHead(ctx, out[n-1]+1)
		if isGone(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		out = append(out, out[n-1]+1)
	}
	return out, nil
}

// head reads that of a segment.
func (w *walk) head(ctx context.Context, number uint64) (binlog.Head, error) {
	h, err := w.readHead(ctx, number)
	if err == nil && h.Unreadable != "" {
		err = damagedArchive(number, h.Unreadable)
	}
	return h, err
}

// readHead reads the head of a segment. One that is damaged is Unreadable; the error of one that is missing is isGone.
func (w *walk) readHead(ctx context.Context, number uint64) (h binlog.Head, err error) {
	err = again(ctx, "a segment could not be read", func(ctx context.Context) error {
		h, err = store.Head(ctx, w.bucket, path.Join(w.dir, binlog.Key(number)))
		switch {
		case errors.Is(err, store.ErrHead):
			h, err = binlog.Head{Number: number, Unreadable: err.Error()}, nil
		case err == nil && h.Number != number:
			h = binlog.Head{Number: number, Unreadable: "it names itself the segment " + binlog.Name(h.Number)}
		case store.Missing(err):
			err = goneSegment(number)
		}
		return err
	})
	return h, err
}

// choose reads heads around the base, and from there to the target. A damaged one is a break in the archive: points
// before it can be restored.
func (w *walk) choose(ctx context.Context, b policy.Base, t binlog.Target) (r policy.Range, why, err error) {
	through, err := w.through(ctx)
	if err != nil {
		return r, nil, err
	}
	r, why = policy.ChooseOf(w.archive(ctx), b, t, through)
	switch gone := w.kept.gone; {
	case w.kept.err != nil:
		return policy.Range{}, nil, w.kept.err
	case (why != nil || t.Latest) && through.Segment > w.last():
		return policy.Range{}, nil, w.cut(ctx, through.Segment)
	case gone > 0 && (why != nil || gone >= r.From): // retention removes what is before all that is needed
		return policy.Range{}, nil, goneSegment(gone)
	}
	return r, why, nil
}

// last is the number of the last segment, 0 for none.
func (w *walk) last() uint64 {
	if len(w.numbers) == 0 {
		return 0
	}
	return w.numbers[len(w.numbers)-1]
}

// cut is the error of an archive whose end is missing: what is called the latest would not be.
func (w *walk) cut(ctx context.Context, end uint64) error {
	if w.last() == 0 {
		return because(task.ReasonArchiveDamaged, fmt.Errorf("the archive ends with the segment %s, and the store has none",
			binlog.Name(end)))
	}
	last, err := w.head(ctx, w.last())
	if err != nil {
		return err
	}
	return because(task.ReasonArchiveDamaged, fmt.Errorf("the archive ends with the segment %s, and the store has none "+
		"after %s. To restore what there is, name its last transaction: gtid %s", binlog.Name(end), binlog.Name(last.Number),
		last.Last))
}

// heads reads some.
func (w *walk) heads(ctx context.Context, numbers []uint64) ([]binlog.Head, error) {
	out := make([]binlog.Head, len(numbers))
	err := each(ctx, len(numbers), func(ctx context.Context, i int) (err error) {
		out[i], err = w.readHead(ctx, numbers[i])
		return err
	})
	return out, err
}

// through is until when nothing was written. One that cannot be read states nothing, as for the archiver.
func (w *walk) through(ctx context.Context) (t binlog.Through, err error) {
	text, err := w.bucket.ReadAll(ctx, path.Join(w.dir, binlog.ThroughName))
	switch {
	case store.Missing(err):
		return t, nil
	case err != nil:
		return t, stored("an object could not be read", err)
	}
	if json.Unmarshal(text, &t) != nil {
		return binlog.Through{}, nil
	}
	return t, nil
}

// readBase is what the restored copy itself says of its position: the files of mariadb-backup.
func readBase(m manifest.Manifest, info string, domain uint32) (binlog.GTID, error) {
	have, _ := binlog.In(info, domain)
	want, _ := binlog.In(m.GTID, domain)
	if have != want || have == (binlog.GTID{}) {
		return have, fatal(task.ReasonBackupDamaged, fmt.Errorf(
			"the copy states that it is at the GTID %q, and its manifest says %q", info, m.GTID))
	}
	return have, nil
}
