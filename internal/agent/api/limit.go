package api

import (
	"net"
	"net/http"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/connlimit"
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

// bounded bounds the bodies of requests.
func (l limits) bounded(h http.Handler) http.Handler {
	usual, program := http.MaxBytesHandler(h, l.bodyBytes), http.MaxBytesHandler(h, l.programBytes)
	proxy := http.MaxBytesHandler(h, agentapi.MaxProxyState)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == agentapi.PathAgent && l.programBytes > 0 {
			program.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == agentapi.PathProxy && l.programBytes > 0 {
			proxy.ServeHTTP(w, r)
			return
		}
		usual.ServeHTTP(w, r)
	})
}

// newServer makes the server of a port with these limits.
func (l limits) newServer(on *connlimit.Listener, h http.Handler) *http.Server {
	return &http.Server{
		Handler:           l.bounded(withLongPoll(h)),
		ReadHeaderTimeout: l.header,
		ReadTimeout:       l.body,
		WriteTimeout:      l.answer,
		IdleTimeout:       l.idle,
		MaxHeaderBytes:    l.headerBytes,
		ConnState:         on.Follow,
	}
}

// listener bounds the connections of a port. A newcomer is never turned away: it may be kubelet's, whose probe must not
// fail because others hold connections.
func (l limits) listener(on net.Listener) *connlimit.Listener {
	return &connlimit.Listener{Listener: on, Total: l.total, PerAddress: l.each}
}
