package runner

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
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
	if told, err := check(t.Context(), bucket, task.Check{Recipients: []string{good}}); err != nil || told.Checked == nil {
		t.Errorf("a public key: %+v, %v", told, err)
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

// TestList: complete backups are found at every depth that is asked for; parts, halves and what belongs to others are none.
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
	for _, dir := range []string{"demo/shop/u1/a", "demo/shop/u1/b", "demo/shop/u2/c", "demo/shoppers/u3/d", "other/shop/u4/e"} {
		for i := range 3 {
			put(path.Join(dir, manifest.PartName(i)))
		}
		put(path.Join(dir, manifest.Name))
	}
	put("demo/shop/u1/half/part-000000")
	put("readme.txt")
	put("photos/2026/03/01/" + manifest.Name)
	put("photos/2026/" + manifest.Name)
	for dir, want := range map[string]string{"": "01 a b c d e", "demo/shop": "a b c", "demo/shop/u1": "a b", "demo/none": ""} {
		found, err := list(ctx, bucket, dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			got = append(got, f.id)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", dir, got, want)
		}
	}
}
