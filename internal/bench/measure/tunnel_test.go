package measure

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

// listen serves every connection on a free port of this host.
func listen(t *testing.T, serve func(net.Conn)) string {
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
			go serve(c)
		}
	}()
	return l.Addr().String()
}

// freeAddress is one without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// testCipher is not OpenSSH's own choice.
const testCipher = "aes256-cbc"

// sshServer is a real sshd, and a wire to it that can be cut.
type sshServer struct {
	dir, address, target string
	mu                   sync.Mutex
	wires                []net.Conn
}

func startServer(t *testing.T) *sshServer {
	t.Helper()
	for _, program := range []string{"ssh", "/usr/sbin/sshd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not here; it is in the image of images/sysbench")
		}
	}
	s := &sshServer{dir: t.TempDir()}
	files, err := transport.NewSSHFiles()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.target = listen(t, func(c net.Conn) { _, _ = io.Copy(c, c); _ = c.Close() })
	direct := freeAddress(t)
	_, port, _ := net.SplitHostPort(direct)
	number, _ := strconv.Atoi(port)
	args := transport.SSHServerCommand(s.dir, number, s.target, testCipher)
	cmd := exec.Command(args[0], args[1:]...)
	var words bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &words, 2*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.cut()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log("sshd says:\n" + words.String())
		}
	})
	s.address = listen(t, func(c net.Conn) {
		far, err := net.Dial("tcp", direct)
		if err != nil {
			_ = c.Close()
			return
		}
		s.mu.Lock()
		s.wires = append(s.wires, c, far)
		s.mu.Unlock()
		go func() { _, _ = io.Copy(far, c); _ = far.Close() }()
		_, _ = io.Copy(c, far)
		_ = c.Close()
	})
	return s
}

func (s *sshServer) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.wires {
		_ = c.Close()
	}
}

func (s *sshServer) open(t *testing.T, target string) (*sshTunnel, error) {
	t.Helper()
	tun, err := openTunnel(t.Context(), s.dir, result.Tunnel{Server: s.address, Target: target, Cipher: testCipher},
		freeAddress(t))
	if err == nil {
		t.Cleanup(func() { tun.end() })
	}
	return tun, err
}

// echo sends a word through and reads it back.
func echo(address string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, "ping"); err != nil {
		return err
	}
	buf := make([]byte, 4)
	if _, err := io.ReadFull(c, buf); err != nil {
		return err
	}
	if string(buf) != "ping" {
		return errors.New("got " + string(buf))
	}
	return nil
}

func TestSSHTunnel(t *testing.T) {
	s := startServer(t)
	tun, err := s.open(t, s.target)
	if err != nil {
		t.Fatal(err)
	}
	if err := echo(tun.local); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(tun.banner, "SSH-2.0-OpenSSH_") || tun.isLost() {
		t.Errorf("banner %q, lost %t", tun.banner, tun.isLost())
	}
	s.cut()
	select {
	case <-tun.ended:
	case <-time.After(time.Minute):
		t.Fatal("ssh goes on without a server")
	}
	// Its words depend on whether it was reading or writing.
	why := tun.complaint("the SSH tunnel broke").Error()
	if !strings.HasPrefix(why, "the SSH tunnel broke: Connection to 127.0.0.1 closed") &&
		!strings.HasPrefix(why, "the SSH tunnel broke: client_loop: ") {
		t.Errorf("got %q", why)
	}
	if cpu := tun.end(); cpu <= 0 {
		t.Errorf("ssh took %g s", cpu)
	}
}

// TestRunOverSSH: it fails when the tunnel breaks, whatever was measured, and what ssh took is the client's.
func TestRunOverSSH(t *testing.T) {
	s := startServer(t)
	for name, tc := range map[string]struct {
		target string
		do     func(*sshTunnel) error
		want   string
	}{
		"quiet":  {s.target, func(tun *sshTunnel) error { return echo(tun.local) }, ""},
		"broken": {s.target, func(tun *sshTunnel) error { s.cut(); <-tun.ended; return nil }, "the SSH tunnel broke: "},
		"denied": {"127.0.0.1:1", func(tun *sshTunnel) error { return echo(tun.local) }, "; ssh says: channel "},
	} {
		tun, err := s.open(t, tc.target)
		if err != nil {
			t.Fatal(err)
		}
		r := &runner{}
		err = (connecting{r}).while(tun, func() error { return tc.do(tun) })
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if r.out.Client.CPUSeconds <= 0 || !strings.HasPrefix(r.log.String(), "SSH-2.0-") {
			t.Errorf("%s: %g s, log %q", name, r.out.Client.CPUSeconds, r.log.String())
		}
	}
}

// TestSSHServerDoesNothingElse: no other target, no command, no client without the key, no other server.
func TestSSHServerDoesNothingElse(t *testing.T) {
	s := startServer(t)
	elsewhere := listen(t, func(c net.Conn) { _, _ = io.Copy(c, c); _ = c.Close() })
	tun, err := s.open(t, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	if err := echo(tun.local); err == nil {
		t.Error("the server leads to where it must not")
	}
	tun.end()
	if words := tun.words.String(); !strings.Contains(words, "administratively prohibited") {
		t.Errorf("ssh says %q", words)
	}
	args, err := transport.SSHClientCommand(s.dir, s.address, freeAddress(t), s.target, testCipher)
	if err != nil {
		t.Fatal(err)
	}
	args = append(leaveOut(args, "-N"), "echo", "a", "shell")
	// The account has no shell either, but that must not be what refuses.
	if text, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err == nil || !strings.Contains(string(text),
		"open failed") {
		t.Errorf("the server runs commands: %s, %v", text, err)
	}
	other, err := transport.NewSSHFiles()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{transport.Identity: "Permission denied (publickey).",
		transport.KnownHosts: "Host key verification failed."} {
		file := filepath.Join(s.dir, name)
		before, _ := os.ReadFile(file)
		if err := os.WriteFile(file, other[name], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.open(t, s.target); err == nil || !strings.HasPrefix(err.Error(),
			"the SSH tunnel could not be opened: ") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("with another %s: %v", name, err)
		}
		if err := os.WriteFile(file, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// leaveOut leaves one argument out.
func leaveOut(args []string, arg string) (out []string) {
	for _, a := range args {
		if a != arg {
			out = append(out, a)
		}
	}
	return out
}

func TestServerThatNeverAnswers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := openTunnel(ctx, "", result.Tunnel{Server: freeAddress(t)}, ""); err == nil ||
		!strings.Contains(err.Error(), "did not answer") {
		t.Errorf("got %v", err)
	}
	mariadb := listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "5.5.5-11.8.6-MariaDB\n"); _ = c.Close() })
	if _, err := readBanner(t.Context(), mariadb); err == nil || !strings.HasSuffix(err.Error(), "is no SSH server") {
		t.Errorf("got %v", err)
	}
}
