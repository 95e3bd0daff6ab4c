package harness

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Values of IPv4 headers and protocols.
const (
	protocolIPv4 = 0x0800
	protocolTCP  = 6
)

// inNetwork calls open in the network of another process. Sockets stay where they were opened.
func inNetwork(pid int, open func() (int, error)) (int, error) {
	type result struct {
		fd  int
		err error
	}
	out := make(chan result, 1)
	go func() {
		// Never unlocked: a thread that was in another network ends with this goroutine.
		runtime.LockOSThread()
		ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil {
			out <- result{-1, err}
			return
		}
		defer func() { _ = ns.Close() }()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			out <- result{-1, fmt.Errorf("entering the network of process %d: %w", pid, err)}
			return
		}
		fd, err := open()
		out <- result{fd, err}
	}()
	r := <-out
	return r.fd, r.err
}

// packetSocket sees the packets of all interfaces, in and out, without their link headers.
func packetSocket(filter *unix.SockFprog) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(bigEndian(unix.ETH_P_ALL)))
	if err != nil {
		return -1, err
	}
	err = errors.Join(
		unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, filter),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 200_000}),
	)
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func bigEndian(v uint16) uint16 { return v<<8 | v>>8 }

// tcpPortFilter lets the kernel drop all but TCP over IPv4 from or to the ports. The packet
// begins with the IP header.
func tcpPortFilter(ports []uint16) (*unix.SockFprog, error) {
	n := len(ports)
	prog := []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protocolIPv4, SkipTrue: uint8(2*n + 5)},
		bpf.LoadAbsolute{Off: 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protocolTCP, SkipTrue: uint8(2*n + 3)},
		bpf.LoadMemShift{Off: 0},
	}
	for _, side := range []uint32{0, 2} { // source and destination
		prog = append(prog, bpf.LoadIndirect{Off: side, Size: 2})
		for i, p := range ports {
			// Over the rest of this side, everything of the next one, and the rejection.
			skip := n - i - 1
			if side == 0 {
				skip += n + 1
			}
			prog = append(prog, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(p), SkipTrue: uint8(skip + 1)})
		}
	}
	prog = append(prog, bpf.RetConstant{Val: 0}, bpf.RetConstant{Val: longestPacket})
	raw, err := bpf.Assemble(prog)
	if err != nil {
		return nil, err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}, nil
}
