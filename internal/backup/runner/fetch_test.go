package runner

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/archive"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/pipe"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// restoring is a restore's pod: a store with a backup, and the two containers.
type restoring struct {
	fetcher
	key    *age.X25519Identity
	stream []byte // what mariadb-backup has sent
	text   []byte // the manifest
	places places
}

func newRestoring(t *testing.T) *restoring {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	//nolint:usetesting // t.TempDir has the test's name, which is too long for a socket
	dir, err := os.MkdirTemp("", "pipe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	r := &restoring{key: key, stream: make([]byte, 300_000), places: volume(t)}
	_, _ = rand.Read(r.stream) // parts of what cannot be compressed
	r.fetcher = fetcher{bucket: bucket, keys: filepath.Join(dir, "keys"), dir: "demo/shop/u1", id: "b1"}
	r.places.pipe = filepath.Join(dir, "s")
	if err := os.Mkdir(r.keys, 0o700); err != nil {
		t.Fatal(err)
	}
	r.identity(t, key.String())
	m := manifest.Manifest{Format: manifest.Format, ID: r.id, Compression: manifest.CompressionZstd, GTID: "0-1-3",
		Recipients: []string{key.Recipient().String()}}
	written, err := archive.Write(t.Context(), bytes.NewReader(r.stream), archive.Options{
		Recipients: []age.Recipient{key.Recipient()}, Compression: m.Compression, PartSize: 64 << 10,
		Put: func(ctx context.Context, i int, data []byte) error {
			return store.Write(ctx, bucket, path.Join(r.base(), manifest.PartName(i)), data)
		}})
	if err != nil {
		t.Fatal(err)
	}
	m.Parts, m.StreamBytes, m.StreamSHA256 = written.Parts, written.StreamBytes, written.StreamSHA256
	if r.text, err = json.Marshal(m); err == nil {
		err = store.Write(t.Context(), bucket, path.Join(r.base(), manifest.Name), r.text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// identity is what the Secret holds.
func (r *restoring) identity(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.keys, "identity"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serve is the container fetch. It returns when it has ended after a kill.
func (r *restoring) serve(t *testing.T, answer func(context.Context, pipe.Request, *pipe.Writer) pipe.End) (
	kill func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- pipe.Serve(ctx, r.places.pipe, answer) }()
	kill = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	return kill
}

// TestFetch: the container with the cluster's image gets the manifest and the plaintext as they were made, from one
// without its keys.
func TestFetch(t *testing.T) {
	r := newRestoring(t)
	defer r.serve(t, r.answer)()
	m, err := r.places.manifest(t.Context())
	if err != nil || m.ID != r.id || m.StreamBytes != int64(len(r.stream)) || len(m.Parts) != 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	var have bytes.Buffer
	if err := r.places.stream(t.Context(), m, 0, &have); err != nil || !bytes.Equal(have.Bytes(), r.stream) {
		t.Errorf("%d bytes of %d, %v", have.Len(), len(r.stream), err)
	}
	m.StreamBytes++
	err = r.places.stream(t.Context(), m, 0, &have)
	if err == nil || !strings.Contains(err.Error(), "the manifest names") {
		t.Errorf("a manifest of more bytes: %v", err)
	}
	if _, err := r.places.ask(t.Context(), pipe.Request{What: "identity"}, sequential{&have}); err == nil {
		t.Error("something else can be asked for")
	}
	var f failure
	if _, err := r.places.relay(t.Context(), binlog.GTID{}, nil); !errors.As(err, &f) || f.fatal {
		t.Errorf("an archive that the task does not name: %v", err)
	}
}

// TestFetchKilled: a stream whose container was killed in the middle is no restore, whatever had arrived; the next
// attempt may be one.
func TestFetchKilled(t *testing.T) {
	r := newRestoring(t)
	m, err := r.manifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	kill := r.serve(t, func(ctx context.Context, _ pipe.Request, w *pipe.Writer) pipe.End {
		_, _ = w.Write(r.stream[:len(r.stream)-1])
		close(begun)
		<-ctx.Done()
		return pipe.End{}
	})
	go func() {
		<-begun
		kill()
	}()
	var have bytes.Buffer
	var f failure
	if err := r.places.stream(t.Context(), m, 0, &have); !errors.As(err, &f) || f.fatal {
		t.Errorf("%v", err)
	}
	defer r.serve(t, r.answer)()
	have.Reset()
	if err := r.places.stream(t.Context(), m, 0, &have); err != nil || !bytes.Equal(have.Bytes(), r.stream) {
		t.Errorf("the next attempt: %d bytes of %d, %v", have.Len(), len(r.stream), err)
	}
}

// TestFailuresArrive: why the container with the keys has failed, and whether that is final, is what the other one
// reports.
func TestFailuresArrive(t *testing.T) {
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		broken func(t *testing.T, r *restoring)
		reason string
		fatal  bool
	}{
		"another key": {func(t *testing.T, r *restoring) { r.identity(t, other.String()) }, task.ReasonWrongKey,
			true},
		"no key": {func(t *testing.T, r *restoring) { r.identity(t, "a password") }, task.ReasonWrongKey, true},
		"an altered part": {func(t *testing.T, r *restoring) { r.replace(t, manifest.PartName(1), []byte("x")) },
			task.ReasonBackupDamaged, true},
		"no part": {func(t *testing.T, r *restoring) { r.drop(t, manifest.PartName(1)) }, task.ReasonBackupDamaged, true},
		"an altered manifest": {func(t *testing.T, r *restoring) { r.replace(t, manifest.Name, []byte("{}")) },
			task.ReasonBackupDamaged, true},
		"no manifest": {func(t *testing.T, r *restoring) { r.drop(t, manifest.Name) }, task.ReasonBackupNotFound, true},
	} {
		r := newRestoring(t)
		c.broken(t, r)
		kill := r.serve(t, r.answer)
		var f failure
		err := r.places.stream(t.Context(), manifest.Manifest{}, 0, &bytes.Buffer{})
		if !errors.As(err, &f) || f.reason != c.reason || f.fatal != c.fatal {
			t.Errorf("%s: %v, %+v", name, err, f)
		}
		kill()
	}
}

func (r *restoring) drop(t *testing.T, name string) {
	t.Helper()
	if err := r.bucket.Delete(t.Context(), path.Join(r.base(), name)); err != nil {
		t.Fatal(err)
	}
}

func (r *restoring) replace(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := r.bucket.WriteAll(t.Context(), path.Join(r.base(), name), text, nil); err != nil {
		t.Fatal(err)
	}
}

// TestOpen: a Secret's value that is no private key, or none of this backup, is refused before the cluster's image
// runs, and not quoted.
func TestOpen(t *testing.T) {
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text, reason string
	}{
		"the key":         {"", ""},
		"another key":     {other.String(), task.ReasonWrongKey},
		"a password":      {"hunter2-and-more", task.ReasonWrongKey},
		"a part of a key": {other.String()[:30], task.ReasonWrongKey},
		"nothing":         {"\n", task.ReasonWrongKey},
	} {
		r := newRestoring(t)
		if c.text != "" {
			r.identity(t, c.text)
		}
		err := r.open(t.Context())
		var f failure
		if c.reason == "" && err != nil || c.reason != "" && (!errors.As(err, &f) || f.reason != c.reason || !f.fatal) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && c.text != "\n" && strings.Contains(err.Error(), c.text) {
			t.Errorf("%s is quoted: %v", name, err)
		}
	}
	r := newRestoring(t)
	r.checksum = manifest.Checksum([]byte("another one"))
	var f failure
	if err := r.open(t.Context()); !errors.As(err, &f) || f.reason != task.ReasonBackupDamaged || !f.fatal {
		t.Errorf("another manifest than was written: %v", err)
	}
	r.checksum = manifest.Checksum(r.text)
	if err := r.open(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTaskOfFetch: which backup is opened is what the operator's task says.
func TestTaskOfFetch(t *testing.T) {
	replay := &task.Replay{From: 2, To: 3}
	f, err := newFetcher(nil, "", task.Task{Restore: &task.Restore{Dir: "d", ID: "b", Checksum: "c", Replay: replay}})
	if err != nil || f.base() != "d/b" || f.replay != replay || f.checksum != "c" {
		t.Errorf("%+v, %v", f, err)
	}
	f, err = newFetcher(nil, "", task.Task{Verify: &task.Verify{Dir: "d", ID: "b", Checksum: "c"}})
	if err != nil || f.base() != "d/b" || f.replay != nil || f.checksum != "c" {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := newFetcher(nil, "", task.Task{Backup: &task.Backup{}}); err == nil {
		t.Error("a backup is fetched that is being made")
	}
}

// TestRelayThroughThePipe: the relay log has the same transactions as when the segments are at hand, and ends where
// they do.
func TestRelayThroughThePipe(t *testing.T) {
	r := newRestoring(t)
	s := newSegments(t, 2)
	s.key = r.key
	s.add(t, 5, magic, logFormat, transaction(3, 13), transaction(4, 14), transaction(5, 15))
	s.add(t, 8, magic, logFormat, transaction(6, 16), transaction(7, 17), transaction(8, 18))
	for i, text := range s.all {
		key := path.Join(binlog.Dir(r.dir), binlog.Key(uint64(i+2)))
		if err := store.Write(t.Context(), r.bucket, key, text); err != nil {
			t.Fatal(err)
		}
	}
	r.replay = &task.Replay{Target: binlog.Target{Time: time.Unix(17, 0)}, From: 2, To: 3, Sum: s.head.Checksum}
	fetched := func() (pipe.Relayed, []byte, error) {
		defer r.serve(t, r.answer)()
		f, err := os.Create(filepath.Join(t.TempDir(), relayLog))
		if err != nil {
			t.Fatal(err)
		}
		have, err := r.places.relay(t.Context(), binlog.GTID{Server: 1, Seq: 3}, f)
		text, _ := os.ReadFile(f.Name())
		return have, text, err
	}
	have, text, err := fetched()
	want := append([]byte(binlog.Magic), bytes.Join([][]byte{
		logFormat, transaction(4, 14), transaction(5, 15), logFormat, transaction(6, 16)}, nil)...)
	if err != nil || have.Last.Seq != 6 || have.Count != 3 || !bytes.Equal(text, want) {
		t.Errorf("%+v, %d bytes instead of %d, %v", have, len(text), len(want), err)
	}
	r.replay.Sum = "another archive"
	var f failure
	if _, _, err := fetched(); !errors.As(err, &f) || f.reason != task.ReasonPointInTimeUnavailable || !f.fatal {
		t.Errorf("segments that were not chosen: %v", err)
	}
	if err := r.bucket.Delete(t.Context(), path.Join(binlog.Dir(r.dir), binlog.Key(3))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := fetched(); !errors.As(err, &f) || f.reason != task.ReasonPointInTimeUnavailable || !f.fatal {
		t.Errorf("a segment that is missing: %v", err)
	}
}

// TestRestoreRate: the parts of a backup that are read at the same time share one bound.
func TestRestoreRate(t *testing.T) {
	f, err := newFetcher(nil, "", task.Task{Restore: &task.Restore{Rate: 1 << 20}})
	if err != nil || f.limit == nil || f.limit.Limit() != 1<<20 {
		t.Fatalf("%+v, %v", f.limit, err)
	}
	r := newRestoring(t)
	r.limit = f.limit
	m, err := r.manifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var have bytes.Buffer
	if err := r.fetcher.stream(t.Context(), m, &have); err != nil || !bytes.Equal(have.Bytes(), r.stream) {
		t.Errorf("%d bytes, %v", have.Len(), err)
	}
	if left, want := r.limit.Tokens(), float64(r.limit.Burst())-float64(m.StoredBytes())/2; left > want {
		t.Errorf("%f are left, not at most %f: all parts were not counted", left, want)
	}
}
