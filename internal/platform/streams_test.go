package platform

import (
	"io"
	"net"
	"testing"
	"time"
)

const awaitTimeout = 10 * time.Second

// TestSilence follows one connection from its beginning to its end.
func TestSilence(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Skip(err)
			}
			defer func() { _ = l.Close() }()
			port := uint16(l.Addr().(*net.TCPAddr).Port)
			if silent, ok := StreamSilence(port); ok {
				t.Errorf("without a connection: %s", silent)
			}
			from, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			to, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			await(t, "silent for a while", func() bool {
				silent, ok := StreamSilence(port)
				return ok &&
					silent > 200*time.Millisecond
			})
			wrote := time.Now()
			if _, err := from.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			await(t, "not read yet", func() bool { _, ok := StreamSilence(port); return !ok })
			if _, err := io.ReadFull(to, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if silent, ok := StreamSilence(port); !ok || silent > time.Since(wrote)+10*time.Millisecond {
				t.Errorf("after a byte: %s, %v", silent, ok)
			}
			_ = from.Close()
			await(t, "closed by the other side", func() bool { _, ok := StreamSilence(port); return !ok })
			_ = to.Close()
		})
	}
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(awaitTimeout); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never %s", what)
		}
	}
}
