package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"
	"golang.org/x/sync/errgroup"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/retention"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// idTime is how an ID begins (taking.ID).
const idTime = "20060102-150405"

// maxListed bounds how many directories are read.
const maxListed = 20000

// place is where a backup lies.
type place struct {
	dir, id string
	// completed is when it was complete, as its manifest says: the time of the object is that of its last copy.
	completed time.Time
	// line is the line of history that it is of, "" where that is not known, and seqno where in it.
	line  string
	seqno int64
	// base is the ID of the backup that it is an increment of, "" for a full one.
	base string
	// broken is why its manifest cannot be read, or its chain is not whole, nil for neither.
	broken error
	// refused reports whether the store does not give its manifest out: nothing is known of it then.
	refused bool
	// orphan reports whether its manifest can be read, and its chain is not whole.
	orphan bool
}

// levels are the directories above a backup's objects: namespace, cluster, UID, ID (manifest.Dir).
const levels = 4

// list finds the backups below a directory that have a manifest, the newest first. It asks for directories, not for
// their many parts.
func list(ctx context.Context, bucket *store.Bucket, dir string) ([]place, error) {
	dirs := []string{dir}
	for range levels - depth(dir) {
		var err error
		if dirs, err = below(ctx, bucket, dirs); err != nil {
			return nil, err
		}
	}
	all := make([]*place, len(dirs))
	err := each(ctx, len(dirs), func(ctx context.Context, i int) (err error) {
		all[i], err = placeAt(ctx, bucket, dirs[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	brokenChains(all)
	var out []place
	for _, p := range all {
		if p != nil {
			out = append(out, *p)
		}
	}
	return latestFirst(out), nil
}

// below returns the directories right below some: of many clusters, one after the other would take minutes.
func below(ctx context.Context, bucket *store.Bucket, dirs []string) ([]string, error) {
	var count atomic.Int64
	found := make([][]string, len(dirs))
	err := each(ctx, len(dirs), func(ctx context.Context, i int) (err error) {
		found[i], err = directories(ctx, bucket, dirs[i])
		if err == nil && count.Add(int64(len(found[i]))) > maxListed {
			err = fmt.Errorf("more than %d directories: keep backups in a bucket, or under a prefix, of their own", maxListed)
		}
		return err
	})
	return slices.Concat(found...), err
}

// each does something for each of some numbers, for up to readers of them at the same time, until one fails.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i := range n {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// latestFirst sorts backups. Within a line of history the seqno decides: the clock that a backup's time goes by may
// have been wrong. It is pure.
func latestFirst(all []place) []place {
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(strings.Compare(a.line, b.line), cmp.Compare(a.seqno, b.seqno), a.ended().Compare(b.ended()))
	})
	at := make(map[*place]time.Time, len(all))
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].line == all[from].line {
			to++
		}
		times := make([]time.Time, 0, to-from)
		for _, p := range all[from:to] {
			times = append(times, p.ended())
		}
		for i, t := range retention.Consistent(times) {
			at[&all[from+i]] = t
		}
		from = to
	}
	order := make([]*place, len(all))
	for i := range all {
		order[len(all)-1-i] = &all[i] // of one time, the last of the line first
	}
	slices.SortStableFunc(order, func(a, b *place) int { return at[b].Compare(at[a]) })
	out := make([]place, len(all))
	for i, p := range order {
		out[i] = *p
	}
	return out
}

// ended is when it was complete at the earliest: not before the time that its ID begins with, which is by the API
// server's clock. That of its Job may have been behind, and would make a whole line of history older than an earlier
// one.
func (p place) ended() time.Time {
	begun, err := time.Parse(idTime, p.id[:min(len(p.id), len(idTime))])
	if err == nil && begun.After(p.completed) {
		return begun
	}
	return p.completed
}

// placeAt is the backup in a directory, nil for one that is being made, or was cut off.
func placeAt(ctx context.Context, bucket *store.Bucket, dir string) (*place, error) {
	key, p := path.Join(dir, manifest.Name), place{dir: path.Dir(dir), id: path.Base(dir)}
	text, err := readHead(ctx, bucket, key, manifest.HeadSize)
	var m manifest.Manifest
	if err == nil {
		m, p.broken = manifest.ParseHead(text)
	}
	if errors.Is(p.broken, manifest.ErrCut) {
		if text, err = readHead(ctx, bucket, key, manifest.MaxSize); err == nil {
			m, p.broken = manifest.ParseHead(text)
		}
	}
	if store.Missing(err) {
		return nil, nil
	}
	if err != nil {
		_, p.refused = store.Reason(err) // as an archived object, or one whose key is disabled: others can be read
		p.broken = fmt.Errorf("%s: %s", key, store.Explain(err))
		if !p.refused {
			return nil, err
		}
		return &p, nil
	}
	if m.Base != nil {
		p.base = m.Base.ID
	}
	if at, bad := galera.ParsePosition(m.Position); bad == nil && m.Line.Known() {
		p.line, p.seqno = path.Join(p.dir, m.Line.String()), at.Seqno
	}
	if p.completed = m.CompletedAt; p.broken == nil && m.ID != p.id {
		p.broken = fmt.Errorf("the manifest is that of the backup %q", m.ID)
	}
	return &p, nil
}

// readHead reads the first bytes of an object.
func readHead(ctx context.Context, bucket *store.Bucket, key string, size int64) ([]byte, error) {
	r, err := bucket.NewRangeReader(ctx, key, 0, size, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(r)
}

// pick returns the backups that a restore may be of, the newest first. One name may have been that of several clusters,
// here or elsewhere: which of them is meant is never guessed. It is pure.
func pick(found []place, t task.Find) ([]place, error) {
	if t.ID != "" {
		found = slices.DeleteFunc(slices.Clone(found), func(p place) bool { return p.id != t.ID })
	}
	var dirs []string
	for _, p := range found {
		if !slices.Contains(dirs, p.dir) {
			dirs = append(dirs, p.dir)
		}
	}
	if len(dirs) > 1 {
		return nil, fatal(task.ReasonBackupAmbiguous,
			fmt.Errorf("below %q there are backups of %d clusters: set clusterUID to one of %s",
				t.Dir, len(dirs), strings.Join(uids(dirs, found), ", ")))
	}
	if t.ID == "" {
		found = withoutOrphans(exclude(found, slices.Concat(knownDamaged(found, t), notGiven(found, t))), t.Target != nil)
	}
	for _, p := range found {
		if p.broken != nil && t.ID == "" {
			return nil, fatal(p.reason(), fmt.Errorf("the backup %s may be the latest one, but cannot be read (%w): %s",
				p.path(), p.broken, p.remedy(t)))
		}
	}
	return found, nil
}

// reason is that of a backup which cannot be read.
func (p place) reason() string {
	if p.refused {
		return task.ReasonStoreRefused
	}
	return task.ReasonBackupDamaged
}

// remedy returns what to do about a backup that cannot be read, and that nothing rules out.
func (p place) remedy(t task.Find) string {
	switch {
	case t.IDField != "":
		return "set " + t.IDField + " to the backup to restore"
	case p.refused:
		return "make the object readable, or remove the directory of the backup"
	}
	return "put a good copy of its manifest there, or remove the directory of the backup"
}

// withoutOrphans leaves out increments without their bases that are not the latest backup: before a point in time, an
// earlier backup leads there as well.
func withoutOrphans(found []place, all bool) (out []place) {
	for _, p := range found {
		if all = all || p.broken == nil; !p.orphan || !all {
			out = append(out, p)
		}
	}
	return out
}

// uids names the clusters of some directories, and when the latest backup of each was complete.
func uids(dirs []string, found []place) (out []string) {
	for _, d := range dirs[:min(len(dirs), maxReported)] {
		i := slices.IndexFunc(found, func(p place) bool { return p.dir == d })
		when := "whose manifest cannot be read"
		if !found[i].completed.IsZero() {
			when = found[i].completed.UTC().Format(time.RFC3339)
		}
		out = append(out, fmt.Sprintf("%s (latest backup %s, %s)", path.Base(d), found[i].id, when))
	}
	return out
}

func depth(dir string) int {
	if dir == "" {
		return 0
	}
	return strings.Count(dir, "/") + 1
}

// directories are those right below one.
func directories(ctx context.Context, bucket *store.Bucket, dir string) (out []string, err error) {
	o := &blob.ListOptions{Delimiter: "/"}
	if dir != "" {
		o.Prefix = dir + "/"
	}
	objects := bucket.List(o)
	for len(out) <= maxListed {
		object, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if object.IsDir {
			out = append(out, strings.TrimSuffix(object.Key, "/"))
		}
	}
	return out, nil
}
