package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gocloud.dev/blob/fileblob"
)

// onVolume is a store on a volume.
func onVolume(t *testing.T) (b *Bucket, dir string) {
	t.Helper()
	dir = t.TempDir()
	b, err := fileblob.OpenBucket(dir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b, dir
}

// syncing replaces what syncs files.
func syncing(t *testing.T, do func(*os.File) error) {
	t.Helper()
	before := syncFile
	syncFile = do
	t.Cleanup(func() { syncFile = before })
}

// TestFilesSurvive: what is stored survives a loss of power once that was reported: the content is on the disk before
// it gets its name, and the names of the file and of all its directories after that.
func TestFilesSurvive(t *testing.T) {
	for name, m := range map[string]mode{"replaced": replace, "created": create, "created alone": exclusive} {
		b, dir := onVolume(t)
		var synced []string
		syncing(t, func(f *os.File) error {
			at, err := filepath.Rel(dir, f.Name())
			if strings.HasSuffix(at, ".tmp") {
				at = "content"
			}
			if _, missing := os.Stat(filepath.Join(dir, "a/b/k.json")); missing == nil {
				at += " named"
			}
			synced = append(synced, at)
			return errors.Join(err, f.Sync())
		})
		want := []string{"content", "a/b named", "a named", ". named"}
		if err := write(t.Context(), b, "a/b/k.json", strings.NewReader("x"), m); err != nil ||
			!slices.Equal(synced, want) {
			t.Errorf("%s: %v, %q", name, err, synced)
		}
	}
}

// TestFilesAreNotSynced: what may not survive a loss of power is not reported as stored. Where a file system syncs no
// directories, it is.
func TestFilesAreNotSynced(t *testing.T) {
	for name, c := range map[string]struct {
		ofContent, ofDirectory error
		exists                 bool
		fails                  bool
	}{
		"neither fails":                 {exists: true},
		"the content's":                 {ofContent: syscall.EIO, fails: true},
		"the directory's":               {ofDirectory: syscall.EIO, exists: true, fails: true},
		"directories cannot be synced":  {ofDirectory: syscall.EINVAL, exists: true},
		"directories are not supported": {ofDirectory: errors.ErrUnsupported, exists: true},
	} {
		for _, m := range []mode{replace, create} {
			b, dir := onVolume(t)
			syncing(t, func(f *os.File) error {
				if strings.HasSuffix(f.Name(), ".tmp") {
					return c.ofContent
				}
				return c.ofDirectory
			})
			err := write(t.Context(), b, "a/k", strings.NewReader("x"), m)
			_, missing := os.Stat(filepath.Join(dir, "a/k"))
			if (err != nil) != c.fails || (missing == nil) != c.exists {
				t.Errorf("%s, mode %d: %v, and it is there: %v", name, m, err, missing == nil)
			}
		}
	}
}

// TestFilesWithoutLinks: a file system without hard links cannot show that a name is free, which a check finds out. It
// is used by one writer alone: what is there is not overwritten then either.
func TestFilesWithoutLinks(t *testing.T) {
	before := linkFile
	defer func() { linkFile = before }()
	for name, c := range map[string]struct {
		err    error
		shared error // what a check finds
		fails  bool  // a file cannot be created either
	}{
		"it has them":             {},
		"not supported":           {err: errors.ErrUnsupported, shared: ErrShared},
		"not permitted":           {err: syscall.EPERM, shared: ErrShared},
		"too many":                {err: syscall.EMLINK, shared: ErrShared},
		"the file system is away": {err: syscall.EIO, shared: syscall.EIO, fails: true},
	} {
		linkFile = before
		if c.err != nil {
			linkFile = func(from, to string) error { return &os.LinkError{Op: "link", Old: from, New: to, Err: c.err} }
		}
		b, _ := onVolume(t)
		if err := Exclusive(t.Context(), b, "check"); !errors.Is(err, c.shared) {
			t.Errorf("%s: a check finds %v", name, err)
		}
		if err := Create(t.Context(), b, "a/k", strings.NewReader("first")); (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
		if c.fails {
			continue
		}
		if err := Create(t.Context(), b, "a/k", strings.NewReader("second")); !Taken(err) {
			t.Errorf("%s, once more: %v", name, err)
		}
		if have, err := b.ReadAll(t.Context(), "a/k"); err != nil || string(have) != "first" {
			t.Errorf("%s: %q, %v", name, have, err)
		}
	}
}
