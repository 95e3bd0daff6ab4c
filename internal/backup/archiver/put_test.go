package archiver

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// spoolOf is a segment whose file has a size, and takes no space.
func spoolOf(t *testing.T, size int64) *spool {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "segment"))
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &spool{file: f, sum: sha256.New(), ended: true}
	t.Cleanup(s.Close)
	return s
}

// TestTimeForAnUpload: a large segment has the time that it needs at 256 KiB a second, in each of three attempts. One
// that no attempt stores is not waited for without end.
func TestTimeForAnUpload(t *testing.T) {
	for size, want := range map[int64]time.Duration{0: 5 * time.Minute, 1 << 30: 5*time.Minute + 4096*time.Second} {
		s := spoolOf(t, size)
		synctest.Test(t, func(t *testing.T) {
			a := newStore(t)
			var limits []time.Duration
			a.create = func(ctx context.Context, _ *store.Bucket, _ string, _ io.Reader) error {
				end, _ := ctx.Deadline()
				limits = append(limits, time.Until(end))
				<-ctx.Done()
				return ctx.Err()
			}
			h := binlog.Head{Format: binlog.FormatVersion, Number: 1, Begins: true, Last: gtid(7),
				Lines: []binlog.Line{line("a", 0)}}
			if err := a.put(t.Context(), &h, s); err == nil || !slices.Equal(limits, []time.Duration{want, want, want}) {
				t.Errorf("%d bytes: %v, %v", size, limits, err)
			}
		})
	}
}

// TestUploadBreaksOff: an attempt after one that broke off stores the whole segment.
func TestUploadBreaksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newStore(t)
		tries, create := 0, a.create
		a.create = func(ctx context.Context, b *store.Bucket, key string, from io.Reader) error {
			if tries++; tries < putTries {
				_, _ = io.CopyN(io.Discard, from, 300) // the head, and some of its content
				return errors.New("reset")
			}
			return create(ctx, b, key, from)
		}
		s, err := newSpool(a.recipients)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		h := binlog.Head{Format: binlog.FormatVersion, Number: 1, First: gtid(8), Last: gtid(8), Transactions: 1,
			Lines: []binlog.Line{line("a", 0)}}
		if err := a.put(t.Context(), &h, s); err != nil {
			t.Fatal(err)
		}
		have, err := a.bucket.Attributes(t.Context(), a.key(1))
		if err != nil {
			t.Fatal(err)
		}
		text, err := h.Encode()
		if want := int64(len(text)) + h.Size; err != nil || have.Size != want || h.Size == 0 || tries != putTries {
			t.Errorf("%d bytes are stored of %d in %d attempts, %v", have.Size, want, tries, err)
		}
	})
}

// TestFlush: a time until which all is archived is stored where one is known, and the last transaction was compared.
// The next session asks no node about the first transaction only if all was there, and another node numbers alike.
func TestFlush(t *testing.T) {
	for name, c := range map[string]struct {
		open, through, verify, alike bool
		stored                       bool   // that nothing followed
		view                         string // that is known to have nothing after it
	}{
		"nothing, until a time":           {through: true, alike: true, stored: true, view: "v"},
		"and it is not known from others": {through: true, stored: true},
		"nothing, and no time":            {alike: true},
		"nothing, and not compared":       {through: true, alike: true, verify: true},
		"a segment, until a time":         {open: true, through: true, alike: true, view: "v"},
		"a segment, and no time":          {open: true, alike: true},
		"a segment of one node":           {open: true, through: true},
	} {
		a := newServer("a")
		a.commit(6)
		a.view = "v"
		r := reading(a, newServer("b"), newServer("c"))
		r.store, r.known = newStore(t), time.Now()
		h := binlog.Head{Number: 1, Last: gtid(5), Lines: a.lines}
		if err := r.store.put(t.Context(), &h, nil); err != nil {
			t.Fatal(err)
		}
		r.at, r.archiver.view = place{h}, ""
		r.verify, r.alike = c.verify, c.alike
		if c.open {
			r.open = spoolOf(t, 1)
			r.open.head.Transactions, r.open.head.First, r.open.head.Last = 1, gtid(6), gtid(6)
		}
		through := time.Time{}
		if c.through {
			through = time.Now()
		}
		if err := r.flush(t.Context(), through); err != nil {
			t.Fatal(name, err)
		}
		stored, err := r.store.bucket.Exists(t.Context(), "demo/shop/1/binlog/"+binlog.ThroughName)
		if err != nil || stored != c.stored || r.view != c.view || (r.at.Number == 2) != c.open ||
			c.open && (r.from != "a" || r.at.Last != gtid(6) || r.open != nil) {
			t.Errorf("%s: a time is stored %v, the view is %q, the archive ends at %d of %q, %v", name, stored, r.view,
				r.at.Number, r.from, err)
		}
	}
}

// TestRecipientsOfAnArchive: an archive is encrypted for all keys that are named, or does not begin.
func TestRecipientsOfAnArchive(t *testing.T) {
	a := newStore(t)
	for name, keys := range map[string][]string{"one": a.names,
		"one with a mistake": append(slices.Clone(a.names), "age1x")} {
		have, err := newArchive(a.bucket, task.Archive{Dir: "d", Recipients: keys})
		if (err != nil) != (len(keys) > 1) || err == nil && (len(have.recipients) != 1 || have.cluster != "d") {
			t.Errorf("%s: %+v, %v", name, have, err)
		}
	}
}
