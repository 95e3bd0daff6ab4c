//go:build unix

package binlog

import (
	"os"
	"syscall"
)

// mapFile maps the first bytes of a file.
func mapFile(f *os.File, size int) (data []byte, unmap func(), err error) {
	data, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED) //nolint:gosec // a descriptor
	return data, func() { _ = syscall.Munmap(data) }, err
}
