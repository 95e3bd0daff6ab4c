package archiver

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
)

// TestARefusalIsNoAnswer: what asks the store, and is refused any one of its requests, fails, or reports it: a refusal
// is no empty archive, and no backup that is gone.
func TestARefusalIsNoAnswer(t *testing.T) {
	next := func(t *testing.T, a *archive, number uint64) error {
		h := binlog.Head{Format: binlog.FormatVersion, Lines: []binlog.Line{line("a", 0)}, Number: number, Begins: true,
			Last: gtid(60)}
		return a.put(t.Context(), &h, nil)
	}
	survey := func(a *archive, change func(*surveyor)) error {
		s := surveying(a, time.Minute)
		change(s)
		if err := s.once(context.Background()); err != nil {
			return err
		}
		if s.reports.now.Kept != "" {
			return errors.New(s.reports.now.Kept)
		}
		return nil
	}
	for name, do := range map[string]func(t *testing.T, a *archive) error{
		"the end of the archive": func(t *testing.T, a *archive) error { _, err := a.load(t.Context()); return err },
		"until when nothing follows": func(t *testing.T, a *archive) error {
			_, err := a.idle(t.Context(), place{})
			return err
		},
		"a segment": func(t *testing.T, a *archive) error { return next(t, a, 6) },
		"one in the place of another": func(t *testing.T, a *archive) error {
			if err := a.bucket.Delete(t.Context(), a.key(3)); err != nil {
				return err
			}
			if err := next(t, a, 3); !errors.Is(err, errTaken) {
				return err
			}
			return nil
		},
		"a survey": func(_ *testing.T, a *archive) error { return survey(a, func(*surveyor) {}) },
		"segments that nothing needs": func(_ *testing.T, a *archive) error {
			return survey(a, func(s *surveyor) {
				s.pruned = time.Time{}
				s.doomed = map[uint64]time.Time{1: time.Now().Add(-2 * doomedTime)}
			})
		},
		"a promotion": func(t *testing.T, a *archive) error {
			return promotions{store: a, reports: &board{}}.once(t.Context())
		},
		"until when all is archived": func(t *testing.T, a *archive) error {
			return a.writeThrough(t.Context(), binlog.Through{})
		},
	} {
		var all int64
		for n := int64(0); n <= all; n++ {
			var count, on atomic.Int64
			f := storetest.NewFake(t, func(r *http.Request, _ []byte, exists bool) (int, string) {
				switch {
				case on.Load() == 1 && count.Add(1) == n:
					return http.StatusBadRequest, "Refused"
				case r.Header.Get("If-None-Match") == "*" && exists:
					return http.StatusPreconditionFailed, "PreconditionFailed"
				}
				return 0, ""
			})
			bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
			if err != nil {
				t.Fatal(err)
			}
			a := newStore(t)
			a.bucket = bucket
			tenFrom(t, a, time.Now().Add(-5*time.Hour), time.Minute)
			backup(t, a, manifest.Manifest{ID: "b1", GTID: "0-1-25", CompletedAt: time.Now().Add(-4 * time.Hour)})
			backup(t, a, manifest.Manifest{ID: "b2", GTID: "0-1-45", CompletedAt: time.Now().Add(-3 * time.Hour)})
			on.Store(1)
			if err = do(t, a); (err != nil) != (n > 0) {
				t.Errorf("%s: the request %d of %d is refused: %v", name, n, all, err)
			}
			if n == 0 {
				all = count.Load()
			}
			_ = bucket.Close()
		}
	}
}
