package measure

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

const (
	// localEnd is where the tunnel begins; the pod's network is its own.
	localEnd = "127.0.0.1:13306"
	// serverTime is how long the server may take to start: its image may have to be pulled.
	serverTime = 5 * time.Minute
	serverPace = time.Second
	// openTime is how long the client may take to log in and to listen.
	openTime = 30 * time.Second
	openPace = 100 * time.Millisecond
	// endTime is what the client has to end by itself.
	endTime = 5 * time.Second
)

// connectThrough measures connections through an SSH tunnel.
func (r connecting) connectThrough(ctx context.Context, spec result.Tunnel) error {
	t, err := openTunnel(ctx, transport.SSHDir, spec, localEnd)
	if err != nil {
		return err
	}
	return r.while(t, func() error {
		err := r.connections(ctx, route{network: "tcp", address: t.local, lost: t.ended})
		if r.out.Connect != nil {
			r.out.Connect.Tunnel = t.banner + ", " + spec.Cipher
		}
		return err
	})
}

// while does something that needs a tunnel, and ends the tunnel. If that broke, nothing was measured.
func (r connecting) while(t *sshTunnel, do func() error) error {
	err := do()
	lost := t.isLost() // before it is ended on purpose
	// What ssh took is the client's: it is a part of what a connection costs.
	r.out.Client.CPUSeconds += t.end()
	words := t.words.String()
	r.log.WriteString(t.banner + "\n" + words)
	if lost {
		return t.complaint("the SSH tunnel broke")
	}
	if last := result.LastWords(words, 1); err != nil && len(last) > 0 {
		return fmt.Errorf("%w; ssh says: %s", err, last[0])
	}
	return err
}

// sshTunnel is an ssh client at work.
type sshTunnel struct {
	// local is where connections go, banner the server's name for itself.
	local, banner string
	cmd           *exec.Cmd
	// words are what ssh says; they are read once it has ended.
	words strings.Builder
	// ended is closed when ssh has ended, with err.
	ended chan struct{}
	err   error
}

// openTunnel waits for the server, starts ssh with the files in dir, and returns when connections to local get through.
func openTunnel(ctx context.Context, dir string, spec result.Tunnel, local string) (*sshTunnel, error) {
	banner, err := awaitServer(ctx, spec.Server)
	if err != nil {
		return nil, fmt.Errorf("the SSH server alongside the database did not answer: %w", err)
	}
	args, err := transport.SSHClientCommand(dir, spec.Server, local, spec.Target, spec.Cipher)
	if err != nil {
		return nil, err
	}
	t := &sshTunnel{local: local, banner: banner, cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{})}
	t.cmd.Stderr = io.MultiWriter(&t.words, podLog.Writer("ssh"))
	if err := t.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting ssh: %w", err)
	}
	go func() {
		t.err = t.cmd.Wait()
		close(t.ended)
	}()
	if err := t.awaitLocal(ctx); err != nil {
		t.end()
		return nil, err
	}
	return t, nil
}

// awaitServer returns what an SSH server says first.
func awaitServer(ctx context.Context, address string) (banner string, err error) {
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	err = await(ctx, serverPace, func() (string, error) {
		text, err := readBanner(ctx, address)
		banner = text
		return inWords(err), nil
	})
	return banner, err
}

// inWords is what an error says, "" when there is none.
func inWords(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func readBanner(ctx context.Context, address string) (string, error) {
	d := net.Dialer{Timeout: dialTime}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(dialTime)); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, 256)).ReadString('\n')
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(line, "SSH-2.0-") {
		return "", fmt.Errorf("%s is no SSH server", address)
	}
	return strings.TrimSpace(line), nil
}

// awaitLocal waits until ssh has logged in: it does not listen before.
func (t *sshTunnel) awaitLocal(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	return await(ctx, openPace, func() (string, error) {
		if t.isLost() {
			return "", t.complaint("the SSH tunnel could not be opened")
		}
		refused := dialOnce(ctx, "tcp", t.local)
		if refused == nil {
			return "", nil
		}
		return "the SSH tunnel was not open in time: " + refused.Error(), nil
	})
}

func (t *sshTunnel) isLost() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// complaint is why ssh ended: its last line says more than its exit code.
func (t *sshTunnel) complaint(what string) error {
	if last := result.LastWords(t.words.String(), 1); len(last) > 0 {
		return errors.New(what + ": " + last[0])
	}
	return fmt.Errorf("%s: ssh: %w", what, t.err)
}

// end ends ssh, and returns the processor time it took, in seconds.
func (t *sshTunnel) end() float64 {
	_ = t.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-t.ended:
	case <-time.After(endTime):
		_ = t.cmd.Process.Kill()
		<-t.ended
	}
	return (t.cmd.ProcessState.UserTime() + t.cmd.ProcessState.SystemTime()).Seconds()
}
