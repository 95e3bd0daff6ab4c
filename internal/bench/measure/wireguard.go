package measure

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun/netstack"

	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

const (
	// wireGuardMTU is WireGuard's usual one: the rest of 1500 bytes is its headers.
	wireGuardMTU = 1420
	// innerPort is where the server listens inside of the tunnel.
	innerPort = 3306
	// vpnTry is how long one attempt to get through may take: packets are lost until the server is there.
	vpnTry = 3 * time.Second
)

// vpn is one end of a WireGuard tunnel with a network stack of its own: it needs no device and no privilege.
type vpn struct {
	device *device.Device
	net    *netstack.Net
}

// openVPN starts one end; more is appended to its configuration.
func openVPN(file string, own netip.Addr, more string) (vpn, error) {
	config, err := os.ReadFile(file)
	if err != nil {
		return vpn{}, err
	}
	tun, stack, err := netstack.CreateNetTUN([]netip.Addr{own}, nil, wireGuardMTU)
	if err != nil {
		return vpn{}, err
	}
	v := vpn{device.NewDevice(tun, conn.NewDefaultBind(), device.NewLogger(device.LogLevelSilent, "")), stack}
	if err := v.device.IpcSet(string(config) + more); err != nil {
		v.device.Close()
		return vpn{}, fmt.Errorf("configuring WireGuard: %w", err)
	}
	if err := v.device.Up(); err != nil {
		v.device.Close()
		return vpn{}, fmt.Errorf("starting WireGuard: %w", err)
	}
	return v, nil
}

// ServeWireGuard is the server: connections that come through the tunnel are passed on to target (host:port). It
// returns when ctx ends.
func ServeWireGuard(ctx context.Context, dir, target string) error {
	v, err := openVPN(filepath.Join(dir, transport.WireGuardServer), transport.WireGuardServerIP, "")
	if err != nil {
		return err
	}
	defer v.device.Close()
	l, err := v.net.ListenTCPAddrPort(netip.AddrPortFrom(transport.WireGuardServerIP, innerPort))
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		_ = l.Close()
	}()
	for {
		near, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		go passOn(ctx, near, target)
	}
}

// passOn joins two connections; the end of one is the end of the other.
func passOn(ctx context.Context, near net.Conn, target string) {
	defer near.Close()
	d := net.Dialer{Timeout: dialTime}
	far, err := d.DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	defer far.Close()
	go func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// connectVPN measures connections through a WireGuard tunnel, whose client is in this process.
func (r connecting) connectVPN(ctx context.Context, spec result.Tunnel) error {
	endpoint, err := endpointOf(ctx, spec.Server)
	if err != nil {
		return err
	}
	v, err := openVPN(filepath.Join(transport.WireGuardDir, transport.WireGuardClient), transport.WireGuardClientIP,
		"endpoint="+endpoint+"\n")
	if err != nil {
		return err
	}
	defer v.device.Close()
	if err := v.awaitServer(ctx); err != nil {
		return err
	}
	err = r.connections(ctx, route{dial: v.dial})
	if r.out.Connect != nil {
		r.out.Connect.Tunnel = "WireGuard, ChaCha20-Poly1305"
	}
	return err
}

// endpointOf is an address as WireGuard takes it, which resolves no names.
func endpointOf(ctx context.Context, server string) (string, error) {
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return "", err
	}
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("the address of the VPN's server: %w", err)
	}
	return net.JoinHostPort(found[0], port), nil
}

func (v vpn) dial(ctx context.Context) (net.Conn, error) {
	return v.net.DialContextTCPAddrPort(ctx, netip.AddrPortFrom(transport.WireGuardServerIP, innerPort))
}

// awaitServer waits until a connection gets through.
func (v vpn) awaitServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	err := await(ctx, serverPace, func() (string, error) {
		try, stop := context.WithTimeout(ctx, vpnTry)
		defer stop()
		c, err := v.dial(try)
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
