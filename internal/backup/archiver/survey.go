package archiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	// surveyEvery is how often bases and segments are checked while there is no base, and idleEvery while there is one.
	surveyEvery = 20 * time.Second
	idleEvery   = time.Minute
	// pruneEvery is how often what nothing needs is removed, and doomedTime for how long nothing has needed it by then: a
	// listing may be late.
	pruneEvery = 10 * time.Minute
	doomedTime = time.Hour
	// maxHeads bounds how many heads are kept in memory.
	maxHeads = 4096
)

// surveyor looks which backups the archive goes on from, and removes segments that nothing needs.
type surveyor struct {
	store   *archive
	reports *board
	task    task.Archive

	bases    bases
	needed   []policy.Base // that were reported last
	segments segments
	heads    map[uint64]binlog.Head
	last     uint64 // the last segment that was listed before
	doomed   policy.Doomed
	pruned   time.Time
	stuck    string // why the last attempt to remove some has failed, "" if it has not
}

func newSurveyor(files *archive, reports *board, t task.Archive) *surveyor {
	return &surveyor{store: files, reports: reports, task: t, bases: bases{archive: files, known: map[string]manifestOf{}},
		segments: segments{archive: files, parts: map[string]part{}}, heads: map[uint64]binlog.Head{},
		doomed: policy.Doomed{}, pruned: time.Now()}
}

func (s *surveyor) run(ctx context.Context) {
	for {
		if err := s.once(ctx); err != nil && ctx.Err() == nil {
			say("the backups could not be read: %v", err)
			s.reports.kept("the backups could not be read: "+err.Error(), true)
		}
		pause := surveyEvery
		if s.reports.based() {
			pause = idleEvery
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// once checks everything. Where a question fails, what was found before stays.
func (s *surveyor) once(ctx context.Context) error {
	domain, begun := s.reports.archives()
	numbers, err := s.segments.numbers(ctx)
	if !begun {
		s.reports.empty(err == nil && len(numbers) == 0)
	}
	if err != nil || len(numbers) == 0 || !begun {
		return err
	}
	s.reports.set(func(a *task.Archived) { a.Bytes = s.segments.bytes() })
	all, unread, err := s.bases.all(ctx, domain)
	if err != nil {
		return err
	}
	// The last ones may have been lost, and stored anew with what nodes still have.
	maps.DeleteFunc(s.heads, func(n uint64, _ binlog.Head) bool { return n >= s.last })
	s.last = numbers[len(numbers)-1]
	a := policy.Archive{Numbers: numbers, Head: func(n uint64) (binlog.Head, error) { return s.head(ctx, n) }}
	all = slices.DeleteFunc(all, func(b policy.Base) bool { return slices.Contains(s.task.Damaged, b.ID) })
	if err := s.survey(ctx, a, all, domain); err != nil {
		return err
	}
	why := cmp.Or(unread, s.reports.superseded())
	if s.task.KeepAll {
		why = fmt.Sprintf("more than %d backups were found damaged: test them again with spec.verify, or delete them",
			len(s.task.Damaged))
	}
	paused := why != ""
	if paused {
		s.reports.kept(why, false) // first: what is reported then is added to what was known
	}
	if err = s.needs(ctx, a, all, domain, paused); err == nil && !paused {
		err = s.prune(ctx, a, all, domain)
	}
	if err != nil && ctx.Err() == nil {
		say("%v", err)
		why = cmp.Or(why, err.Error())
	}
	if !paused {
		why = cmp.Or(why, s.stuck)
	}
	s.reports.kept(why, false)
	return nil
}

// survey reports what the archive can be used for: nothing yet, while it ends where it was disabled, before it was
// enabled again.
func (s *surveyor) survey(ctx context.Context, a policy.Archive, all []policy.Base, domain uint32) error {
	last := a.Numbers[len(a.Numbers)-1]
	h, err := s.head(ctx, last)
	if err != nil || h.Session != s.task.Session {
		return err
	}
	r, err := policy.Survey(a, all)
	if err != nil {
		return err
	}
	if r.Base.ID != "" && r.Base.ID != s.bases.reported { // it may have been replaced since it was read
		if same, err := s.bases.same(ctx, []policy.Base{r.Base}, domain); err != nil || !same {
			return err // judged anew with the next survey
		}
	}
	s.bases.reported = r.Base.ID
	s.reports.surveyed(last, r)
	return nil
}

// needs reports the backups that the window needs. Until clocks are known, nothing is before it. One that was not
// reported may have been replaced since it was read. Where not all can be judged, what was reported stays, too.
func (s *surveyor) needs(ctx context.Context, a policy.Archive, all []policy.Base, domain uint32, paused bool) error {
	today, known := s.reports.today()
	if !known {
		today = time.Time{}
	}
	needed, err := policy.Needed(a, all, s.window(), today)
	if err != nil {
		return err
	}
	added := slices.DeleteFunc(slices.Clone(needed), func(b policy.Base) bool { return slices.Contains(s.needed, b) })
	if same, err := s.bases.same(ctx, added, domain); err != nil || !same {
		return err // judged anew with the next survey
	}
	if paused {
		needed = append(needed, slices.DeleteFunc(slices.Clone(s.needed),
			func(b policy.Base) bool { return slices.Contains(needed, b) })...)
	}
	s.needed = needed
	s.reports.needs(needed)
	return nil
}

func (s *surveyor) window() time.Duration { return time.Duration(s.task.WindowSeconds) * time.Second }

func (s *surveyor) head(ctx context.Context, number uint64) (binlog.Head, error) {
	if h, ok := s.heads[number]; ok {
		return h, nil
	}
	h, err := s.store.head(ctx, number)
	if err == nil {
		if len(s.heads) >= maxHeads {
			clear(s.heads)
		}
		s.heads[number] = h
	}
	return h, err
}

// prune removes the segments that nothing has needed for a while. The backups that make them needless are read again
// first: one may be gone, or have been replaced.
func (s *surveyor) prune(ctx context.Context, a policy.Archive, all []policy.Base, domain uint32) (err error) {
	now := time.Now()
	if now.Sub(s.pruned) < pruneEvery {
		return nil
	}
	defer func() {
		if s.stuck = ""; err != nil {
			s.stuck = err.Error()
		}
	}()
	s.pruned = now
	today, known := s.reports.today()
	if !known { // no node was asked yet: the own clock may be ahead
		return nil
	}
	needless, relied, err := policy.Prune(a, all, s.window(), today)
	if err != nil {
		return err
	}
	needless = s.doomed.Due(needless, s.bases.read(now), now, doomedTime)
	if len(needless) == 0 {
		return nil
	}
	if same, err := s.bases.same(ctx, relied, domain); err != nil || !same {
		s.pruned = time.Time{} // judged anew with the next survey
		return err
	}
	for _, n := range needless {
		if err := s.store.bucket.Delete(ctx, s.store.key(n)); err != nil && !store.Missing(err) {
			return explained("a segment could not be deleted", err)
		}
		s.segments.forget(n)
		delete(s.heads, n)
	}
	return nil
}

// segments are the numbers that the store has, by directories. Not all of a large archive is listed every time: its
// last directories are, and one of the others.
type segments struct {
	*archive
	parts map[string]part
	next  int
}

// part are the segments of a directory, and their size when it was listed.
type part struct {
	numbers []uint64
	bytes   int64
}

// freshParts is how many of the last directories are always listed.
const freshParts = 2

func (s *segments) numbers(ctx context.Context) (out []uint64, err error) {
	names, err := s.directories(ctx, s.dir)
	if err != nil {
		return nil, err
	}
	s.next++
	parts := map[string]part{}
	for i, name := range names {
		known, ok := s.parts[name]
		if !ok || i >= len(names)-freshParts || i == s.next%len(names) {
			known.numbers, known.bytes, err = s.listSized(ctx, path.Join(s.dir, name)+"/")
			if err != nil {
				return nil, err
			}
		}
		parts[name] = known
		out = append(out, known.numbers...)
	}
	s.parts = parts
	slices.Sort(out)
	return out, nil
}

func (s *segments) forget(number uint64) {
	name := binlog.Part(number)
	p := s.parts[name]
	p.numbers = slices.DeleteFunc(p.numbers, func(n uint64) bool { return n == number })
	s.parts[name] = p
}

// bytes is the size of all segments, as they were listed last.
func (s *segments) bytes() (sum int64) {
	for _, p := range s.parts {
		sum += p.bytes
	}
	return sum
}

// directories are the names of those right below one.
func (a *archive) directories(ctx context.Context, dir string) (out []string, err error) {
	objects := a.bucket.List(&blob.ListOptions{Prefix: dir + "/", Delimiter: "/"})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out, nil
		}
		if err != nil {
			return nil, explained("the store could not be listed", err)
		}
		if o.IsDir {
			out = append(out, path.Base(strings.TrimSuffix(o.Key, "/")))
		}
	}
}
