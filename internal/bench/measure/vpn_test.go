package measure

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// fakeVPN leads to a server, after some attempts that are lost.
type fakeVPN struct {
	server string
	lost   atomic.Int32
	closed atomic.Bool
}

func (v *fakeVPN) Dial(ctx context.Context) (net.Conn, error) {
	if v.lost.Add(-1) >= 0 {
		return nil, errors.New("no route")
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", v.server)
}

func (v *fakeVPN) Close() { v.closed.Store(true) }

// TestVPN: connections are measured through the tunnel once its server answers, and the tunnel is closed.
func TestVPN(t *testing.T) {
	v := &fakeVPN{server: listen(t, fakeDB{answer: func(string) (string, string) { return "1", "" }}.serve)}
	v.lost.Store(1)
	asked := ""
	r := &runner{target: target{plan: result.Plan{Hosts: []string{serverIP},
		Connect: &result.Connect{Threads: 2, Connections: 50, Tunnel: &result.Tunnel{VPN: true, Server: "vpn:51820"}}}},
		openVPN: func(_ context.Context, _, server string) (VPN, error) {
			asked = server
			return v, nil
		}}
	if err := (connecting{r}).connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := r.out.Connect; c.Connections != 50 || c.Errors != 0 || !strings.HasPrefix(c.Tunnel, "WireGuard") ||
		asked != "vpn:51820" || !v.closed.Load() {
		t.Errorf("got %+v by %q, closed: %t", c, asked, v.closed.Load())
	}
	v.lost.Store(1000)
	short, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	if err := awaitVPN(short, v); err == nil || !strings.Contains(err.Error(), "did not answer: no route") {
		t.Errorf("a server that is not there: %v", err)
	}
}
