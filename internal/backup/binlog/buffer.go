package binlog

import (
	"errors"
	"fmt"
	"os"
)

const (
	// maxInMemory is the largest event that is kept in memory, in bytes: larger ones lie in a file, of which the kernel
	// keeps in memory what it has space for.
	maxInMemory = 1 << 20
	// syncEvery bounds what of a file is not on the disk yet: only the rest can be dropped from memory.
	syncEvery = 32 << 20
)

// Buffer takes the bytes of one event, which may be a row of a gigabyte. Close ends the use of the event.
type Buffer struct {
	memory []byte
	file   *os.File
	size   int64
	synced int64
	unmap  func()
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	if b.size+int64(len(p)) > maxEvent {
		return 0, fmt.Errorf("%w: of more than %d bytes", errEvent, maxEvent)
	}
	if b.file == nil && b.size+int64(len(p)) <= maxInMemory {
		b.memory = append(b.memory, p...)
		b.size += int64(len(p))
		return len(p), nil
	}
	if b.file == nil {
		if err := b.spill(); err != nil {
			return 0, err
		}
	}
	n, err := b.file.Write(p)
	b.size += int64(n)
	if err == nil && b.size-b.synced >= syncEvery {
		b.synced, err = b.size, b.file.Sync()
	}
	return n, own(err)
}

// fileError is one of the file that an event lies in.
type fileError struct{ error }

// Unwrap implements errors.Unwrap.
func (e fileError) Unwrap() error { return e.error }

// IsOwn reports whether an event could not be kept in a file: nothing is wrong with the binary log then.
func IsOwn(err error) bool {
	var f fileError
	return errors.As(err, &f)
}

// own has errors of the file recognised.
func own(err error) error {
	if err == nil {
		return nil
	}
	return fileError{fmt.Errorf("an event of more than %d bytes needs a temporary file: %w", maxInMemory, err)}
}

// spill goes on in a file that has no name: it goes with the process.
func (b *Buffer) spill() (err error) {
	if b.file, err = os.CreateTemp("", "event-"); err != nil {
		return own(err)
	}
	if err = os.Remove(b.file.Name()); err == nil {
		_, err = b.file.Write(b.memory)
	}
	b.memory = nil
	return own(err)
}

// Event returns what was written. It is valid until Close if it is large, and for good otherwise.
func (b *Buffer) Event() (Event, error) {
	if b.file == nil {
		return b.memory, nil
	}
	if err := b.file.Sync(); err != nil {
		return nil, own(err)
	}
	data, unmap, err := mapFile(b.file, int(b.size))
	if err != nil {
		return nil, own(err)
	}
	b.unmap = unmap
	return data, nil
}

// Close frees the event.
func (b *Buffer) Close() {
	if b.unmap != nil {
		b.unmap()
	}
	if b.file != nil {
		_ = b.file.Close()
	}
	*b = Buffer{}
}
