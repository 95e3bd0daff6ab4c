package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReserve: on a full volume every file gets a step of the reserve, until there is none; other errors get nothing,
// and the reserve is filled again when there is space.
func TestReserve(t *testing.T) {
	dir := t.TempDir()
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, reserveFile))
		if err != nil {
			return -1
		}
		return info.Size()
	}
	path := filepath.Join(dir, "orders.json")
	if err := WriteReserved(path, []byte("one"), 0o600); err != nil || size() != reserveSize {
		t.Fatalf("%v; a reserve of %d", err, size())
	}
	full := int64(reserveSize) // the volume has space when the reserve is smaller
	onFull := func() error {
		if size() >= full {
			return fmt.Errorf("write: %w", syscall.ENOSPC)
		}
		full = size() // and another program takes it
		return nil
	}
	for written := range int64(reserveSize / reserveStep) {
		if err := fromReserve(dir, onFull); err != nil || size() != reserveSize-(written+1)*reserveStep {
			t.Fatalf("file %d: %v; a reserve of %d", written, err, size())
		}
	}
	if err := fromReserve(dir, onFull); !Full(err) {
		t.Errorf("without a reserve: %v", err)
	}
	if err := WriteReserved(path, []byte("two"), 0o600); err != nil || size() != reserveSize {
		t.Errorf("with space again: %v; a reserve of %d", err, size())
	}
	protected := errors.New("read-only")
	if err := fromReserve(dir, func() error { return protected }); !errors.Is(err, protected) || size() != reserveSize {
		t.Errorf("another error: %v; a reserve of %d", err, size())
	}
}
