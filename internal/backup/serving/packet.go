package serving

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

const (
	// maxPayload is the most that one packet holds: a longer payload goes on in the next one.
	maxPayload = 1<<24 - 1
	// maxCommand bounds what a replica sends, in bytes.
	maxCommand = 64 << 10
	// sendTime is how long a replica may take nothing of what is sent.
	sendTime = 2 * time.Minute
)

// First bytes of a payload.
const (
	headOK    = 0
	headEOF   = 0xfe
	headError = 0xff
)

// packets is a connection in the protocol of MariaDB.
type packets struct {
	conn     net.Conn
	out      *bufio.Writer
	sequence byte
}

func newPackets(conn net.Conn) *packets {
	return &packets{conn: conn, out: bufio.NewWriterSize(conn, 64<<10)}
}

// upgraded goes on over another connection, with the sequence of this one.
func (p *packets) upgraded(conn net.Conn) *packets {
	out := newPackets(conn)
	out.sequence = p.sequence
	return out
}

// read returns the next payload, within a time. It reads nothing of what follows.
func (p *packets) read(within time.Duration) ([]byte, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return nil, err
	}
	var head [4]byte
	if _, err := io.ReadFull(p.conn, head[:]); err != nil {
		return nil, err
	}
	size := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if size > maxCommand {
		return nil, fmt.Errorf("a packet of %d bytes", size)
	}
	p.sequence = head[3] + 1
	payload := make([]byte, size)
	_, err := io.ReadFull(p.conn, payload)
	return payload, err
}

// write sends a payload, in parts that are not copied together: an event may have a gigabyte.
func (p *packets) write(parts ...[]byte) error {
	left := 0
	for _, part := range parts {
		left += len(part)
	}
	for full := true; full; {
		n := min(left, maxPayload)
		left, full = left-n, n == maxPayload
		head := binary.LittleEndian.AppendUint32(nil, uint32(n)) //nolint:gosec // 24 bits
		head[3] = p.sequence
		p.sequence++
		if err := p.put(head); err != nil {
			return err
		}
		for n > 0 {
			some := parts[0][:min(n, len(parts[0]))]
			if err := p.put(some); err != nil {
				return err
			}
			if n -= len(some); len(some) == len(parts[0]) {
				parts = parts[1:]
			} else {
				parts[0] = parts[0][len(some):]
			}
		}
	}
	return nil
}

// put writes a piece at a time: the deadline is about each.
func (p *packets) put(data []byte) error {
	for len(data) > 0 {
		if err := p.conn.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
			return err
		}
		n, err := p.out.Write(data[:min(len(data), 1<<20)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// flush sends what was written.
func (p *packets) flush() error {
	if err := p.conn.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return err
	}
	return p.out.Flush()
}

func (p *packets) ok() error {
	return errors.Join(p.write([]byte{headOK, 0, 0, 2, 0, 0, 0}), p.flush())
}

// refuse sends an error.
func (p *packets) refuse(number uint16, state, text string) error {
	return errors.Join(p.write([]byte{headError}, binary.LittleEndian.AppendUint16(nil, number), []byte("#"+state+text)),
		p.flush())
}

// row sends a result of one row.
func (p *packets) row(names, values []string) error {
	eof := []byte{headEOF, 0, 0, 2, 0}
	err := p.write([]byte{byte(len(names))})
	for _, name := range names {
		const utf8, varString = 45, 253
		column := append(short("def"), 0, 0, 0)
		column = append(append(column, short(name)...), 0, 12, utf8, 0, 0, 4, 0, 0, varString, 0, 0, 0, 0, 0)
		err = errors.Join(err, p.write(column))
	}
	var row []byte
	for _, v := range values {
		row = append(row, short(v)...)
	}
	return errors.Join(err, p.write(eof), p.write(row), p.write(eof), p.flush())
}

// short is a text of up to 250 bytes with its length.
func short(text string) []byte { return append([]byte{byte(len(text))}, text...) }
