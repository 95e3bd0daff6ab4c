// Package mbstream writes files as the stream that MariaDB's mbstream unpacks (xbstream_write.c): files of a backup
// that lie apart take the same way then as a backup that is one stream.
package mbstream

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// Magic begins each chunk.
const Magic = "XBSTCK01"

// MaxPath is the length of a file's name that mbstream takes: FN_REFLEN without its end.
const MaxPath = 511

const (
	// maxChunk bounds what mbstream has in memory.
	maxChunk = 1 << 20

	payload = 'P'
	eof     = 'E'
)

// Writer writes one file after the other.
type Writer struct {
	to   io.Writer
	path string
	at   uint64
}

// NewWriter returns one that has written nothing.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Begin begins a file.
func (w *Writer) Begin(path string) error {
	if path == "" || len(path) > MaxPath {
		return errors.New("mbstream takes no file of that name: " + path)
	}
	w.path, w.at = path, 0
	return nil
}

// Write implements io.Writer for the content of the file.
func (w *Writer) Write(data []byte) (n int, err error) {
	for len(data) > 0 {
		piece := data[:min(len(data), maxChunk)]
		head := w.head(payload)
		head = binary.LittleEndian.AppendUint64(head, uint64(len(piece)))
		head = binary.LittleEndian.AppendUint64(head, w.at)
		head = binary.LittleEndian.AppendUint32(head, crc32.ChecksumIEEE(piece))
		if _, err := w.to.Write(append(head, piece...)); err != nil {
			return n, err
		}
		n, w.at, data = n+len(piece), w.at+uint64(len(piece)), data[len(piece):]
	}
	return n, nil
}

// End ends the file.
func (w *Writer) End() error {
	_, err := w.to.Write(w.head(eof))
	return err
}

func (w *Writer) head(kind byte) []byte {
	out := append([]byte(Magic), 0, kind)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(w.path))) //nolint:gosec // bounded
	return append(out, w.path...)
}
