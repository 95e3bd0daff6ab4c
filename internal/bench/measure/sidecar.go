package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/usage"
)

// sidecarTimeout is what a program has to end after it was asked to.
const sidecarTimeout = 5 * time.Second

// RunSidecar runs a program in a container of its own, and reports every client of a socket what this container has
// used: no other container can read that. It returns when the program has ended, with its error, and asks it to end
// when ctx does.
func RunSidecar(ctx context.Context, socket string, program []string) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer l.Close()
	go serveUsage(l)
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = sidecarTimeout
	if err := cmd.Run(); ctx.Err() == nil {
		return err
	}
	return nil
}

func serveUsage(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		used, _ := usage.CPU() // what cannot be read stays zero
		memory, _ := usage.Memory()
		_ = json.NewEncoder(c).Encode(result.Usage{CPUSeconds: used.CPUSeconds, Throttled: used.Throttled,
			MemoryBytes: memory})
		_ = c.Close()
	}
}

// sidecarUsage asks such a container.
func sidecarUsage(ctx context.Context, socket string) (u result.Usage, err error) {
	d := net.Dialer{Timeout: askTime}
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return u, fmt.Errorf("asking the proxy's container what it has used: %w", err)
	}
	defer conn.Close()
	return u, errors.Join(conn.SetDeadline(time.Now().Add(askTime)), json.NewDecoder(conn).Decode(&u))
}
