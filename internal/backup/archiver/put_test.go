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
