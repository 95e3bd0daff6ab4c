// Package connlimit bounds the connections of a port: each costs memory.
package connlimit

import (
	"net"
	"net/http"
	"sync"
)

// Listener bounds the connections of a port. A newcomer is never turned away, because others hold connections: the
// oldest of the address that holds too many is closed for it, one without a request before one with a request.
type Listener struct {
	net.Listener
	// Total bounds the open connections of the port, PerAddress those from one address.
	Total, PerAddress int

	mu   sync.Mutex
	open []*conn // oldest first
}

// conn is one connection of the port.
type conn struct {
	net.Conn
	port *Listener
	from string
	busy bool // a request is being answered
	once sync.Once
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	in := &conn{Conn: c, port: l, from: addressOf(c.RemoteAddr())}
	if out := l.enter(in); out != nil {
		_ = out.Close()
	}
	return in, nil
}

// enter counts a new connection, and returns the one that has to go for it, nil when there is space.
func (l *Listener) enter(in *conn) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := map[string]int{}
	for _, c := range l.open {
		held[c.from]++
	}
	var out *conn
	switch {
	case held[in.from] >= l.PerAddress:
		out = l.oldest(in.from)
	case len(l.open) >= l.Total:
		limit := ""
		for _, c := range l.open { // the oldest holder, among equals
			if limit == "" || held[c.from] > held[limit] {
				limit = c.from
			}
		}
		out = l.oldest(limit)
	}
	l.open = append(l.open, in)
	return out
}

// oldest is the connection of an address that is closed first.
func (l *Listener) oldest(from string) *conn {
	var busy *conn
	for _, c := range l.open {
		switch {
		case c.from != from:
		case !c.busy:
			return c
		case busy == nil:
			busy = c
		}
	}
	return busy
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.port.mu.Lock()
		defer c.port.mu.Unlock()
		for i, other := range c.port.open {
			if other == c {
				c.port.open = append(c.port.open[:i], c.port.open[i+1:]...)
				return
			}
		}
	})
	return c.Conn.Close()
}

// Follow is to be called when a connection changes state: the field ConnState of http.Server.
func (l *Listener) Follow(c net.Conn, state http.ConnState) {
	if wrapped, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = wrapped.NetConn()
	}
	if in, ok := c.(*conn); ok {
		l.mu.Lock()
		in.busy = state == http.StateActive
		l.mu.Unlock()
	}
}

func addressOf(a net.Addr) string {
	if h, _, err := net.SplitHostPort(a.String()); err == nil {
		return h
	}
	return a.String()
}
