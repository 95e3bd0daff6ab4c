package store

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestVolume: a file that is not there, and one that may not be read, are no failure of a network.
func TestVolume(t *testing.T) {
	b, err := fileblob.OpenBucket(t.TempDir(), &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	if exists, err := Exists(t.Context(), b, "shop/manifest.json"); exists || err != nil {
		t.Errorf("a file that is not there: %v, %v", exists, err)
	}
	if err := b.WriteAll(t.Context(), "shop/manifest.json", []byte("{}"), nil); err != nil {
		t.Fatal(err)
	}
	if exists, err := Exists(t.Context(), b, "shop/manifest.json"); !exists || err != nil {
		t.Errorf("a file that is there: %v, %v", exists, err)
	}
	if err := Exclusive(t.Context(), b, "once"); err != nil {
		t.Errorf("files are created one after the other: %v", err)
	}
	refused := fmt.Errorf("x: %w", &fs.PathError{Op: "open", Path: "/var/lib/backups/x", Err: syscall.EACCES})
	if gcerrors.Code(refused) == gcerrors.NotFound || isNet(refused) || isNet(&fs.PathError{Err: syscall.ENOENT}) {
		t.Error("an error of the file system counts as one of the network")
	}
	if reason, _ := Reason(&fs.PathError{Err: syscall.ENOSPC}); reason != task.ReasonStoreFull {
		t.Errorf("a full volume is %s", reason)
	}
}
