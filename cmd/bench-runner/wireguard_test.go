package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/measure"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

// TestWireGuard: connections go through both ends of a real tunnel to a server, one after the other, and none gets
// through with another key.
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
	database := greeter(t)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serveWireGuard(ctx, dir, database) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("an end that was asked for: %v", err)
		}
	})

	open := func(dir string) measure.VPN {
		v, err := openClient(t.Context(), dir, "localhost:"+port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.Close)
		return v
	}
	// The first packets may be lost: the server has only begun to start.
	patient, enough := context.WithTimeout(t.Context(), 30*time.Second)
	defer enough()
	v := open(dir)
	for range 50 {
		if err := greeted(patient, v); err != nil {
			t.Fatal(err)
		}
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
	if err := greeted(short, open(another)); err == nil {
		t.Error("a stranger gets through")
	}
}

// greeting is what comes from the server at the end of the tunnel.
const greeting = "from the database"

// greeter is a server in place of the database: it greets, and ends the connection.
func greeter(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, greeting)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// greeted connects, and reads the greeting.
func greeted(ctx context.Context, v measure.VPN) error {
	c, err := v.Dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	text, err := io.ReadAll(c)
	if err == nil && string(text) != greeting {
		return fmt.Errorf("got %q", text)
	}
	return err
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

// TestOpenVPNSaysWhatIsWrong with its file.
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
