//go:build !unix

package binlog

import (
	"io"
	"os"
)

// mapFile reads a file. The program that archives runs on Linux only.
func mapFile(f *os.File, size int) (data []byte, unmap func(), err error) {
	data = make([]byte, size)
	_, err = io.ReadFull(io.NewSectionReader(f, 0, int64(size)), data)
	return data, func() {}, err
}
