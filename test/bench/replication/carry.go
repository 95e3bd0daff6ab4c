package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
)

const (
	deviceName = "far0"
	carryPort  = 7000
	mtu        = 1400
	// queued bounds the packets in flight: 64 MB.
	queued    = 1 << 16
	delayFile = "/bench/delay"
)

// packet is one that is due at the other end at a time.
type packet struct {
	due  time.Time
	to   *net.UDPAddr
	data []byte
}

// carryPackets gives this network namespace a device whose packets reach the peers late: half of the round trip in
// delayFile each way. text is ADDRESS,PEER=HOST,...: the device's own address, and behind which host each other one is.
func carryPackets(ctx context.Context, text string) error {
	parts := strings.Split(text, ",")
	peers := map[netip.Addr]*net.UDPAddr{}
	for _, p := range parts[1:] {
		peer, host, _ := strings.Cut(p, "=")
		a, err := netip.ParseAddr(peer)
		if err != nil {
			return err
		}
		peers[a] = &net.UDPAddr{IP: net.ParseIP(host), Port: carryPort}
	}
	device, err := openDevice(parts[0])
	if err != nil {
		return err
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{Port: carryPort})
	if err != nil {
		return err
	}
	for _, set := range []func(int) error{conn.SetReadBuffer, conn.SetWriteBuffer} {
		if err := set(8 << 20); err != nil {
			return err
		}
	}
	failed := make(chan error, 3)
	late := make(chan packet, queued)
	go func() { failed <- read(device, peers, late) }()
	go func() { failed <- deliver(conn, late) }()
	go func() { failed <- receive(conn, device) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// openDevice returns a TUN device that is up: each read is a packet, and each write one.
func openDevice(address string) (*os.File, error) {
	link := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: deviceName}, Mode: netlink.TUNTAP_MODE_TUN,
		NonPersist: true, Queues: 1, Flags: netlink.TUNTAP_NO_PI}
	if err := netlink.LinkAdd(link); err != nil {
		return nil, err
	}
	a, err := netlink.ParseAddr(address + "/24")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(netlink.LinkSetMTU(link, mtu), netlink.AddrAdd(link, a), netlink.LinkSetUp(link)); err != nil {
		return nil, err
	}
	return link.Fds[0], nil
}

// read takes packets from the device. The delay is looked up now and then.
func read(device *os.File, peers map[netip.Addr]*net.UDPAddr, late chan<- packet) error {
	buffer := make([]byte, 65536)
	var delay time.Duration
	var looked time.Time
	for {
		n, err := device.Read(buffer)
		if err != nil {
			return err
		}
		now := time.Now()
		if now.Sub(looked) > 200*time.Millisecond {
			delay, looked = currentDelay(), now
		}
		data := buffer[:n]
		if len(data) < 20 || data[0]>>4 != 4 {
			continue
		}
		if to := peers[netip.AddrFrom4([4]byte(data[16:20]))]; to != nil {
			late <- packet{due: now.Add(delay), to: to, data: slices.Clone(data)}
		}
	}
}

// currentDelay is half of the round trip that is to be added.
func currentDelay() time.Duration {
	data, err := os.ReadFile(delayFile)
	if err != nil {
		return 0
	}
	trip, err := time.ParseDuration(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return trip / 2
}

// deliver sends packets when they are due, in their order.
func deliver(conn *net.UDPConn, late <-chan packet) error {
	for p := range late {
		if wait := time.Until(p.due); wait > 0 {
			time.Sleep(wait)
		}
		if _, err := conn.WriteToUDP(p.data, p.to); err != nil {
			return fmt.Errorf("to %s: %w", p.to, err)
		}
	}
	return nil
}

func receive(conn *net.UDPConn, device *os.File) error {
	buffer := make([]byte, 65536)
	for {
		n, _, err := conn.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return err
		}
		if _, err := device.Write(buffer[:n]); err != nil {
			return err
		}
	}
}
