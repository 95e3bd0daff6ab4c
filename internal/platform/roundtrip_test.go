package platform

import (
	"net"
	"testing"
	"time"
)

// TestRoundTrip follows one connection on this host, from either end.
func TestRoundTrip(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	if rtt, ok := RoundTrip(port); ok {
		t.Errorf("without a connection: %s", rtt)
	}
	from, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	to, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []uint16{port, uint16(from.LocalAddr().(*net.TCPAddr).Port)} {
		if rtt, ok := RoundTrip(p); !ok || rtt <= 0 || rtt > 100*time.Millisecond {
			t.Errorf("port %d: %s, %v", p, rtt, ok)
		}
	}
	_, _ = from.Close(), to.Close()
	await(t, "closed", func() bool { _, ok := RoundTrip(port); return !ok })
}
