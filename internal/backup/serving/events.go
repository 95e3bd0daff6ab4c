package serving

import (
	"encoding/binary"
	"errors"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Types of the events that are made here, their flags, and where the fields of a header are.
const (
	typeRotate    = 4
	typeHeartbeat = 27
	typeGTIDList  = 163

	flagArtificial   = 0x20
	flagUntilReached = 1 << 28

	headerSize = 19
	sumSize    = 4
	atSize     = 9
	atPosition = 13
	// atCreated is where a format description names when its server was started.
	atCreated = headerSize + 2 + 50
	begin     = 4 // of the first event in a binary log
)

// sender sends a segment as a file of a binary log: positions in it are counted here, because a segment has events of
// several files, and of several nodes.
type sender struct {
	*packets
	server uint32
	file   string
	at     uint32
	// sums reports whether the events of the segment carry checksums. They are sent without: their headers change.
	sums bool
	// described reports whether the replica knows the format of events.
	described bool
}

// rotate begins the file of a segment.
func (s *sender) rotate(segment uint64) error {
	s.file, s.at = "archive."+binlog.Name(segment), begin
	body := append(binary.LittleEndian.AppendUint64(nil, begin), s.file...)
	return s.own(typeRotate, 0, flagArtificial, body)
}

// heartbeat reports that the connection is alive.
func (s *sender) heartbeat() error {
	if err := s.own(typeHeartbeat, s.at, 0, []byte(s.file)); err != nil {
		return err
	}
	return s.flush()
}

// reached reports that what follows is beyond the position that the replica has asked for.
func (s *sender) reached(until binlog.GTID) error {
	body := binary.LittleEndian.AppendUint32(nil, 1|flagUntilReached)
	body = binary.LittleEndian.AppendUint32(body, until.Domain)
	body = binary.LittleEndian.AppendUint32(body, until.Server)
	body = binary.LittleEndian.AppendUint64(body, until.Seq)
	return errors.Join(s.own(typeGTIDList, s.at, flagArtificial, body), s.flush())
}

// own sends an event that is in no segment.
func (s *sender) own(kind byte, position uint32, flags uint16, body []byte) error {
	e := make([]byte, headerSize, headerSize+len(body))
	e[4] = kind
	binary.LittleEndian.PutUint32(e[5:], s.server)
	binary.LittleEndian.PutUint32(e[atPosition:], position)
	binary.LittleEndian.PutUint16(e[17:], flags)
	e = append(e, body...)
	binary.LittleEndian.PutUint32(e[atSize:], uint32(len(e))) //nolint:gosec // names are short
	return s.write([]byte{headOK}, e)
}

// event sends one of a segment, without its checksum. Its position becomes that in the file. A format description no
// longer claims that a server was started, which would have a replica roll back, nor that checksums follow; its own,
// which it has in any case, is not verified then.
func (s *sender) event(e binlog.Event) error {
	fixed := atPosition + 4
	if e.IsFormat() {
		fixed = atCreated + 4
	}
	size := len(e)
	if s.sums && !e.IsFormat() {
		size -= sumSize
	}
	if size < fixed+1+sumSize && e.IsFormat() || size < fixed {
		return errors.New("an event of a segment is too short")
	}
	head := make([]byte, fixed)
	copy(head, e)
	s.at += uint32(size)                                       //nolint:gosec // replicas by GTID ignore it: it may wrap
	binary.LittleEndian.PutUint32(head[atSize:], uint32(size)) //nolint:gosec // it was one of 32 bits
	binary.LittleEndian.PutUint32(head[atPosition:], s.at)
	if !e.IsFormat() {
		return s.write([]byte{headOK}, head, e[fixed:size])
	}
	s.described, s.sums = true, e.Sums()
	clear(head[atCreated:])
	algorithm := size - sumSize - 1
	return s.write([]byte{headOK}, head, e[fixed:algorithm], []byte{0}, e[algorithm+1:])
}
