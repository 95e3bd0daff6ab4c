package wsrep

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// TestHungServer: a server that is stopped where it is takes connections, as many as its queue holds, and does not
// answer. A client that asks gets an error in time, again and again.
func TestHungServer(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := Open(socket, "mysql")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for name, ask := range map[string]func(context.Context) error{
		"status":     func(ctx context.Context) error { _, err := c.Status(ctx); return err },
		"close all":  c.CloseAll,
		"close idle": c.CloseIdle,
	} {
		for range 5 { // more than there may be connections
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			began := time.Now()
			err := ask(ctx)
			cancel()
			if took := time.Since(began); err == nil || took > 2*time.Second {
				t.Fatalf("%s: %v after %s", name, err, took)
			}
		}
	}
	began := time.Now()
	if _, err := c.Status(context.Background()); err == nil || time.Since(began) > 2*queryTimeout {
		t.Errorf("without a limit of its own: %v after %s", err, time.Since(began))
	}
}
