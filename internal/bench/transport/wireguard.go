package transport

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
)

const (
	// WireGuardPort of the server, UDP.
	WireGuardPort = 51820
	// WireGuardDir is where each end mounts its file.
	WireGuardDir = "/etc/galera-operator/wireguard"
)

// Files of the Secret: the configuration of each end, in the form WireGuard's programs exchange.
const (
	WireGuardServer = "server.conf"
	WireGuardClient = "client.conf"
)

// Addresses of both ends inside of the tunnel: no packet with them leaves it.
var (
	WireGuardServerIP = netip.AddrFrom4([4]byte{10, 91, 0, 1})
	WireGuardClientIP = netip.AddrFrom4([4]byte{10, 91, 0, 2})
)

// NewWireGuardFiles makes two key pairs, and returns what both ends need to know of them, by the name of the file.
// Where the server is, the client is informed when it starts.
func NewWireGuardFiles() (map[string][]byte, error) {
	server, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	client, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		WireGuardServer: wireGuardConfig(server, "listen_port="+strconv.Itoa(WireGuardPort)+"\n", client, WireGuardClientIP),
		WireGuardClient: wireGuardConfig(client, "", server, WireGuardServerIP),
	}, nil
}

// wireGuardConfig is one end with its one peer; the settings of the peer come last, so that its address can follow.
func wireGuardConfig(own *ecdh.PrivateKey, more string, peer *ecdh.PrivateKey, peerIP netip.Addr) []byte {
	return fmt.Appendf(nil, "private_key=%s\n%spublic_key=%s\nallowed_ip=%s/32\n",
		hex.EncodeToString(own.Bytes()), more, hex.EncodeToString(peer.PublicKey().Bytes()), peerIP)
}
