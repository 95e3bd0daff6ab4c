package binlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

// Magic begins every binary log, and every relay log.
const Magic = "\xfebin"

// Types of events.
const (
	typeQuery           = 2
	typeFormat          = 15
	typeXid             = 16
	typeXAPrepare       = 38
	typeGTID            = 162
	typeQueryCompressed = 165
)

const (
	headerSize = 19
	sumSize    = 4
	// queryFixed is the length of what precedes the variables of a Query event.
	queryFixed = 13
	// standalone is the flag of a GTID event whose group is one statement, without COMMIT.
	standalone = 1
	// maxEvent bounds an event: max_allowed_packet is 1 GiB at most, and headers come in addition.
	maxEvent = 1<<30 + 64<<10
)

// Variables of a Query event that have a length of their own, and the microseconds.
const (
	varTimeZone     = 5
	varCatalog      = 6
	varInvoker      = 11
	varMicroseconds = 128
)

// varSizes are the lengths of the variables that a server writes before the microseconds, with their codes; 0 for
// others.
var varSizes = [256]int{0: 5, 1: 9, 3: 5, 4: 7, 7: 3, 8: 3, 9: 9, 10: 5}

// Event is one event of a binary log as the server has written it, with its checksum.
type Event []byte

// errEvent is returned for bytes that are no event.
var errEvent = errors.New("not an event of a binary log")

// Check reports whether the length is what the header says.
func (e Event) Check() error {
	if len(e) < headerSize || int(binary.LittleEndian.Uint32(e[9:])) != len(e) {
		return errEvent
	}
	return nil
}

func (e Event) kind() byte { return e[4] }

// Time is when the statement of the event began.
func (e Event) Time() time.Time { return time.Unix(int64(binary.LittleEndian.Uint32(e)), 0).UTC() }

// IsFormat reports whether the event describes the format of those that follow.
func (e Event) IsFormat() bool { return e.kind() == typeFormat }

// Starts reports whether a server was started before it wrote the events after a format description. The description of
// a log that was only rotated has no time of its creation. One that is too short reports it, too.
func (e Event) Starts() bool {
	const created = headerSize + 2 + 50 // after the versions of the format and of the server
	return len(e) < created+4+1 || binary.LittleEndian.Uint32(e[created:]) != 0
}

// Sums reports whether the events after a format description carry checksums: the byte before its own says so.
func (e Event) Sums() bool { return len(e) > headerSize+sumSize && e[len(e)-sumSize-1] == 1 }

// GTID returns the GTID that an event begins, and whether it begins one.
func (e Event) GTID() (g GTID, ok bool) {
	if e.kind() != typeGTID || len(e) < headerSize+13 {
		return g, false
	}
	body := e[headerSize:]
	return GTID{Seq: binary.LittleEndian.Uint64(body), Domain: binary.LittleEndian.Uint32(body[8:]),
		Server: binary.LittleEndian.Uint32(e[5:])}, true
}

func (e Event) standalone() bool { return e[headerSize+12]&standalone != 0 }

// exactTime is when the statement of a Query event began, to the microsecond; false for an event that has not logged
// it.
func (e Event) exactTime(sums bool) (t time.Time, ok bool) {
	b := e.body(sums)
	if k := e.kind(); k != typeQuery && k != typeQueryCompressed || len(b) < queryFixed {
		return t, false
	}
	for vars := b[queryFixed:min(len(b), queryFixed+int(binary.LittleEndian.Uint16(b[11:])))]; len(vars) > 0; {
		var size int
		switch code := vars[0]; {
		case code == varMicroseconds && len(vars) >= 4:
			micros := int64(vars[1]) | int64(vars[2])<<8 | int64(vars[3])<<16
			return e.Time().Add(time.Duration(micros) * time.Microsecond), micros < 1e6
		case (code == varCatalog || code == varTimeZone) && len(vars) > 1:
			size = 2 + int(vars[1])
		case code == varInvoker && len(vars) > 1 && len(vars) > 2+int(vars[1]):
			size = 3 + int(vars[1]) + int(vars[2+int(vars[1])])
		default:
			size = varSizes[code]
		}
		if size == 0 || size > len(vars) {
			return t, false // what follows is not known
		}
		vars = vars[size:]
	}
	return t, false
}

// body is what follows the header, without the checksum.
func (e Event) body(sums bool) []byte {
	b := e[headerSize:]
	if sums && len(b) >= sumSize {
		b = b[:len(b)-sumSize]
	}
	return b
}

// query is the database and the text of a statement.
func (e Event) query(sums bool) []byte {
	b := e.body(sums)
	if len(b) < queryFixed {
		return nil
	}
	if skip := queryFixed + int(binary.LittleEndian.Uint16(b[11:])); skip < len(b) {
		return b[skip:]
	}
	return nil
}

// ends reports whether an event is the last of its group.
func (e Event) ends(alone, sums bool) bool {
	switch e.kind() {
	case typeXid, typeXAPrepare:
		return true
	case typeQuery, typeQueryCompressed:
		q := e.query(sums)
		_, text, _ := bytes.Cut(q, []byte{0})
		return alone || bytes.EqualFold(text, []byte("COMMIT")) || bytes.EqualFold(text, []byte("ROLLBACK"))
	}
	return false
}

// content is what is the same on every node that has written the event: rows and statements, not times, positions,
// threads, tables' numbers, or how keys are checked.
func (e Event) content(sums bool) []byte {
	const tableAndFlags = 8
	switch k := e.kind(); {
	case k == typeXid:
		return e.body(sums)
	case k == typeQuery:
		return e.query(sums)
	case k >= 23 && k <= 25 || k >= 166 && k <= 171: // rows
		if b := e.body(sums); len(b) > tableAndFlags {
			return b[tableAndFlags:]
		}
	}
	return nil
}

// Transaction is one group of events.
type Transaction struct {
	GTID GTID
	// Time is when its last statement began, Exact whether it is known to the microsecond.
	Time  time.Time
	Exact bool
	// Seqno is that of Galera, 0 when it is not known: a statement that changes tables does not name it.
	Seqno int64
	// Sum is a checksum of its content: two nodes have the same one for the same transaction.
	Sum string
}

// Grouper finds where transactions begin and end in a stream of events.
type Grouper struct {
	sums  bool
	open  bool
	alone bool
	now   Transaction
	sum   hash.Hash
}

// Kinds of an event in a stream.
const (
	// Outside belongs to no transaction: it is not archived.
	Outside = iota
	// Format describes the events that follow.
	Format
	// Begin is the first event of a transaction, Inside a further one, End the last one.
	Begin
	Inside
	End
)

// See takes the next event, and describes what it is. At End, Done is what has ended.
func (g *Grouper) See(e Event) (kind int, err error) {
	if err := e.Check(); err != nil {
		return Outside, err
	}
	if e.IsFormat() {
		g.sums, g.open = e.Sums(), false
		return Format, nil
	}
	if id, ok := e.GTID(); ok {
		g.now, g.open, g.alone, g.sum = Transaction{GTID: id, Time: e.Time()}, true, e.standalone(), sha256.New()
		return Begin, nil
	}
	if !g.open {
		return Outside, nil
	}
	if t := e.Time(); t.After(g.now.Time) {
		g.now.Time = t
	}
	// The GTID's event is of the same statement, where there is one only.
	if t, ok := e.exactTime(g.sums); ok && g.alone && t.After(g.now.Time) {
		g.now.Time, g.now.Exact = t, true
	}
	_, _ = g.sum.Write([]byte{e.kind()})
	_, _ = g.sum.Write(e.content(g.sums))
	if !e.ends(g.alone, g.sums) {
		return Inside, nil
	}
	if b := e.body(g.sums); e.kind() == typeXid && len(b) == 8 {
		g.now.Seqno = int64(binary.LittleEndian.Uint64(b)) //nolint:gosec // a seqno is positive
	}
	g.open, g.now.Sum = false, hex.EncodeToString(g.sum.Sum(nil))
	return End, nil
}

// Done is the transaction that is open, or has ended last.
func (g *Grouper) Done() Transaction { return g.now }

// Open reports whether a transaction has begun, and not ended.
func (g *Grouper) Open() bool { return g.open }

// Next reads the next event of a binary log after its Magic. io.EOF is its end. The event is valid until the buffer is
// closed.
func Next(r io.Reader, b *Buffer) (Event, error) {
	head := make([]byte, headerSize)
	if _, err := io.ReadFull(r, head); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errEvent
		}
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[9:])
	if size < headerSize || size > maxEvent {
		return nil, fmt.Errorf("%w: of %d bytes", errEvent, size)
	}
	if _, err := b.Write(head); err != nil {
		return nil, err
	}
	switch _, err := io.CopyN(b, r, int64(size)-headerSize); {
	case IsOwn(err):
		return nil, err
	case err != nil:
		return nil, errEvent
	}
	return b.Event()
}
