package api

import (
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// limits are what a port takes. Each connection costs memory that is mariadbd's, too.
type limits struct {
	// total bounds the open connections of a port, each those from one address.
	total, each int
	// header, body, answer and idle bound how long a request, its answer and the pause between two may take.
	header, body, answer, idle time.Duration
	// headerBytes and bodyBytes bound what a request may have.
	headerBytes int
	bodyBytes   int64
	// programBytes bounds the body of agentapi.PathAgent, 0 where there is none.
	programBytes int64
}

var (
	// probeLimits: kubelet asks on a new connection every second.
	probeLimits = limits{total: 256, each: 32, header: 3 * time.Second, body: 5 * time.Second, answer: 10 * time.Second,
		idle: 20 * time.Second, headerBytes: 8 << 10, bodyBytes: 4 << 10}
	// controlLimits: the operator keeps two connections, and a question may wait for maxWait (see patient).
	controlLimits = limits{total: 64, each: 16, header: 5 * time.Second, body: 30 * time.Second, answer: 30 * time.Second,
		idle: 2 * time.Minute, headerBytes: 16 << 10, bodyBytes: maxOrder, programBytes: agentapi.LargestProgram}
)

// limitsOf returns those of a port. The other agents keep one connection each to the peer port, and use it every 15 s.
func limitsOf(port int) limits {
	if port == agentapi.ProbePort || port == agentapi.PeerPort {
		return probeLimits
	}
	return controlLimits
}

// withLongPoll gives a question that may wait for news the time to do so. Without it, the time for reading a request
// would end the wait: the server goes on reading to see whether the caller has gone.
func withLongPoll(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == agentapi.PathStatus {
			end := time.Now().Add(maxWait + controlLimits.answer)
			c := http.NewResponseController(w)
			_ = c.SetReadDeadline(end) // a recorder of a test has no deadlines
			_ = c.SetWriteDeadline(end)
		}
		h.ServeHTTP(w, r)
	})
}

// limited bounds the connections of a port. A newcomer is never turned away, because it may be kubelet's, whose probe
// must not fail because others hold connections: the oldest connection of the address that holds too many is closed for
// it, one without a request before one with a request.
type limited struct {
	net.Listener
	limits limits

	mu   sync.Mutex
	open []*conn // oldest first
}

// conn is one connection of a limited port.
type conn struct {
	net.Conn
	port *limited
	from string
	busy bool // a request is being answered
	once sync.Once
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
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
func (l *limited) enter(in *conn) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := map[string]int{}
	for _, c := range l.open {
		held[c.from]++
	}
	var out *conn
	switch {
	case held[in.from] >= l.limits.each:
		out = l.oldest(in.from)
	case len(l.open) >= l.limits.total:
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
func (l *limited) oldest(from string) *conn {
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

// follow is called by the server when a connection changes state.
func (l *limited) follow(c net.Conn, state http.ConnState) {
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

// bounded bounds the bodies of requests.
func (l limits) bounded(h http.Handler) http.Handler {
	usual, program := http.MaxBytesHandler(h, l.bodyBytes), http.MaxBytesHandler(h, l.programBytes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == agentapi.PathAgent && l.programBytes > 0 {
			program.ServeHTTP(w, r)
			return
		}
		usual.ServeHTTP(w, r)
	})
}

// newServer makes the server of a limited port.
func (l *limited) newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           l.limits.bounded(withLongPoll(h)),
		ReadHeaderTimeout: l.limits.header,
		ReadTimeout:       l.limits.body,
		WriteTimeout:      l.limits.answer,
		IdleTimeout:       l.limits.idle,
		MaxHeaderBytes:    l.limits.headerBytes,
		ConnState:         l.follow,
	}
}
