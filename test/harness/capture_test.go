package harness

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"net"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// packet makes an IPv4 packet with a TCP segment.
func packet(srcPort, dstPort uint16, seq uint32, payload string) []byte {
	p := make([]byte, 40+len(payload))
	p[0], p[9] = 0x45, protocolTCP
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	copy(p[12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	binary.BigEndian.PutUint16(p[20:], srcPort)
	binary.BigEndian.PutUint16(p[22:], dstPort)
	binary.BigEndian.PutUint32(p[24:], seq)
	p[32] = 5 << 4
	copy(p[40:], payload)
	return p
}

func TestScanFindsMarkersAcrossSegments(t *testing.T) {
	for name, c := range map[string]struct {
		payloads []string
		hole     bool
		want     int
	}{
		"none":                   {[]string{"nothing", "here"}, false, 0},
		"whole":                  {[]string{"xxMARKERxxMARKER"}, false, 2},
		"cut in two":             {[]string{"xxMAR", "KERxx"}, false, 1},
		"cut in three":           {[]string{"xxM", "ARKE", "Rxx"}, false, 1},
		"ends where one ends":    {[]string{"xxMARKER", "MARKER"}, false, 2},
		"cut, with a hole":       {[]string{"xxMAR", "KERxx"}, true, 0},
		"whole, seen only once":  {[]string{"MARKER", "xx", "yy"}, false, 1},
		"byte by byte":           {strings.Split("MARKER", ""), false, 1},
		"begins twice, one ends": {[]string{"MARMARK", "ER"}, false, 1},
	} {
		flows, seq, got := flowTable{}, uint32(0xfffffff8), 0
		for _, payload := range c.payloads {
			s, ok := parseSegment(packet(40000, 4567, seq, payload))
			if !ok {
				t.Fatalf("%s: a good packet is not understood", name)
			}
			got += flows.scan(s, []byte("MARKER"))
			seq += uint32(len(payload))
			if c.hole {
				seq++
			}
		}
		if got != c.want {
			t.Errorf("%s: %d markers, want %d", name, got, c.want)
		}
	}
}

func TestParseSegmentRefusesWhatIsNone(t *testing.T) {
	good := packet(1, 2, 3, "x")
	udp := append([]byte(nil), good...)
	udp[9] = 17
	for name, p := range map[string][]byte{"nothing": nil, "short": good[:30], "udp": udp, "six": {0x60, 0, 0}} {
		if _, ok := parseSegment(p); ok {
			t.Errorf("%s is taken for a segment", name)
		}
	}
	if s, ok := parseSegment(append(good, 0, 0, 0)); !ok || string(s.payload) != "x" {
		t.Errorf("padding of a short frame is taken for payload: %q", s.payload)
	}
}

func TestPortFilter(t *testing.T) {
	prog, err := tcpPortFilter([]uint16{4567, 4568, 3306})
	if err != nil {
		t.Fatal(err)
	}
	// The kernel's extension for the protocol is not known to the virtual machine in Go.
	var raw []bpf.RawInstruction
	for _, f := range instructionsOf(prog)[2:] {
		raw = append(raw, bpf.RawInstruction{Op: f.Code, Jt: f.Jt, Jf: f.Jf, K: f.K})
	}
	instructions, _ := bpf.Disassemble(raw)
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		src, dst uint16
		want     bool
	}{{4567, 50000, true}, {50000, 4567, true}, {4568, 1, true}, {1, 3306, true}, {3306, 1, true}, {50000, 50001, false},
		{4444, 22, false}} {
		n, err := vm.Run(packet(c.src, c.dst, 1, "x"))
		if err != nil || (n > 0) != c.want {
			t.Errorf("%d → %d: %d bytes, %v; want captured: %v", c.src, c.dst, n, err, c.want)
		}
	}
}

// TestCaptureOwnNetwork captures a real connection of this process.
func TestCaptureOwnNetwork(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("capturing packets needs root")
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	filter, err := tcpPortFilter([]uint16{port})
	if err != nil {
		t.Fatal(err)
	}
	fd, err := inNetwork(os.Getpid(), func() (int, error) { return packetSocket(filter) })
	if err != nil {
		t.Skipf("no packet socket here: %v", err)
	}
	c := &Capture{marker: []byte("MARKER"), ports: map[uint16]bool{port: true}, counts: map[uint16]PortCount{},
		sockets: []int{fd}}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	c.stop = stop
	c.done.Go(func() { c.read(ctx, fd) })
	conn, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("xxMARKERxx")); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	for c.Counts()[port].Markers == 0 && ctx.Err() == nil {
		pause(ctx, 10*time.Millisecond)
	}
	counts, err := c.Stop()
	if err != nil || counts[port].Markers == 0 || counts[port].Packets < 3 {
		t.Errorf("captured %+v, %v", counts, err)
	}
}

func instructionsOf(p *unix.SockFprog) []unix.SockFilter { return unsafe.Slice(p.Filter, p.Len) }

func TestChosenSuite(t *testing.T) {
	hello := func(session int) []byte {
		b := append([]byte{22, 3, 3, 0, 90, 2, 0, 0, 86, 3, 3}, make([]byte, 32)...)
		b = append(append(b, byte(session)), make([]byte, session)...)
		return append(b, 0x13, 0x01, 0)
	}
	for name, tc := range map[string]struct {
		payload []byte
		ok      bool
	}{
		"with a session":   {hello(32), true},
		"without":          {hello(0), true},
		"cut off":          {hello(32)[:70], false},
		"of a client":      {append([]byte{22, 3, 1, 0, 90, 1}, make([]byte, 100)...), false},
		"application data": {append([]byte{23, 3, 3, 0, 90, 2}, make([]byte, 100)...), false},
		"nothing":          {nil, false},
		"claims too much":  {append(hello(0)[:43], 255), false},
	} {
		if suite, ok := chosenSuite(tc.payload); ok != tc.ok || ok && suite != tls.TLS_AES_128_GCM_SHA256 {
			t.Errorf("%s: %x, %t", name, suite, ok)
		}
	}
}
