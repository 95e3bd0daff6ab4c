package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun/netstack"

	"github.com/galera-operator/galera-operator/internal/bench/measure"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

const (
	// wireGuardMTU is WireGuard's usual one: the rest of 1500 bytes is its headers.
	wireGuardMTU = 1420
	// innerPort is where the server listens inside of the tunnel.
	innerPort = 3306
	// dialTime is how long a connection from the server to the database may take.
	dialTime = 10 * time.Second
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

// serveWireGuard is the server: connections that come through the tunnel are passed on to target (host:port). It
// returns when ctx ends.
func serveWireGuard(ctx context.Context, dir, target string) error {
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

// openClient is the measure.OpenVPN of WireGuard.
func openClient(ctx context.Context, dir, server string) (measure.VPN, error) {
	endpoint, err := endpointOf(ctx, server)
	if err != nil {
		return nil, err
	}
	v, err := openVPN(filepath.Join(dir, transport.WireGuardClient), transport.WireGuardClientIP,
		"endpoint="+endpoint+"\n")
	if err != nil {
		return nil, err
	}
	return v, nil
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

// Dial connects to what the server passes connections on to.
func (v vpn) Dial(ctx context.Context) (net.Conn, error) {
	return v.net.DialContextTCPAddrPort(ctx, netip.AddrPortFrom(transport.WireGuardServerIP, innerPort))
}

// Close ends this end of the tunnel.
func (v vpn) Close() { v.device.Close() }
