// Package dump reads the binary log of a server, as a replica does.
package dump

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/packet"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

const (
	// Heartbeat is how often an idle server states that it is there.
	Heartbeat = 5 * time.Second
	// sendAnnotated asks for the statements of rows, too.
	sendAnnotated = 2
)

// Log is a server's binary log as it goes on. The library's own reader keeps each event in memory, several times over,
// and a row may have a gigabyte.
type Log struct {
	conn   *packet.Conn
	refuse func(packet []byte) error // what an error packet says
	ended  func(error) error         // what the error of a log that has ended becomes
	events chan read
	done   chan struct{}
	last   *binlog.Buffer // of the event that was given last
	err    error          // why there are none any more
}

// read is an event, or why there are none any more.
type read struct {
	binlog.Event
	buffer *binlog.Buffer
	err    error
}

// Replica is who asks a server.
type Replica struct {
	// Name is what SHOW REPLICA HOSTS shows, Server the server_id, which no other replica has.
	Name   string
	Server uint32
	// After is the position to begin after, one GTID for each domain. With Strict, a server that lacks one of them refuses
	// it; otherwise it begins with the next one.
	After  string
	Strict bool
	// Ended is what the error of a log that has ended becomes.
	Ended func(error) error
}

// Open asks a server for what follows a position.
func (r Replica) Open(c *client.Conn) (*Log, error) {
	strict := 0
	if r.Strict {
		strict = 1
	}
	for _, statement := range []string{
		"SET @master_binlog_checksum = 'NONE'",
		"SET @mariadb_slave_capability = 4", // it knows GTIDs
		fmt.Sprintf("SET @master_heartbeat_period = %d", Heartbeat),
		fmt.Sprintf("SET @slave_connect_state = '%s'", r.After),
		fmt.Sprintf("SET @slave_gtid_strict_mode = %d", strict),
	} {
		if _, err := c.Execute(statement); err != nil {
			return nil, err
		}
	}
	// It registers first, as a replica does, so that SHOW REPLICA HOSTS names it.
	register := append([]byte{0, 0, 0, 0, gomysql.COM_REGISTER_SLAVE}, binary.LittleEndian.AppendUint32(nil, r.Server)...)
	register = append(append(register, byte(len(r.Name))), r.Name...)
	register = append(register, make([]byte, 1+1+2+4+4)...) // no user, password, port, rank and source
	c.ResetSequence()
	if err := c.WritePacket(register); err != nil {
		return nil, err
	}
	if _, err := c.ReadOKPacket(); err != nil {
		return nil, err
	}
	ask := append([]byte{0, 0, 0, 0, gomysql.COM_BINLOG_DUMP}, 0, 0, 0, 0, sendAnnotated, 0) // from no file and position
	ask = binary.LittleEndian.AppendUint32(ask, r.Server)
	c.ResetSequence()
	if err := c.WritePacket(ask); err != nil {
		return nil, err
	}
	return New(c.Conn, c.HandleErrorPacket, r.Ended), nil
}

// New reads what a server sends.
func New(c *packet.Conn, refuse func([]byte) error, ended func(error) error) *Log {
	d := &Log{conn: c, refuse: refuse, ended: ended, events: make(chan read), done: make(chan struct{})}
	go d.run()
	return d
}

// run reads one event ahead.
func (d *Log) run() {
	for {
		r := d.read()
		select {
		case d.events <- r:
		case <-d.done:
			r.buffer.Close()
			return
		}
		if r.err != nil {
			return
		}
	}
}

func (d *Log) read() read {
	r := read{buffer: &binlog.Buffer{}}
	p := &payload{to: r.buffer}
	r.err = d.conn.ReadPacketTo(p)
	if p.failed != nil {
		r.err = p.failed
	}
	if r.err != nil {
		return r
	}
	e, err := r.buffer.Event()
	switch {
	case err != nil:
		r.err = err
	case p.kind == gomysql.ERR_HEADER:
		r.err = d.refuse(append([]byte{p.kind}, e...))
	case p.kind != gomysql.OK_HEADER:
		r.err = fmt.Errorf("the server has ended the binary log (%#x)", p.kind)
	default:
		r.Event = e
	}
	return r
}

// payload is that of a packet: a byte for its kind, and the event.
type payload struct {
	kind   byte
	begun  bool
	to     *binlog.Buffer
	failed error // the buffer's own error
}

// Write implements io.Writer.
func (p *payload) Write(data []byte) (int, error) {
	n := len(data)
	if !p.begun && n > 0 {
		p.kind, p.begun, data = data[0], true, data[1:]
	}
	if _, err := p.to.Write(data); err != nil {
		p.failed = err
		return 0, err
	}
	return n, nil
}

// Event is the next one, nil when none comes for a while. It is valid until the next call.
func (d *Log) Event(ctx context.Context, wait time.Duration) (binlog.Event, error) {
	d.release()
	if d.err != nil {
		return nil, d.err
	}
	limit := time.NewTimer(wait)
	defer limit.Stop()
	select {
	case r := <-d.events:
		d.last = r.buffer
		if r.err != nil {
			d.err = d.ended(r.err)
		}
		return r.Event, d.err
	case <-limit.C:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (d *Log) release() {
	if d.last != nil {
		d.last.Close()
		d.last = nil
	}
}

// Close ends the connection. The event that was given last is not valid any more.
func (d *Log) Close() {
	close(d.done)
	_ = d.conn.Close()
	d.release()
}
