package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"
	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/pipe"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestManifestOfAStream: where the data are, and in which line of history, is what the node has said at the end.
func TestManifestOfAStream(t *testing.T) {
	start := galera.Position{UUID: oneHistory, Seqno: 5}
	have, err := ended(manifest.Manifest{ID: "b1", Session: "s"}, agentapi.BackupEnd{Position: oneHistory + ":7",
		GTID: "0-1-7", ServerVersion: "11.8.9", Arch: "arm64", LSN: 9, Keys: map[string]string{"1": "a"},
		Algorithm: "AES_CTR", Line: galera.Line{ID: "l", Epoch: 3, Start: start, Copied: true}}, now)
	want := manifest.Manifest{Format: manifest.Format, ID: "b1", Session: "s", Position: oneHistory + ":7", GTID: "0-1-7",
		ServerVersion: "11.8.9", Arch: "arm64", LSN: 9, Keys: map[string]string{"1": "a"}, Algorithm: "AES_CTR",
		CompletedAt: now, Line: binlog.Line{History: oneHistory, ID: "l", Epoch: 3, Start: 5, Copied: true}}
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("%+v\nwant %+v, %v", have, want, err)
	}
}

// TestDescribed: what the operator records of a backup is what its manifest has.
func TestDescribed(t *testing.T) {
	m := manifest.Manifest{ID: "i1", Node: "shop-1", Position: oneHistory + ":7", GTID: "0-1-7", LSN: 9,
		Base: &manifest.Base{ID: "b1", Depth: 2}, ServerVersion: "11.8.9", StartedAt: now.Add(-time.Minute),
		CompletedAt: now, StreamBytes: 100, Parts: []manifest.Part{{Size: 5}, {Size: 6}}, Keys: map[string]string{"1": "a"}}
	want := &task.Stored{ID: "i1", Dir: "d", Node: "shop-1", Position: oneHistory + ":7", GTID: "0-1-7", LSN: 9,
		Base: "b1", Depth: 2, ServerVersion: "11.8.9", StartedAt: m.StartedAt, CompletedAt: now, StreamBytes: 100,
		StoredBytes: 11, Keys: m.Keys, Checksum: manifest.Checksum([]byte("text"))}
	if have := describe(m, []byte("text"), "d"); !reflect.DeepEqual(have, want) {
		t.Errorf("%+v\nwant %+v", have, want)
	}
	if have := describe(manifest.Manifest{ID: "b1"}, nil, "d"); have.Base != "" || have.Depth != 0 {
		t.Errorf("a full one: %+v", have)
	}
}

// TestManifestIsCreated: the manifest is created where there is none, unless the store knows no such condition and one
// alone writes to it.
func TestManifestIsCreated(t *testing.T) {
	for _, alone := range []bool{false, true} {
		var conditions []string
		f := storetest.NewFake(t, func(r *http.Request, _ []byte, _ bool) (int, string) {
			if r.Method == http.MethodPut {
				conditions = append(conditions, r.Header.Get("If-None-Match"))
			}
			return 0, ""
		})
		bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(baseManifest("b1", "0-1-4"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = complete(t.Context(), bucket, path.Join(archiveOf, "b1"), text, alone)
		if want := map[bool]string{false: "*", true: ""}[alone]; err != nil || !slices.Equal(conditions, []string{want}) {
			t.Errorf("alone %v: %q, %v", alone, conditions, err)
		}
		_ = bucket.Close()
	}
}

// TestOthersStay: what attempts before have left is removed of this backup alone.
func TestOthersStay(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	others := []string{".check-x", "0/part-000000", archiveOf + "/b/manifest.json", archiveOf + "/b10/part-000000",
		archiveOf + "/binlog/through.json",
		"demo/shop/u2/b1/part-000000"}
	for _, key := range append([]string{archiveOf + "/b1/part-000000", archiveOf + "/b1/000001abc/part-000000"},
		others...) {
		if err := store.Write(t.Context(), bucket, key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := clearEarlier(t.Context(), bucket, path.Join(archiveOf, "b1"), 2); err != nil {
		t.Fatal(err)
	}
	if left := keys(t, bucket); !slices.Equal(left, others) {
		t.Errorf("left are %v", left)
	}
}

// TestAgain: what a store does not do is tried for four minutes, but for what another attempt does not change, or is
// judged already. Who is asked to stop waits for nothing.
func TestAgain(t *testing.T) {
	for name, c := range map[string]struct {
		fails  int // how often, -1 for ever
		err    error
		stop   time.Duration // when it is asked to stop
		tries  int
		took   time.Duration
		reason string
		final  bool
	}{
		"at once":        {0, nil, 0, 1, 0, "", false},
		"after some":     {3, errors.New("reset"), 0, 4, 7 * time.Second, "", false},
		"never":          {-1, errors.New("reset"), 0, 16, 231 * time.Second, task.ReasonStoreUnreachable, false},
		"it is judged":   {-1, damaged("b1", errors.New("x")), 0, 1, 0, task.ReasonBackupDamaged, true},
		"it is to stop":  {-1, errors.New("reset"), 5 * time.Second, 3, 5 * time.Second, task.ReasonStoreUnreachable, false},
		"it was to stop": {-1, errors.New("reset"), -1, 1, 0, task.ReasonStoreUnreachable, false},
		"no such object": {-1, missing(t), 0, 1, 0, task.ReasonStoreRefused, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			switch {
			case c.stop < 0:
				cancel()
			case c.stop > 0:
				time.AfterFunc(c.stop, cancel)
			}
			begun, tries := time.Now(), 0
			err := again(ctx, "doing", func(context.Context) error {
				if tries++; c.fails >= 0 && tries > c.fails {
					return nil
				}
				return c.err
			})
			reason, final := explain(err)
			if tries != c.tries || time.Since(begun) != c.took || reason != c.reason || final != c.final ||
				(err == nil) != (reason == "") {
				t.Errorf("%s: %d attempts in %s, %s %v %v", name, tries, time.Since(begun), reason, final, err)
			}
		})
	}
}

// missing is the error of an object that is not there.
func missing(t *testing.T) error {
	t.Helper()
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	_, err := bucket.ReadAll(t.Context(), "k")
	return err
}

// TestRecipients: a backup is encrypted for all keys that are named.
func TestRecipients(t *testing.T) {
	var names []string
	for range 2 {
		key, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, key.Recipient().String())
	}
	if have, err := recipients(names); err != nil || len(have) != 2 {
		t.Errorf("%d, %v", len(have), err)
	}
}

// TestLimiter: a rate is bound to pieces that it lets pass in a second at most.
func TestLimiter(t *testing.T) {
	for rate, burst := range map[int64]int{-1: 0, 0: 0, 1: 1, 1000: 1000, 1 << 30: 1 << 20} {
		switch l := limiter(rate); {
		case (l == nil) != (burst == 0):
			t.Errorf("at %d: %v", rate, l)
		case l != nil && (l.Burst() != burst || int64(l.Limit()) != rate):
			t.Errorf("at %d: %d, %v", rate, l.Burst(), l.Limit())
		}
	}
}

// TestChecked: a check names what can be restored, the latest first, and not what is broken. What it cannot do, or
// clean up, is refused, also where one alone writes.
func TestChecked(t *testing.T) {
	for name, c := range map[string]struct {
		refused string // the method of a request for an object that a check creates once
		alone   bool
	}{
		"all is well":                {"", true},
		"it cannot be created":       {http.MethodPut, true},
		"it cannot be deleted":       {http.MethodDelete, true},
		"it cannot be created once":  {http.MethodPut, false},
		"nor deleted, by one of two": {http.MethodDelete, false},
	} {
		f := storetest.NewFake(t, func(r *http.Request, _ []byte, exists bool) (int, string) {
			once := strings.HasSuffix(r.URL.Path, "-once")
			switch {
			case once && r.Method == c.refused:
				return http.StatusForbidden, "AccessDenied"
			case once && r.Method == http.MethodPut && exists:
				return http.StatusPreconditionFailed, "PreconditionFailed"
			}
			return 0, ""
		})
		bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		write(t, bucket, "demo/shop/u1/early", "early", now.Add(-time.Hour))
		write(t, bucket, "demo/shop/u1/late", "late", now)
		write(t, bucket, "demo/shop/u1/broken", "another", now)
		r, err := check(t.Context(), bucket, task.Check{SingleWriter: c.alone})
		want := &task.Checked{Backups: 2, Latest: []task.Stored{{ID: "late", Dir: "demo/shop/u1", CompletedAt: now},
			{ID: "early", Dir: "demo/shop/u1", CompletedAt: now.Add(-time.Hour)}}}
		if reason, final := explain(err); c.refused != "" && (reason != task.ReasonStoreRefused || !final) ||
			c.refused == "" && (err != nil || !reflect.DeepEqual(r.Checked, want)) {
			t.Errorf("%s: %+v, %v", name, r.Checked, err)
		}
		_ = bucket.Close()
	}
}

// TestTryKeys: a key is wrong where the backup is encrypted for others. One whose first part is missing, or is none, is
// damaged, and one that the store refuses is neither.
func TestTryKeys(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(*restoring)
		reason string
	}{
		"the right one": {func(*restoring) {}, ""},
		"another one": {func(r *restoring) {
			key, err := age.GenerateX25519Identity()
			if err != nil {
				t.Fatal(err)
			}
			r.identity(t, key.String())
		}, task.ReasonWrongKey},
		"its first part is missing": {func(r *restoring) {
			if err := r.bucket.Delete(t.Context(), path.Join(r.base(), manifest.PartName(0))); err != nil {
				t.Fatal(err)
			}
		}, task.ReasonBackupDamaged},
		"its first part is none": {func(r *restoring) {
			if err := store.Write(t.Context(), r.bucket, path.Join(r.base(), manifest.PartName(0)), []byte("x")); err != nil {
				t.Fatal(err)
			}
		}, task.ReasonBackupDamaged},
	} {
		r := newRestoring(t)
		c.do(r)
		if reason, final := explain(r.open(t.Context())); reason != c.reason || final != (c.reason != "") {
			t.Errorf("%s: %s %v", name, reason, final)
		}
	}
}

// TestSteps: a step that the chain of a backup does not have is refused.
func TestSteps(t *testing.T) {
	r := newRestoring(t)
	for step, fails := range map[int]bool{-1: true, 0: false, 1: true} {
		end := r.answer(t.Context(), pipe.Request{What: pipe.Manifest, Step: step}, nil)
		if (end.Error != "") != fails || fails && !strings.Contains(end.Error, "has 1 steps") {
			t.Errorf("%d: %+v", step, end)
		}
	}
	if f, err := newFetcher(r.bucket, "keys", task.Task{Load: &task.Load{Restore: task.Restore{Dir: "d", ID: "b1",
		Checksum: "sum"}}}); err != nil || f.bucket != r.bucket || f.keys != "keys" || f.dir != "d" || f.id != "b1" ||
		f.checksum != "sum" {
		t.Errorf("%+v, %v", f, err)
	}
	var text bytes.Buffer
	if err := (fetcher{bucket: r.bucket, keys: r.keys + "none", dir: r.dir, id: r.id}).stream(t.Context(),
		manifest.Manifest{}, &text); err == nil {
		t.Error("a stream without keys")
	}
}
