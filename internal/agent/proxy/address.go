package proxy

import (
	"context"
	"fmt"
	"net"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// listen is where ProxySQL takes clients.
func (o Options) listen() string {
	if o.Sidecar != nil {
		return o.Sidecar.Socket
	}
	return listenAddress(o.Address)
}

// dial connects to it from within the pod.
func (o Options) dial(ctx context.Context) (net.Conn, error) {
	network, address := "tcp", ownAddress(o.Address)
	if o.Sidecar != nil {
		network, address = "unix", o.Sidecar.Socket
	}
	return (&net.Dialer{Timeout: adminTimeout}).DialContext(ctx, network, address)
}

// ownAddress is the proxy's port, from within its pod.
func ownAddress(pod string) string {
	if ip := net.ParseIP(pod); ip != nil && ip.To4() == nil {
		return fmt.Sprintf("[::1]:%d", agentapi.ProxyPort)
	}
	return fmt.Sprintf("127.0.0.1:%d", agentapi.ProxyPort)
}

// listenAddress is where clients connect: in the family of the pod's address.
func listenAddress(pod string) string {
	if ip := net.ParseIP(pod); ip != nil && ip.To4() == nil {
		return fmt.Sprintf("[::]:%d", agentapi.ProxyPort)
	}
	return fmt.Sprintf("0.0.0.0:%d", agentapi.ProxyPort)
}
