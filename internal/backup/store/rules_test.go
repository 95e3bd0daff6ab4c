package store

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestMissing: an object is missing where the service says so of the object. A bucket that is away, and a refusal that
// the library takes for that, show nothing: an archive would begin anew.
func TestMissing(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		code   string
		want   bool
	}{
		"the object":             {http.StatusNotFound, "NoSuchKey", true},
		"the bucket":             {http.StatusNotFound, "NoSuchBucket", false},
		"a refusal":              {http.StatusForbidden, "NoSuchKey", false},
		"a service that is away": {http.StatusServiceUnavailable, "NoSuchKey", false},
	} {
		f := storetest.NewFake(t, func(r *http.Request, _ []byte, _ bool) (int, string) {
			if strings.HasSuffix(r.URL.Path, "/"+storetest.Bucket) || strings.HasSuffix(r.URL.Path, "/"+storetest.Bucket+"/") {
				return 0, "" // it can be listed
			}
			return c.status, c.code
		})
		b, err := OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.ReadAll(t.Context(), "k")
		if err == nil || Missing(err) != c.want {
			t.Errorf("%s: %v, %v", name, Missing(err), err)
		}
		_ = b.Close()
	}
	volume, _ := onVolume(t)
	memory := memblob.OpenBucket(nil)
	defer func() { _ = memory.Close() }()
	for name, b := range map[string]*Bucket{"a volume": volume, "memory": memory} {
		_, err := b.ReadAll(t.Context(), "k")
		if reason, final := Reason(err); !Missing(err) || reason != task.ReasonStoreRefused || !final {
			t.Errorf("of %s: %s %v %v", name, reason, final, err)
		}
	}
}

// TestReasonWithoutCode: what a service means by a status alone, and a volume by the error of its file system.
func TestReasonWithoutCode(t *testing.T) {
	b := memblob.OpenBucket(nil)
	defer func() { _ = b.Close() }()
	_, gone := b.ReadAll(t.Context(), "k")
	for name, c := range map[string]struct {
		err    error
		reason string
		final  bool
	}{
		"too many requests":    {amazon(http.StatusTooManyRequests, "x"), task.ReasonStoreUnreachable, false},
		"a request in time":    {amazon(http.StatusRequestTimeout, "x"), task.ReasonStoreUnreachable, false},
		"no space":             {amazon(http.StatusInsufficientStorage, "x"), task.ReasonStoreFull, false},
		"a quota of a volume":  {syscall.EDQUOT, task.ReasonStoreFull, false},
		"no such object":       {amazon(http.StatusNotFound, "NoSuchKey"), task.ReasonStoreRefused, true},
		"no such file":         {gone, task.ReasonStoreRefused, true},
		"an error of whatever": {errors.New("x"), task.ReasonStoreUnreachable, false},
	} {
		if reason, final := Reason(c.err); reason != c.reason || final != c.final {
			t.Errorf("%s: %s %v", name, reason, final)
		}
	}
}

// TestSourceFails: what could not be read to its end is not stored, and the error is the source's.
func TestSourceFails(t *testing.T) {
	f := storetest.NewFake(t, nil)
	s3, err := OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := fileblob.OpenBucket(t.TempDir(),
		&fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the pipe broke")
	for name, b := range map[string]*Bucket{"S3": s3, "a volume": files} {
		for _, begun := range []string{"", strings.Repeat("x", 1<<20)} {
			err := Create(t.Context(), b, "k", io.MultiReader(strings.NewReader(begun), iotest.ErrReader(broken)))
			if exists, failed := Exists(t.Context(), b, "k"); !errors.Is(err, broken) || exists || failed != nil {
				t.Errorf("%s, after %d bytes: %v, it exists: %v, %v", name, len(begun), err, exists, failed)
			}
		}
		_ = b.Close()
	}
}

// TestEmptyKey: a Secret without a key is not asked about at the service.
func TestEmptyKey(t *testing.T) {
	for _, name := range []string{task.AccessKeyID, task.SecretAccessKey} {
		f := storetest.NewFake(t, nil)
		f.Credential(t, name, "\n")
		b, err := OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		err = Write(t.Context(), b, "k", []byte("x"))
		if reason, final := Reason(err); err == nil || reason != task.ReasonStoreRefused || !final ||
			!strings.Contains(Explain(err), "holds an empty access key") {
			t.Errorf("%s: %s %v, %v", name, reason, final, err)
		}
		_ = b.Close()
	}
}

// TestUnfinishedUploadsGoOn: what may be continued does not hide what comes after it in the list.
func TestUnfinishedUploadsGoOn(t *testing.T) {
	f := storetest.NewFake(t, nil)
	young := f.Upload(backupKey+"000001abc/part-000001", time.Now())
	old := f.Upload(backupKey+"000001abc/part-000002", time.Now().Add(-9*24*time.Hour))
	b, err := OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	if n, err := RemoveUnfinished(t.Context(), b, f.Store, "", time.Now().Add(-time.Hour)); err != nil || n != 1 ||
		!young() || old() {
		t.Errorf("%d, %v: young %v, old %v", n, err, young(), old())
	}
}
