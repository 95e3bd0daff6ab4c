package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"sync/atomic"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// refusing is a store with what another one holds, which refuses one request, 0 for none, and counts them.
func refusing(t *testing.T, of *store.Bucket, refused int64) (bucket *store.Bucket, count *atomic.Int64) {
	t.Helper()
	count = &atomic.Int64{}
	return judged(t, of, func(r *http.Request, _ []byte, exists bool) (int, string) {
		switch {
		case count.Add(1) == refused:
			return http.StatusBadRequest, "Refused"
		case r.Header.Get("If-None-Match") == "*" && exists:
			return http.StatusPreconditionFailed, "PreconditionFailed"
		}
		return 0, ""
	}), count
}

// judged is a store with what another one holds, whose requests are judged.
func judged(t *testing.T, of *store.Bucket,
	judge func(r *http.Request, body []byte, exists bool) (status int, code string)) *store.Bucket {
	t.Helper()
	f := storetest.NewFake(t, judge)
	for _, key := range keys(t, of) {
		text, err := of.ReadAll(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		f.Put(key, text)
	}
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

// TestARefusalIsNoAnswer: what asks a store, and is refused any one of its requests, fails: a refusal is no empty list,
// and no object that is missing.
func TestARefusalIsNoAnswer(t *testing.T) {
	archive, restores := archiveInStore(t), newRestoring(t)
	chains := archiveInStore(t)
	for _, m := range chained(t, chains, 2) {
		if err := store.Write(t.Context(), chains, path.Join(chainDir, m.ID, m.Part(0)), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(manifest.Manifest{Format: manifest.Format, ID: "b9", CompletedAt: now,
		Compression: manifest.CompressionNone, Parts: []manifest.Part{{Size: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	b0, err := chains.ReadAll(t.Context(), path.Join(chainDir, "b0", manifest.Name))
	if err != nil {
		t.Fatal(err)
	}
	find := func(f task.Find) func(context.Context, *store.Bucket) error {
		return func(ctx context.Context, b *store.Bucket) error {
			_, _, err := locate(ctx, b, f)
			return err
		}
	}
	fetch := func(do func(fetcher, context.Context) error) func(context.Context, *store.Bucket) error {
		return func(ctx context.Context, b *store.Bucket) error {
			f := restores.fetcher
			f.bucket = b
			return do(f, ctx)
		}
	}
	// To the end of an archive another backup leads, too: of each directory the manifest may be refused.
	leads := map[string]int{"the end of an archive": 3}
	for name, c := range map[string]struct {
		of *store.Bucket
		do func(context.Context, *store.Bucket) error
	}{
		"the latest backup": {archive, find(task.Find{Dir: "demo/shop"})},
		"the end of an archive": {archive, func(ctx context.Context, b *store.Bucket) error {
			_, r, err := locate(ctx, b, task.Find{Dir: "demo/shop", Target: &binlog.Target{Latest: true}})
			if err == nil && r.To != 6 {
				err = fmt.Errorf("the archive ends with the segment %d", r.To)
			}
			return err
		}},
		"a point of one backup": {archive, find(task.Find{Dir: archiveOf, ID: "b1", Target: &binlog.Target{Latest: true}})},
		"the test of an archive": {archive, func(ctx context.Context, b *store.Bucket) error {
			_, err := checkArchive(ctx, b, archiveOf, baseManifest("b2", "0-1-6"))
			return err
		}},
		"the check of a store": {archive, func(ctx context.Context, b *store.Bucket) error {
			r, err := check(ctx, b, task.Check{})
			if err == nil && r.Checked.Unread != "" {
				err = because(task.ReasonStoreRefused, errors.New(r.Checked.Unread))
			}
			return err
		}},
		"an import": {chains, func(ctx context.Context, b *store.Bucket) error {
			_, err := taken(ctx, b, path.Join(chainDir, "b2"))
			return err
		}},
		"an attempt that begins": {chains, func(ctx context.Context, b *store.Bucket) error {
			return clearEarlier(ctx, b, path.Join(chainDir, "b2"), 3)
		}},
		"an attempt that ends": {chains, func(ctx context.Context, b *store.Bucket) error {
			_, err := conclude(ctx, b, path.Join(chainDir, "b9"), text, false)
			return err
		}},
		"one that finds another's": {chains, func(ctx context.Context, b *store.Bucket) error {
			_, err := conclude(ctx, b, path.Join(chainDir, "b0"), b0, false)
			return err
		}},
		"an increment": {chains, func(ctx context.Context, b *store.Bucket) error {
			_, err := stands(ctx, b, path.Join(chainDir, "b2"))
			return err
		}},
		"a removal": {chains, func(ctx context.Context, b *store.Bucket) error {
			return removeRecorded(ctx, b, task.Remove{Dir: chainDir, ID: "b2"})
		}},
		"a removal of what is on record": {restores.bucket, func(ctx context.Context, b *store.Bucket) error {
			return removeRecorded(ctx, b, task.Remove{Dir: restores.dir, ID: restores.id,
				Checksum: manifest.Checksum(restores.text)})
		}},
		"the keys of a backup": {restores.bucket, fetch(fetcher.open)},
		"a test of its parts": {restores.bucket, fetch(func(f fetcher, ctx context.Context) error {
			_, err := f.check(ctx)
			return err
		})},
		"a restore": {restores.bucket, fetch(func(f fetcher, ctx context.Context) error {
			m, err := f.manifest(ctx)
			if err != nil {
				return err
			}
			return f.stream(ctx, m, io.Discard)
		})},
	} {
		bucket, count := refusing(t, c.of, 0)
		if err := c.do(t.Context(), bucket); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = bucket.Close()
		led := 0
		for n, all := int64(1), count.Load(); n <= all; n++ {
			bucket, _ := refusing(t, c.of, n)
			err := c.do(t.Context(), bucket)
			if reason, _ := explain(err); err == nil && led < leads[name] {
				led++
			} else if reason != task.ReasonStoreRefused {
				t.Errorf("%s: the request %d of %d is refused: %v", name, n, all, err)
			}
			_ = bucket.Close()
		}
		if led != leads[name] {
			t.Errorf("%s: %d refusals keep nothing from being found, want %d", name, led, leads[name])
		}
	}
}
