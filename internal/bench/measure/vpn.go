package measure

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

// vpnTry is how long one attempt to get through may take: packets are lost until the server is there.
const vpnTry = 3 * time.Second

// VPN is the client's end of a tunnel to a database.
type VPN interface {
	Dial(ctx context.Context) (net.Conn, error)
	Close()
}

// OpenVPN opens the client's end by the files in dir; server is the other end, host:port. Its code is not in this
// module: a network stack comes with it, which no other program of the operator is to have among its requirements.
type OpenVPN func(ctx context.Context, dir, server string) (VPN, error)

// connectVPN measures connections through a WireGuard tunnel, whose client is in this process.
func (r connecting) connectVPN(ctx context.Context, spec result.Tunnel) error {
	v, err := r.openVPN(ctx, transport.WireGuardDir, spec.Server)
	if err != nil {
		return err
	}
	defer v.Close()
	if err := awaitVPN(ctx, v); err != nil {
		return err
	}
	err = r.connections(ctx, route{dial: v.Dial})
	if r.out.Connect != nil {
		r.out.Connect.Tunnel = "WireGuard, ChaCha20-Poly1305"
	}
	return err
}

// awaitVPN waits until a connection gets through.
func awaitVPN(ctx context.Context, v VPN) error {
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	err := await(ctx, serverPace, func() (string, error) {
		try, stop := context.WithTimeout(ctx, vpnTry)
		defer stop()
		c, err := v.Dial(try)
		if err != nil {
			return strings.TrimSpace(err.Error()), nil
		}
		return "", c.Close()
	})
	if err != nil {
		return fmt.Errorf("the VPN's server alongside the database did not answer: %w", err)
	}
	return nil
}
