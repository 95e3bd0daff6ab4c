package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestCheckRecipients: a public key with a mistake in it is found by the check, and not by the first backup.
func TestCheckRecipients(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	good := identity.Recipient().String()
	if reported, err := check(t.Context(), bucket, task.Check{Recipients: []string{good}}); err != nil ||
		reported.Checked == nil {
		t.Errorf("a public key: %+v, %v", reported, err)
	}
	other := "q"
	if strings.HasSuffix(good, other) {
		other = "p"
	}
	var f failure
	wrong := good[:len(good)-1] + other
	_, err = check(t.Context(), bucket, task.Check{Recipients: []string{good, wrong}})
	if !errors.As(err, &f) || f.reason != task.ReasonWrongKey || !f.fatal || !strings.Contains(err.Error(), wrong) {
		t.Errorf("one with a mistake: %v", err)
	}
}

// TestCheckSharedStore: a store in which two writers overwrite each other is refused, unless there is one only.
func TestCheckSharedStore(t *testing.T) {
	f := storetest.NewFake(t, nil) // it does not look at If-None-Match
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	var why failure
	_, err = check(t.Context(), bucket, task.Check{})
	if !errors.As(err, &why) || !why.fatal || why.reason != task.ReasonStoreRefused || !strings.Contains(err.Error(),
		"singleWriter: true") {
		t.Errorf("%v", err)
	}
	if reported, err := check(t.Context(), bucket, task.Check{SingleWriter: true}); err != nil || reported.Checked == nil {
		t.Errorf("%+v, %v", reported, err)
	}
	if left, err := bucket.List(nil).Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("left is %+v, %v", left, err)
	}
}

// TestCheckWithoutRight: a store is usable with the right to list below its prefix, and refused with the name of the
// right without any.
func TestCheckWithoutRight(t *testing.T) {
	for listed, want := range map[string]string{"shops/": "", "wiki/": "s3:ListBucket"} {
		f := storetest.NewFake(t, func(r *http.Request, _ []byte, exists bool) (int, string) {
			key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"+storetest.Bucket), "/")
			lists := key == "" && !strings.HasPrefix(r.URL.Query().Get("prefix"), listed)
			if lists || key != "" && !exists && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
				return http.StatusForbidden, "AccessDenied"
			}
			return 0, ""
		})
		f.Prefix = "shops"
		bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = check(t.Context(), bucket, task.Check{SingleWriter: true})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("listed below %s: %v", listed, err)
		}
		if done, err := taken(t.Context(), bucket, "demo/shop/1/b1"); want == "" && (err != nil || done != nil) {
			t.Errorf("a backup that was not made: %+v, %v", done, err)
		}
		_ = bucket.Close()
	}
}

// TestCheckReadsBack: a store that gives something else than was written is refused.
func TestCheckReadsBack(t *testing.T) {
	for _, altered := range []bool{false, true} {
		f := storetest.NewFake(t, func(r *http.Request, body []byte, _ bool) (int, string) {
			if altered && r.Method == http.MethodPut && len(body) > 0 {
				body[0] ^= 1
			}
			return 0, ""
		})
		bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = check(t.Context(), bucket, task.Check{SingleWriter: true})
		var why failure
		if altered != (errors.As(err, &why) && why.reason == task.ReasonStoreRefused) || !altered && err != nil {
			t.Errorf("altered %v: %v", altered, err)
		}
		_ = bucket.Close()
	}
}

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// write stores the manifest of a backup.
func write(t *testing.T, bucket *store.Bucket, dir, id string, completed time.Time) {
	t.Helper()
	m := manifest.Manifest{Format: manifest.Format, ID: id, CompletedAt: completed, Compression: manifest.CompressionNone}
	m.Parts = make([]manifest.Part, 1)
	text, err := json.Marshal(m)
	if err == nil {
		err = store.Write(t.Context(), bucket, path.Join(dir, manifest.Name), text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLatest: the latest backup is the one that was completed last, whatever was copied last. Of two clusters of one
// name none is guessed.
func TestLatest(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	write(t, bucket, "demo/shop/u1/late", "late", now)
	write(t, bucket, "demo/shop/u1/early", "early", now.Add(-23*24*time.Hour)) // its object is newer
	latest := func(f task.Find) (string, error) {
		base, _, err := locate(t.Context(), bucket, f)
		return base, err
	}
	if got, err := latest(task.Find{Dir: "demo/shop"}); got != "demo/shop/u1/late" || err != nil {
		t.Errorf("%s %v", got, err)
	}
	write(t, bucket, "demo/shop/u2/other", "other", now.Add(time.Hour))
	write(t, bucket, "demo/shop/u2/early", "early", now)
	for name, f := range map[string]task.Find{
		"of two clusters":                      {Dir: "demo/shop"},
		"of two clusters, one ID":              {Dir: "demo/shop", ID: "early"},
		"of two clusters, and a point in time": {Dir: "demo/shop", Target: &binlog.Target{Latest: true}},
	} {
		_, err := latest(f)
		var why failure
		if !errors.As(err, &why) || why.reason != task.ReasonBackupAmbiguous || !why.fatal ||
			!strings.Contains(err.Error(), "u1 (latest") || !strings.Contains(err.Error(), "u2 (latest") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := latest(task.Find{Dir: "demo/shop/u1"}); got != "demo/shop/u1/late" || err != nil {
		t.Errorf("of one of two: %s %v", got, err)
	}
	if got, err := latest(task.Find{Dir: "demo/shop", ID: "late"}); got != "demo/shop/u1/late" || err != nil {
		t.Errorf("an ID that one has: %s %v", got, err)
	}
	// What cannot be read may be the latest.
	write(t, bucket, "demo/shop/u1/newer", "another", now.Add(time.Hour))
	var why failure
	_, err := latest(task.Find{Dir: "demo/shop/u1"})
	if !errors.As(err, &why) || why.reason != task.ReasonBackupDamaged || !strings.Contains(err.Error(), "u1/newer") {
		t.Errorf("alongside one that cannot be read: %v", err)
	}
	if got, err := latest(task.Find{Dir: "demo/shop/u1", ID: "late"}); got != "demo/shop/u1/late" || err != nil {
		t.Errorf("by its ID: %s %v", got, err)
	}
}

// TestAfterTheTime: a backup that was complete after the time to restore is passed over without a question about the
// archive.
func TestAfterTheTime(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	m := manifest.Manifest{Format: manifest.Format, ID: "late", CompletedAt: now, GTID: "0-1-5",
		Compression: manifest.CompressionNone, Parts: make([]manifest.Part, 1)}
	text, err := json.Marshal(m)
	if err == nil {
		err = store.Write(t.Context(), bucket, "demo/shop/u1/late/"+manifest.Name, text)
	}
	if err == nil { // a segment that cannot be read
		err = store.Write(t.Context(), bucket, path.Join(binlog.Dir("demo/shop/u1"), binlog.Key(1)), []byte("x"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var why failure
	_, _, err = locate(t.Context(), bucket,
		task.Find{Dir: "demo/shop/u1", Target: &binlog.Target{Time: now.Add(-time.Hour)}})
	if !errors.As(err, &why) || why.reason != task.ReasonPointInTimeUnavailable ||
		!strings.Contains(err.Error(), "not before it") {
		t.Errorf("%v", err)
	}
}

// TestBoundary: a backup that holds transactions of a time or later is no base for it, wherever in the archive it is.
func TestBoundary(t *testing.T) {
	const history = "3bef4e28-e852-11f1-b333-be0e8d52dde1"
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	line := binlog.Line{History: history, ID: "a"}
	put := func(key string, text []byte, err error) {
		t.Helper()
		if err == nil {
			err = store.Write(t.Context(), bucket, key, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	before := binlog.Head{}
	const last = batch + 2
	for n := uint64(1); n <= last; n++ { // a transaction in each, one a minute
		at := now.Add(time.Duration(n) * time.Minute)
		h := binlog.Head{Format: binlog.FormatVersion, Number: n, Chain: 1, Session: "s", Lines: []binlog.Line{line},
			Begins: n == 1, Before: before.Checksum, Previous: before.Last, PreviousSeqno: before.Seqno, Seqno: int64(n),
			First: binlog.GTID{Server: 1, Seq: n}, Last: binlog.GTID{Server: 1, Seq: n}, FirstTime: at, LastTime: at,
			Earliest: at, Transactions: 1}
		text, err := h.Encode()
		put(path.Join(binlog.Dir("demo/shop/u1"), binlog.Key(n)), text, err)
		before = h
	}
	for n := last - batch - 1; n < last-batch+2; n++ { // by a clock that is ten minutes slow
		m := manifest.Manifest{Format: manifest.Format, ID: fmt.Sprint("b", n),
			CompletedAt: now.Add(time.Duration(n-10) * time.Minute), GTID: fmt.Sprint("0-1-", n), Line: line, Session: "s",
			Position: fmt.Sprint(history, ":", n), Compression: manifest.CompressionNone, Parts: make([]manifest.Part, 1)}
		text, err := json.Marshal(m)
		put(path.Join("demo/shop/u1", m.ID, manifest.Name), text, err)
		find := func(at time.Time) error {
			_, _, err := locate(t.Context(), bucket, task.Find{Dir: "demo/shop/u1", ID: m.ID, Target: &binlog.Target{Time: at}})
			return err
		}
		if err := find(now.Add(time.Duration(n) * time.Minute)); n > 1 && err == nil {
			t.Errorf("the backup at %d holds a transaction of that time", n)
		}
		if err := find(now.Add(time.Duration(n)*time.Minute + time.Second)); err != nil {
			t.Errorf("the backup at %d: %v", n, err)
		}
	}
}

// TestList: complete backups are found at every depth that is asked for; parts, halves and what belongs to others are
// none.
func TestList(t *testing.T) {
	ctx := context.Background()
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	put := func(key string) {
		t.Helper()
		if err := store.Write(ctx, bucket, key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	whole := func(dir string, completed time.Time) { write(t, bucket, dir, path.Base(dir), completed) }
	for _, dir := range []string{"demo/shop/u1/a", "demo/shop/u1/b", "demo/shop/u2/c", "demo/shoppers/u3/d",
		"other/shop/u4/e"} {
		for i := range 3 {
			put(path.Join(dir, manifest.PartName(i)))
		}
		whole(dir, now)
	}
	put("demo/shop/u1/half/part-000000")
	put("readme.txt")
	put("photos/2026/03/01/" + manifest.Name)
	put("photos/2026/" + manifest.Name)
	for dir, want := range map[string]string{"": "01! a b c d e", "demo/shop": "a b c", "demo/shop/u1": "a b",
		"demo/none": ""} {
		found, err := list(ctx, bucket, dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			if f.broken != nil {
				f.id += "!"
			}
			got = append(got, f.id)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", dir, got, want)
		}
	}
}

// TestLongHead: the head of a manifest that is longer than what is read at first is read whole.
func TestLongHead(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	m := baseManifest("long", strings.Repeat("0-1-7,", manifest.HeadSize/6))
	text, err := json.Marshal(m)
	if err == nil {
		err = store.Write(t.Context(), bucket, path.Join(archiveOf, m.ID, manifest.Name), text)
	}
	if err != nil {
		t.Fatal(err)
	}
	found, err := list(t.Context(), bucket, archiveOf)
	if err != nil || len(found) != 1 || found[0].broken != nil || !found[0].completed.Equal(m.CompletedAt) {
		t.Errorf("%+v, %v", found, err)
	}
}
