// Package binlogtest makes events of a binary log, for tests.
package binlogtest

import "encoding/binary"

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

// FormatDescription reports whether checksums follow.
func FormatDescription() []byte { return Event(Format, 1, 1, 4, 0, 1) }

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
