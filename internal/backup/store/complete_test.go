package store

import (
	"errors"
	"io"
	"strings"
	"testing"

	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestListWithoutTimes: a service that lists objects without a time is refused by name, and ends no program.
func TestListWithoutTimes(t *testing.T) {
	f := storetest.NewFake(t, nil)
	f.Put("a/1", []byte("x"))
	f.Put("a/2", []byte("x"))
	b, err := OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	list := func() (n int, err error) {
		for all := b.List(&blob.ListOptions{Prefix: "a/"}); ; n++ {
			if _, err := all.Next(t.Context()); err != nil {
				return n, err
			}
		}
	}
	if n, err := list(); n != 2 || !errors.Is(err, io.EOF) {
		t.Fatalf("with times: %d, %v", n, err)
	}
	f.OmitTimes()
	_, err = list()
	reason, final := Reason(err)
	if said := Explain(err); reason != task.ReasonStoreRefused || final ||
		!strings.HasPrefix(said, "the bucket "+storetest.Bucket+" at https://") || !strings.Contains(said, `"a/1" without`) {
		t.Errorf("%s, final %v: %s", reason, final, said)
	}
}
