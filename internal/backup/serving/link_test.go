//go:build integration

package serving

import (
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// link is a connection that can be cut.
type link struct {
	*testing.T
	net.Listener
	address string
	mu      sync.Mutex
	target  string
	conns   []net.Conn
}

func newLink(t *testing.T) *link {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out := &link{T: t, Listener: l, address: l.Addr().String()}
	t.Cleanup(out.close)
	go out.run()
	return out
}

func (l *link) run() {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		target := l.target
		l.mu.Unlock()
		if target == "" {
			_ = from.Close()
			continue
		}
		to, err := net.Dial("tcp", target)
		if err != nil {
			_ = from.Close()
			continue
		}
		l.mu.Lock()
		l.conns = append(l.conns, from, to)
		l.mu.Unlock()
		for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				_, _ = pair[0].Close(), pair[1].Close()
			}()
		}
	}
}

// to leads to a server from now on.
func (l *link) to(m *mariadb) {
	l.Helper()
	out, err := exec.Command("docker", "inspect", "-f",
		"{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", m.id).Output()
	if err != nil {
		l.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = strings.TrimSpace(string(out)) + ":3306"
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = ""
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

func (l *link) close() {
	_ = l.Listener.Close()
	l.cut()
}
