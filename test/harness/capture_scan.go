package harness

import (
	"bytes"
	"encoding/binary"
	"maps"
	"net/netip"
)

// mostFlows bounds the memory of a capture; beyond it the table starts anew.
const mostFlows = 4096

// flow is one direction of one TCP connection, as seen at one interface.
type flow struct {
	ifindex          int
	src, dst         netip.Addr
	srcPort, dstPort uint16
}

// segment is one TCP segment.
type segment struct {
	flow    flow
	seq     uint32
	payload []byte
}

// parseSegment reads a packet that begins with an IPv4 header; ok is false for anything else.
func parseSegment(packet []byte) (s segment, ok bool) {
	if len(packet) < 20 || packet[0]>>4 != 4 || packet[9] != protocolTCP {
		return s, false
	}
	header := int(packet[0]&0x0f) * 4
	// The length is 0 in packets that offload has made larger than it can express.
	if total := int(binary.BigEndian.Uint16(packet[2:])); total != 0 && total < len(packet) {
		packet = packet[:total]
	}
	if header < 20 || len(packet) < header+20 {
		return s, false
	}
	src, dst := [4]byte(packet[12:16]), [4]byte(packet[16:20])
	tcp := packet[header:]
	data := int(tcp[12]>>4) * 4
	if data < 20 || len(tcp) < data {
		return s, false
	}
	s.flow = flow{
		src: netip.AddrFrom4(src), dst: netip.AddrFrom4(dst),
		srcPort: binary.BigEndian.Uint16(tcp), dstPort: binary.BigEndian.Uint16(tcp[2:]),
	}
	s.seq, s.payload = binary.BigEndian.Uint32(tcp[4:]), tcp[data:]
	return s, true
}

// flowTable keeps the end of what passed on each flow, so that a marker that is cut in two by the
// border of two segments is found, too.
type flowTable map[flow]*flowEnd

type flowEnd struct {
	next uint32
	tail []byte
}

// scan counts the markers that end in this segment.
func (t flowTable) scan(s segment, marker []byte) int {
	if len(s.payload) == 0 || len(marker) == 0 {
		return 0
	}
	end := t[s.flow]
	if end == nil {
		if len(t) >= mostFlows {
			clear(t)
		}
		end = &flowEnd{next: s.seq}
		t[s.flow] = end
	}
	if s.seq != end.next {
		end.tail = end.tail[:0] // something is missing, or comes a second time
	}
	n := 0
	keep := len(marker) - 1
	if len(end.tail) > 0 {
		border := append(bytes.Clone(end.tail), s.payload[:min(keep, len(s.payload))]...)
		n += bytes.Count(border, marker)
	}
	n += bytes.Count(s.payload, marker)
	end.next = s.seq + uint32(len(s.payload))
	end.tail = append(end.tail, s.payload...)
	if over := len(end.tail) - keep; over > 0 {
		end.tail = append(end.tail[:0], end.tail[over:]...)
	}
	return n
}

// chosenSuite reads the cipher suite of a ServerHello (RFC 8446, 4.1.3), which is the first that a server
// sends. ok is false for anything else.
func chosenSuite(payload []byte) (suite uint16, ok bool) {
	const (
		recordHandshake, helloOfServer = 22, 2
		session                        = 5 + 4 + 2 + 32 // the headers of record and message, version, random
	)
	if len(payload) <= session || payload[0] != recordHandshake || payload[1] != 3 || payload[5] != helloOfServer {
		return 0, false
	}
	at := session + 1 + int(payload[session])
	if len(payload) < at+2 {
		return 0, false
	}
	return binary.BigEndian.Uint16(payload[at:]), true
}

// addSuite counts into a map of its own: the old one may have been given away.
func addSuite(counts map[ServerSuite]int, suite ServerSuite) map[ServerSuite]int {
	out := maps.Clone(counts)
	if out == nil {
		out = map[ServerSuite]int{}
	}
	out[suite]++
	return out
}
