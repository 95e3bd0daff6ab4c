package archiver

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/packet"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

const (
	// dialTime bounds a connection for the binary log.
	dialTime = 10 * time.Second
	// sendAnnotated asks for the statements of rows, too.
	sendAnnotated = 2
)

// dumper reads a node's binary log as a replica does. The library's own reader keeps each event in memory, several
// times over, and a row may have a gigabyte.
type dumper struct {
	conn   *packet.Conn
	refuse func(packet []byte) error // what an error packet says
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

// dump asks a server for what follows a position.
func dump(c *client.Conn, server uint32, after string) (*dumper, error) {
	for _, statement := range []string{
		"SET @master_binlog_checksum = 'NONE'",
		"SET @mariadb_slave_capability = 4", // it knows GTIDs
		fmt.Sprintf("SET @master_heartbeat_period = %d", heartbeat),
		fmt.Sprintf("SET @slave_connect_state = '%s'", after),
		"SET @slave_gtid_strict_mode = 1",
	} {
		if _, err := c.Execute(statement); err != nil {
			return nil, err
		}
	}
	// It registers first, as a replica does, so that SHOW REPLICA HOSTS names it.
	const host = "archiver"
	register := append([]byte{0, 0, 0, 0, gomysql.COM_REGISTER_SLAVE}, binary.LittleEndian.AppendUint32(nil, server)...)
	register = append(append(register, byte(len(host))), host...)
	register = append(register, make([]byte, 1+1+2+4+4)...) // no user, password, port, rank and source
	c.ResetSequence()
	if err := c.WritePacket(register); err != nil {
		return nil, err
	}
	if _, err := c.ReadOKPacket(); err != nil {
		return nil, err
	}
	ask := append([]byte{0, 0, 0, 0, gomysql.COM_BINLOG_DUMP}, 0, 0, 0, 0, sendAnnotated, 0) // from no file and position
	ask = binary.LittleEndian.AppendUint32(ask, server)
	c.ResetSequence()
	if err := c.WritePacket(ask); err != nil {
		return nil, err
	}
	return newDumper(c.Conn, c.HandleErrorPacket), nil
}

func newDumper(c *packet.Conn, refuse func([]byte) error) *dumper {
	d := &dumper{conn: c, refuse: refuse, events: make(chan read), done: make(chan struct{})}
	go d.run()
	return d
}

// run reads one event ahead.
func (d *dumper) run() {
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

func (d *dumper) read() read {
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

// event is the next one, nil when none comes for a while. It is valid until the next call.
func (d *dumper) event(ctx context.Context, wait time.Duration) (binlog.Event, error) {
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
			d.err = refused(r.err)
		}
		return r.Event, d.err
	case <-limit.C:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (d *dumper) release() {
	if d.last != nil {
		d.last.Close()
		d.last = nil
	}
}

// Close ends the connection. The event that was given last is not valid any more.
func (d *dumper) Close() {
	close(d.done)
	_ = d.conn.Close()
	d.release()
}

// dial connects for the binary log.
func (n *node) dial() (*client.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	config := n.config.Clone()
	config.ServerName = n.host
	return client.ConnectWithDialer(ctx, "tcp", net.JoinHostPort(n.host, port), n.user, "", "",
		(&net.Dialer{}).DialContext, func(c *client.Conn) error {
			c.SetTLSConfig(config)
			c.SetAttributes(map[string]string{"_client_role": "binary_log_listener"})
			c.ReadTimeout = silence
			return nil
		})
}
