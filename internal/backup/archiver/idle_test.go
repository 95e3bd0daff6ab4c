package archiver

import (
	"path"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestIdle: a time until which nothing was written counts for the very end of the archive that it is about.
func TestIdle(t *testing.T) {
	a, end := newStore(t), place{binlog.Head{Number: 5, Last: gtid(50)}}
	idle := func() binlog.Through {
		t.Helper()
		through, err := a.idle(t.Context(), end)
		if err != nil {
			t.Fatal(err)
		}
		return through
	}
	if have := idle(); !have.Time.IsZero() {
		t.Errorf("nothing is stored, and it is %+v", have)
	}
	for name, c := range map[string]struct {
		segment, last uint64
		want          bool
	}{"of this end": {5, 50, true}, "of another segment": {4, 50, false}, "of another transaction": {5, 49, false}} {
		if err := a.writeThrough(t.Context(), binlog.Through{Time: noon, Segment: c.segment, Last: gtid(c.last),
			Held: 60}); err != nil {
			t.Fatal(err)
		}
		if have := idle(); have.Time.Equal(noon) != c.want || (have.Held == 60) != c.want {
			t.Errorf("%s: %+v", name, have)
		}
	}
	if err := a.bucket.WriteAll(t.Context(), path.Join(a.dir, binlog.ThroughName), []byte("{"), nil); err != nil {
		t.Fatal(err)
	}
	if have := idle(); have != (binlog.Through{}) {
		t.Errorf("it cannot be read, and it is %+v", have)
	}
}

// TestTimeOfAnotherArchiver: what another archiver has stored of the end of the archive is kept in the next segment,
// and bounds it.
func TestTimeOfAnotherArchiver(t *testing.T) {
	a := newServer("a")
	a.commit(6)
	r := reading(a, newServer("b"), newServer("c"))
	r.store, r.known, r.at = newStore(t), time.Now(), place{binlog.Head{Number: 1, Last: gtid(5), Lines: a.lines}}
	r.open = spoolOf(t, 1)
	r.open.head.Transactions, r.open.head.First, r.open.head.Last = 1, gtid(6), gtid(6)
	other := binlog.Through{Time: noon, Segment: 1, Last: gtid(5), Held: 60}
	if err := r.store.writeThrough(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := r.flush(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	h, err := r.store.load(t.Context())
	if err != nil || h.Number != 2 || !h.Through.Equal(noon) || !h.Low.Equal(noon.Add(-binlog.ClockSlack)) ||
		h.Held != 60 {
		t.Errorf("the segment %d has all until %s and the seqno %d, and begins at %s or later, %v", h.Number, h.Through,
			h.Held, h.Low, err)
	}
}

// TestArchivedStays: a time that was called archived once stays so, though one that is asked for later is earlier: a
// clock was set, or another archiver has named it.
func TestArchivedStays(t *testing.T) {
	r := reading(newServer("a"), newServer("b"), newServer("c"))
	h := binlog.Head{Number: 1, Last: gtid(6)}
	if r.store = newStore(t); r.store.put(t.Context(), &h, nil) != nil {
		t.Fatal("the segment was not stored")
	}
	r.at, r.through = place{h}, noon
	for _, c := range []struct{ asked, want time.Duration }{{-time.Minute, 0}, {time.Minute, time.Minute}} {
		r.stored = time.Time{}
		if err := r.flush(t.Context(), noon.Add(c.asked)); err != nil {
			t.Fatal(err)
		}
		have, err := r.store.idle(t.Context(), r.at)
		if want := noon.Add(c.want); err != nil || !have.Time.Equal(want) || !r.through.Equal(want) {
			t.Errorf("%s: %+v, and %s, %v", c.asked, have, r.through, err)
		}
	}
}

// TestLostWhileIdle: that the end of the archive was removed, or all of it, is noticed though nothing is written: what
// nodes still have is archived again.
func TestLostWhileIdle(t *testing.T) {
	for name, c := range map[string]struct {
		removed []string
		want    string
	}{
		"nothing":    {nil, "@5 6-6"},
		"the end":    {[]string{binlog.Key(2)}, "@5 6-6"},
		"everything": {[]string{binlog.Key(1), binlog.Key(2)}, "@6"},
	} {
		play(t, func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.expect("@5 6-6")
			for _, key := range c.removed {
				if err := w.store.bucket.Delete(t.Context(), path.Join(w.store.dir, key)); err != nil {
					t.Fatal(err)
				}
			}
			w.pass(2 * throughEvery)
			if have := w.archived(); have != c.want {
				t.Errorf("%s was removed: the store has %q, not %q", name, have, c.want)
			}
		})
	}
}
