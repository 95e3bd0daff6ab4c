package measure

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

// TestWireGuard: connections go through both ends of a real tunnel to a database, and none gets through with another
// key.
func TestWireGuard(t *testing.T) {
	files, err := transport.NewWireGuardFiles()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	port := freeUDP(t)
	for name, text := range files {
		text := strings.Replace(string(text), "listen_port=51820", "listen_port="+port, 1)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	database := listen(t, fakeDB{answer: func(string) (string, string) { return "1", "" }}.serve)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- ServeWireGuard(ctx, dir, database) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("an end that was asked for: %v", err)
		}
	})

	open := func(dir string) vpn {
		v, err := openVPN(filepath.Join(dir, transport.WireGuardClient), transport.WireGuardClientIP,
			"endpoint=127.0.0.1:"+port+"\n")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.device.Close)
		return v
	}
	v := open(dir)
	if err := v.awaitServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := &runner{target: target{plan: result.Plan{Hosts: []string{serverIP},
		Connect: &result.Connect{Threads: 2, Connections: 50}}}}
	if err := (connecting{r}).connections(t.Context(), route{dial: v.dial}); err != nil {
		t.Fatal(err)
	}
	if c := r.out.Connect; c.Connections != 50 || c.Errors != 0 {
		t.Errorf("got %+v", c)
	}

	strange, err := transport.NewWireGuardFiles()
	if err != nil {
		t.Fatal(err)
	}
	another := t.TempDir()
	if err := os.WriteFile(filepath.Join(another, transport.WireGuardClient), strange[transport.WireGuardClient],
		0o600); err != nil {
		t.Fatal(err)
	}
	short, end := context.WithTimeout(t.Context(), 2*time.Second)
	defer end()
	if err := open(another).awaitServer(short); err == nil || !strings.Contains(err.Error(), "did not answer") {
		t.Errorf("a stranger: %v", err)
	}
}

// freeUDP is a port without a listener.
func freeUDP(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	c, err := lc.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, port, _ := net.SplitHostPort(c.LocalAddr().String())
	return port
}

func TestOpenVPNSaysWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "client.conf")
	if _, err := openVPN(file, transport.WireGuardClientIP, ""); err == nil {
		t.Error("a file that is not there")
	}
	if err := os.WriteFile(file, []byte("private_key=none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openVPN(file, transport.WireGuardClientIP, ""); err == nil || !strings.Contains(err.Error(),
		"configuring WireGuard") {
		t.Errorf("got %v", err)
	}
}
