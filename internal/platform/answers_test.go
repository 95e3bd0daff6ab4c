package platform

import (
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAnswers follows a connection to a joiner that has time, has none, and is gone with its host.
func TestAnswers(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Skip(err)
			}
			defer func() { _ = l.Close() }()
			to := l.Addr().(*net.TCPAddr)
			answer := func() (StreamAnswer, bool) { return StreamAnswers(to.IP, uint16(to.Port)) }
			if a, ok := answer(); ok {
				t.Errorf("without a connection: %+v", a)
			}
			donor, err := net.Dial("tcp", to.String())
			if err != nil {
				t.Fatal(err)
			}
			joiner, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			await(t, "idle", func() bool { a, ok := answer(); return ok && !a.Owed && a.Silent > 300*time.Millisecond })
			if a, ok := StreamAnswers(net.IPv4(127, 0, 0, 9), uint16(to.Port)); ok {
				t.Errorf("another host: %+v", a)
			}

			wrote := time.Now()
			write(t, donor, 1)
			await(t, "answered", func() bool {
				a, ok := answer()
				return ok && !a.Owed && a.Silent <= time.Since(wrote)+10*time.Millisecond
			})

			// The other end does not read: the kernel asks for space ever more rarely, and is answered.
			fill(t, donor)
			var full StreamAnswer
			for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				a, ok := answer()
				if !ok || a.Owed || a.Silent > 1500*time.Millisecond || !a.Queued {
					t.Fatalf("a joiner that has no time: %+v, %v", a, ok)
				}
				full = a
			}
			if a, _ := answer(); a.Taken != full.Taken {
				t.Errorf("a joiner that has no time has taken something: %+v, %+v before", a, full)
			}
			_ = joiner.SetReadDeadline(time.Now().Add(time.Second))
			_, _ = io.Copy(io.Discard, joiner)
			if a, ok := answer(); !ok || a.Queued || a.Taken <= full.Taken {
				t.Errorf("a joiner that has taken all: %+v, %+v before", a, full)
			}

			dropInput(t, joiner)
			write(t, donor, 1)
			await(t, "owed an answer", func() bool { a, ok := answer(); return ok && a.Owed && a.Silent > time.Second })

			_ = donor.Close()
			await(t, "no connection any more", func() bool { _, ok := answer(); return !ok })
			_ = joiner.Close()
		})
	}
}

// TestAnswersOfNone: a peer that has never answered is silent from the first check on.
func TestAnswersOfNone(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	here := net.IPv4(127, 0, 0, 1)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte(here.To4())}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := bound.(*unix.SockaddrInet4).Port
	dial := func() {
		if c, err := net.DialTimeout("tcp", net.JoinHostPort(here.String(), strconv.Itoa(port)), awaitTimeout); err == nil {
			_ = c.Close()
		}
	}
	dial() // takes the only place in the queue, and it is not accepted
	go dial()
	await(t, "dialled", func() bool {
		a, ok := StreamAnswers(here, uint16(port))
		return ok && a.Owed &&
			a.Silent > 1000*time.Hour
	})
}

func write(t *testing.T, to io.Writer, bytes int) {
	t.Helper()
	if _, err := to.Write(make([]byte, bytes)); err != nil {
		t.Fatal(err)
	}
}

// fill writes until nothing more is taken.
func fill(t *testing.T, to net.Conn) {
	t.Helper()
	_ = to.SetWriteDeadline(time.Now().Add(time.Second))
	for {
		if _, err := to.Write(make([]byte, 64<<10)); err != nil {
			break
		}
	}
	_ = to.SetWriteDeadline(time.Time{})
}

// dropInput lets a socket hear nothing any more, as one on a host that has lost its power.
func dropInput(t *testing.T, socket any) {
	t.Helper()
	raw, err := socket.(interface {
		SyscallConn() (syscall.RawConn, error)
	}).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	drop := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: 1, Filter: &drop[0]})
	})
	if err != nil || set != nil {
		t.Skip("the kernel takes no filter here: ", err, set)
	}
}
