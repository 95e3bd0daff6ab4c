package platform

import (
	"math"
	"net"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// StreamSilence returns how long nothing was received on any established connection to a local port. ok is false
// without a connection, with unread data in the receive queue (this side is the slow one), or if the kernel does not
// report it.
func StreamSilence(port uint16) (silent time.Duration, ok bool) {
	found, ok := all()
	if !ok {
		return 0, false
	}
	ok = false
	for _, s := range found {
		if s.InetDiagMsg.ID.SourcePort != port || s.InetDiagMsg.State != netlink.TCP_ESTABLISHED {
			continue
		}
		if s.InetDiagMsg.RQueue > 0 {
			return 0, false
		}
		since := milliseconds(s.TCPInfo.Last_data_recv)
		if !ok || since < silent {
			silent, ok = since, true
		}
	}
	return silent, ok
}

// RoundTrip returns the longest of the smallest round trips of the established connections from or to a port of this
// pod or of another. ok is false without a connection whose round trip the kernel knows.
func RoundTrip(port uint16) (longest time.Duration, ok bool) {
	found, _ := all()
	for _, s := range found {
		id := s.InetDiagMsg.ID
		if s.InetDiagMsg.State != netlink.TCP_ESTABLISHED || id.SourcePort != port && id.DestinationPort != port {
			continue
		}
		// The kernel begins with the largest number there is.
		if least := s.TCPInfo.Min_rtt; least > 0 && least < math.MaxUint32 {
			longest, ok = max(longest, time.Duration(least)*time.Microsecond), true
		}
	}
	return longest, ok
}

// StreamAnswer is how the other side of this pod's connections to one port of one host answers.
type StreamAnswer struct {
	// Silent is how long nothing was received from there on any of them, neither data nor an ACK.
	Silent time.Duration
	// Owed is true if sent data is unacknowledged although the peer's receive window has space: a live peer would have
	// sent an ACK. With a full window the kernel only sends window probes.
	Owed bool
	// Queued is true if data waits to be taken, Taken how many bytes the peer has acknowledged, on all of them.
	Queued bool
	Taken  uint64
}

// StreamAnswers returns how a host answers. ok is false when no process has a connection there, or the kernel does not
// report it.
func StreamAnswers(host net.IP, port uint16) (a StreamAnswer, ok bool) {
	found, reported := all()
	if !reported || host == nil {
		return StreamAnswer{}, false
	}
	for _, s := range found {
		m := s.InetDiagMsg
		// A socket without an inode was closed by its process and lives on without it.
		if m.INode == 0 || m.ID.DestinationPort != port || !m.ID.Destination.Equal(host) {
			continue
		}
		silent, owed := answered(m.State, m.WQueue, s.TCPInfo)
		if !ok || silent < a.Silent {
			a.Silent = silent
		}
		a.Owed, ok = a.Owed || owed, true
		a.Queued, a.Taken = a.Queued || m.WQueue > 0, a.Taken+s.TCPInfo.Bytes_acked
	}
	return a, ok
}

// answered returns the same for one connection. The kernel notes no acknowledgement when data come that acknowledge
// nothing new, so both times count.
func answered(state uint8, queued uint32, t *netlink.TCPInfo) (silent time.Duration, owed bool) {
	if state == netlink.TCP_SYN_SENT {
		return math.MaxInt64, true
	}
	return milliseconds(min(t.Last_ack_recv, t.Last_data_recv)), queued > 0 && t.Snd_wnd >= t.Snd_mss
}

func milliseconds(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }

// all returns the connections the kernel reports times for.
func all() (out []*netlink.InetDiagTCPInfoResp, ok bool) {
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		found, err := netlink.SocketDiagTCPInfo(family)
		if err != nil {
			return nil, false
		}
		for _, s := range found {
			if s.InetDiagMsg != nil && s.TCPInfo != nil {
				out = append(out, s)
			}
		}
	}
	return out, true
}
