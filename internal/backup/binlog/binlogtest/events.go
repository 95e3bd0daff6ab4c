// Package binlogtest makes events of a binary log, for tests.
package binlogtest

import (
	"bytes"
	"encoding/binary"
	"io"
)

// Types of events.
const (
	Query  = 2
	Format = 15
	Xid    = 16
	Rows   = 23
	GTID   = 162
)

// Standalone is the flag of a GTID whose group is one statement.
const Standalone = 1

const headerSize = 19

// Event is one of a server and a second, with a checksum of zeros.
func Event(kind byte, server, second uint32, body ...byte) []byte {
	e := make([]byte, headerSize, headerSize+len(body)+4)
	binary.LittleEndian.PutUint32(e, second)
	e[4] = kind
	binary.LittleEndian.PutUint32(e[5:], server)
	e = append(append(e, body...), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(e[9:], uint32(len(e))) //nolint:gosec // a test's event is small
	return e
}

// FormatDescription begins the binary log of a server that was started. Checksums follow.
func FormatDescription() []byte { return described(1) }

// Rotated begins a file of the binary log of a server that was not started in between.
func Rotated() []byte { return described(0) }

func described(created byte) []byte {
	return Event(Format, 1, 1, append([]byte{4, 0}, append(make([]byte, 50), created, 0, 0, 0, 19, 1)...)...)
}

// Begin is the first event of the transaction DOMAIN-SERVER-SEQ.
func Begin(domain, server uint32, seq uint64, second uint32, flags byte) []byte {
	body := binary.LittleEndian.AppendUint64(nil, seq)
	body = binary.LittleEndian.AppendUint32(body, domain)
	return Event(GTID, server, second, append(body, flags, 0, 0, 0, 0, 0, 0)...)
}

// Change has rows of a table.
func Change(second uint32, table, flags byte, image string) []byte {
	return Event(Rows, 1, second, append([]byte{table, 0, 0, 0, 0, 0, flags, 0}, image...)...)
}

// Statement has a text.
func Statement(second uint32, text string) []byte {
	return Event(Query, 1, second, append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 'd', 0}, text...)...)
}

// Commit is the last event of a transaction.
func Commit(second uint32, seqno uint64) []byte {
	return Event(Xid, 1, second, binary.LittleEndian.AppendUint64(nil, seqno)...)
}

// Large has rows of so many bytes, which are made as they are read.
func Large(second uint32, size int64) io.Reader {
	head := Event(Rows, 1, second, 7, 0, 0, 0, 0, 0, 1, 0)
	head = head[:len(head)-4]
	binary.LittleEndian.PutUint32(head[9:], uint32(size)) //nolint:gosec // as large as an event may be
	return io.MultiReader(bytes.NewReader(head), io.LimitReader(&rows{}, size-int64(len(head))))
}

// rows never end.
type rows struct{ n byte }

// Read implements io.Reader.
func (r *rows) Read(to []byte) (int, error) {
	for i := range to {
		to[i] = r.n
	}
	r.n++
	return len(to), nil
}
