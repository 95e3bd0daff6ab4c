package store

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
)

// TestFilesAreCreatedOnce: of many that create a file, on one host or several, one succeeds, and its content stays.
func TestFilesAreCreatedOnce(t *testing.T) {
	dir := t.TempDir()
	for round := range 30 {
		key := fmt.Sprintf("shop/%d/000000000001", round)
		var created, taken sync.Map
		var all sync.WaitGroup
		for i := range 8 {
			b, err := fileblob.OpenBucket(dir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = b.Close() }()
			all.Go(func() {
				text := strings.Repeat(fmt.Sprint(i), 1000)
				switch err := Create(t.Context(), b, key, strings.NewReader(text)); {
				case err == nil:
					created.Store(text, true)
				case Taken(err):
					taken.Store(i, true)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		var winners []string
		created.Range(func(text, _ any) bool { winners = append(winners, text.(string)); return true })
		have, err := os.ReadFile(filepath.Join(dir, key))
		if err != nil || len(winners) != 1 || string(have) != winners[0] {
			t.Fatalf("%d have created it, and the content is %.3q: %v", len(winners), have, err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, "shop/*/*.tmp"))
	if len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// TestFilesAreReplaced: what is written in the place of a file is whole, and a failure leaves the file as it was.
func TestFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	b, err := fileblob.OpenBucket(dir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	for _, text := range []string{"one", "two", ""} {
		if err := Write(t.Context(), b, "a.b/c.json", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if have, err := os.ReadFile(filepath.Join(dir, "a.b/c.json")); err != nil || string(have) != text {
			t.Errorf("%q instead of %q: %v", have, text, err)
		}
	}
	broken := io.MultiReader(strings.NewReader("x"), failing{})
	if err := Create(t.Context(), b, "broken", broken); !errors.Is(err, syscall.EIO) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "broken")); !os.IsNotExist(err) {
		t.Errorf("half of an object is there: %v", err)
	}
}

// failing is a reader that fails.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, syscall.EIO }

// service is a fake one.
func service(t *testing.T, judge func(r *http.Request, body []byte, exists bool) (status int, code string)) *Bucket {
	t.Helper()
	f := storetest.NewFake(t, judge)
	b, err := OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// TestExclusive: a store is found out that overwrites an object, or does not know the condition.
func TestExclusive(t *testing.T) {
	condition := func(r *http.Request) bool { return r.Method == http.MethodPut && r.Header.Get("If-None-Match") == "*" }
	for name, c := range map[string]struct {
		judge func(r *http.Request, _ []byte, exists bool) (int, string)
		want  error
		alone bool // CreateAlone can be used
	}{
		"it knows the condition": {func(r *http.Request, _ []byte, exists bool) (int, string) {
			if condition(r) && exists {
				return http.StatusPreconditionFailed, "PreconditionFailed"
			}
			return 0, ""
		}, nil, true},
		"it does not look": {func(*http.Request, []byte, bool) (int, string) { return 0, "" }, ErrShared, true},
		"it refuses the condition": {func(r *http.Request, _ []byte, _ bool) (int, string) {
			if condition(r) {
				return http.StatusNotImplemented, "NotImplemented"
			}
			return 0, ""
		}, ErrShared, true},
		"it does not know the condition by another name": {func(r *http.Request, _ []byte, _ bool) (int, string) {
			if condition(r) {
				return http.StatusBadRequest, "InvalidArgument"
			}
			return 0, ""
		}, ErrShared, true},
		"its answer was lost": {func(r *http.Request, _ []byte, _ bool) (int, string) {
			if condition(r) { // as to an attempt after one that has stored it
				return http.StatusPreconditionFailed, "PreconditionFailed"
			}
			return 0, ""
		}, nil, true},
		"it refuses the second one otherwise": {func(r *http.Request, _ []byte, exists bool) (int, string) {
			if condition(r) && exists {
				return http.StatusForbidden, "AccessDenied"
			}
			return 0, ""
		}, nil, false},
		"it refuses all": {func(*http.Request, []byte, bool) (int, string) { return http.StatusForbidden, "AccessDenied" },
			nil, false},
	} {
		b := service(t, c.judge)
		if err := Exclusive(t.Context(), b, "k"); c.alone && !errors.Is(err, c.want) || !c.alone &&
			(err == nil || errors.Is(err, ErrShared)) {
			t.Errorf("%s: %v", name, err)
		}
		if !c.alone {
			continue
		}
		if err := CreateAlone(t.Context(), b, "alone", strings.NewReader("x")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := CreateAlone(t.Context(), b, "alone", strings.NewReader("x")); !Taken(err) {
			t.Errorf("%s, once more: %v", name, err)
		}
	}
	m := memblob.OpenBucket(nil)
	defer func() { _ = m.Close() }()
	if err := Exclusive(t.Context(), m, "k"); err != nil {
		t.Errorf("memory: %v", err)
	}
}
