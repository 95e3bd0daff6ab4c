package binlog

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
)

// TestBuffer: an event is what was written, in memory or in a file; a small one stays valid.
func TestBuffer(t *testing.T) {
	for _, size := range []int64{100, maxInMemory, maxInMemory + 1, 3*maxInMemory + 17} {
		want, err := io.ReadAll(binlogtest.Large(4, size))
		if err != nil {
			t.Fatal(err)
		}
		var b Buffer
		e, err := Next(bytes.NewReader(want), &b)
		if err != nil || !bytes.Equal(e, want) || e.Check() != nil || (b.file != nil) != (size > maxInMemory) {
			t.Errorf("%d bytes: %d, in a file %v, %v", size, len(e), b.file != nil, err)
		}
		b.Close()
		if size <= maxInMemory && !bytes.Equal(e, want) {
			t.Errorf("%d bytes are not valid any more", size)
		}
	}
}

// TestBufferFails: where no file can be made, that is named, and the binary log is not called damaged.
func TestBufferFails(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/missing")
	if _, err := Next(binlogtest.Large(4, 2*maxInMemory), &Buffer{}); !IsOwn(err) || errors.Is(err, errEvent) {
		t.Error(err)
	}
	if _, err := (&Buffer{size: maxEvent}).Write([]byte{0}); !errors.Is(err, errEvent) {
		t.Errorf("an event of any size is taken: %v", err)
	}
}
