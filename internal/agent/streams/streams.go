// Package streams looks at the TCP connections of a pod, as the kernel knows them.
package streams

import (
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Silence returns how long nothing has come over any established connection to a local port. ok is false when there is
// none, when something that came has not been read yet, or when the kernel does not tell: then it is not the others who are
// waited for.
func Silence(port uint16) (silent time.Duration, ok bool) {
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		found, err := netlink.SocketDiagTCPInfo(family)
		if err != nil {
			return 0, false
		}
		for _, s := range found {
			if s.InetDiagMsg == nil || s.TCPInfo == nil || s.InetDiagMsg.ID.SourcePort != port || s.InetDiagMsg.State != netlink.TCP_ESTABLISHED {
				continue
			}
			if s.InetDiagMsg.RQueue > 0 {
				return 0, false
			}
			since := time.Duration(s.TCPInfo.Last_data_recv) * time.Millisecond
			if !ok || since < silent {
				silent, ok = since, true
			}
		}
	}
	return silent, ok
}
