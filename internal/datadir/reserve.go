package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

const (
	reserveFile = "reserve"
	// reserveSize is the space that is kept for small files when a volume is full, reserveStep what one of them gets.
	reserveSize = 256 << 10
	reserveStep = 16 << 10
)

// WriteReserved is WriteFile for what has to be written although the volume is full: it gives space back that it has
// kept in a file next to it, and fills that up again as soon as there is space.
func WriteReserved(path string, data []byte, mode os.FileMode) error {
	return fromReserve(filepath.Dir(path), func() error { return WriteFile(path, data, mode) })
}

func fromReserve(dir string, write func() error) error {
	reserve := filepath.Join(dir, reserveFile)
	err := write()
	if Full(err) && shrinkReserve(reserve) {
		return write() // what it has given back stays free, should the same be written again
	}
	if err == nil {
		_ = fillReserve(reserve) // without it a full volume refuses the next file, as it would without a reserve
	}
	return err
}

// Full reports whether a write failed because the volume, or a quota of it, has no space left.
func Full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// fillReserve fills the reserve. The blocks are written, as some file systems promise none for a hole.
func fillReserve(path string) error {
	size := int64(0)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	if size >= reserveSize {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, reserveSize-size), size)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		err = errors.Join(err, f.Truncate(size)) // no block that was not written counts
	}
	return errors.Join(err, f.Close())
}

// shrinkReserve gives a part of the reserve back, and reports whether there was any.
func shrinkReserve(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 {
		return false
	}
	return os.Truncate(path, max(0, info.Size()-reserveStep)) == nil
}
