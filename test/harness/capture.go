package harness

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// receiveBuffer holds packets while this process does not get a processor.
	receiveBuffer = 64 << 20
	// longestPacket is more than what segmentation offload makes of a stream.
	longestPacket = 128 << 10
	// mostBytes and longestCapture bound a capture that is not stopped.
	mostBytes      = 8 << 30
	longestCapture = 15 * time.Minute
)

// PortCount is what was seen on one TCP port, in both directions.
type PortCount struct {
	Packets int
	Bytes   int64
	Markers int
	// Suites that servers chose, by how often: TLS sends it in clear.
	Suites map[ServerSuite]int
}

// ServerSuite is a cipher suite that a server chose.
type ServerSuite struct {
	Server netip.Addr
	Suite  uint16
}

// Capture watches TCP ports on nodes and counts how often a marker passes in clear. Nothing is stored.
type Capture struct {
	marker  []byte
	ports   map[uint16]bool
	sockets []int
	done    sync.WaitGroup
	stop    context.CancelFunc

	mu      sync.Mutex
	counts  map[uint16]PortCount
	total   int64
	dropped uint32
	err     error
}

// StartCapture watches all interfaces of the named nodes: what leaves a node, what enters it,
// and what its own pods say to each other.
func StartCapture(ctx context.Context, nodes []string, ports []uint16, marker string) (*Capture, error) {
	c := &Capture{marker: []byte(marker), ports: map[uint16]bool{}, counts: map[uint16]PortCount{}}
	for _, p := range ports {
		c.ports[p] = true
	}
	filter, err := tcpPortFilter(ports)
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		fd, err := openSocket(ctx, node, filter)
		if err != nil {
			c.closeSockets()
			return nil, fmt.Errorf("capturing on %s: %w", node, err)
		}
		c.sockets = append(c.sockets, fd)
	}
	ctx, c.stop = context.WithTimeout(context.WithoutCancel(ctx), longestCapture)
	for _, fd := range c.sockets {
		c.done.Go(func() { c.read(ctx, fd) })
	}
	return c, nil
}

// openSocket opens a packet socket inside a node's network.
func openSocket(ctx context.Context, node string, filter *unix.SockFprog) (int, error) {
	pid, err := nodeProcess(ctx, node)
	if err != nil {
		return -1, err
	}
	return inNetwork(pid, func() (int, error) { return packetSocket(filter) })
}

func nodeProcess(ctx context.Context, node string) (int, error) {
	out, err := Docker(ctx, "inspect", "--format", "{{.State.Pid}}", node)
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err == nil && pid == 0 {
		return 0, fmt.Errorf("the node %s does not run", node)
	}
	return pid, err
}

// Stop ends the capture and returns what was seen on each port.
func (c *Capture) Stop() (map[uint16]PortCount, error) {
	c.stop()
	c.done.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeSockets()
	if c.dropped > 0 {
		// A few lost packets do not matter: markers are in very many.
		seen := 0
		for _, n := range c.counts {
			seen += n.Packets
		}
		if int(c.dropped)*10 > seen {
			c.err = errors.Join(c.err,
				fmt.Errorf("%d packets were missed, %d seen: this machine is too busy for the capture to mean anything", c.dropped,
					seen))
		}
	}
	return c.counts, c.err
}

// Counts returns what was seen so far.
func (c *Capture) Counts() map[uint16]PortCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[uint16]PortCount, len(c.counts))
	for p, n := range c.counts {
		out[p] = n
	}
	return out
}

func (c *Capture) closeSockets() {
	for _, fd := range c.sockets {
		_ = unix.Close(fd)
	}
	c.sockets = nil
}

// read takes packets from one socket until the capture is stopped.
func (c *Capture) read(ctx context.Context, fd int) {
	buf := make([]byte, longestPacket)
	flows := flowTable{}
	for ctx.Err() == nil {
		n, from, err := unix.Recvfrom(fd, buf, 0)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR), errors.Is(err, unix.ENETDOWN):
			continue // a time-out, or an interface went away with its pod
		case err != nil:
			c.fail(err)
			return
		}
		ll, ok := from.(*unix.SockaddrLinklayer)
		if !ok {
			continue
		}
		c.count(flows, ll.Ifindex, buf[:n])
	}
	if s, err := unix.GetsockoptTpacketStats(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		c.mu.Lock()
		c.dropped += s.Drops
		c.mu.Unlock()
	}
}

// count looks into one packet.
func (c *Capture) count(flows flowTable, ifindex int, packet []byte) {
	s, ok := parseSegment(packet)
	if !ok {
		return
	}
	port := s.flow.dstPort
	if !c.ports[port] {
		port = s.flow.srcPort
	}
	s.flow.ifindex = ifindex
	markers := flows.scan(s, c.marker)
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.counts[port]
	n.Packets++
	n.Bytes += int64(len(s.payload))
	n.Markers += markers
	if suite, ok := chosenSuite(s.payload); ok {
		n.Suites = addSuite(n.Suites, ServerSuite{s.flow.src, suite})
	}
	c.counts[port] = n
	if c.total += int64(len(s.payload)); c.total > mostBytes && c.err == nil {
		c.err = fmt.Errorf("more than %d bytes passed: the capture was stopped", int64(mostBytes))
		c.stop()
	}
}

func (c *Capture) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = errors.Join(c.err, err)
}
