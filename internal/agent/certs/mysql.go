package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Capabilities of the MySQL protocol, and answers of the server.
const (
	capProtocol41 = 0x200
	capSSL        = 0x800
	capSecure     = 0x8000
	capPluginAuth = 0x80000
	capLongFlag   = 0x4

	answerError  = 0xff
	answerSwitch = 0xfe
	answerOK     = 0x00

	// codeInsecure is ER_SECURE_TRANSPORT_REQUIRED. Older servers answer codeDenied instead.
	codeInsecure = 3159
	codeDenied   = 1045
)

// probeUser exists in every cluster, and probePlugin is not its authentication plugin: the server
// then asks for another plugin, and a connection that ends there is neither a failed login nor
// a line in the log.
const (
	probeUser   = "root"
	probePlugin = "mysql_clear_password"
)

var errProtocol = errors.New("not the MySQL protocol")

// clientsTLS asks the MySQL port for TLS, without a certificate.
func clientsTLS(ctx context.Context, addr string, c Credentials) agentapi.ChannelFact {
	now := time.Now()
	conn, err := dial(ctx, addr)
	if err != nil {
		return unknown(err.Error(), now)
	}
	defer func() { _ = conn.Close() }()
	offers, err := greeting(conn)
	if err != nil {
		return unknown(err.Error(), now)
	}
	if !offers {
		_, _ = login(conn, 1, 0) // ends the connection without a line in the log
		return agentapi.ChannelFact{Observed: agentapi.ObservedPlaintext, CheckedAt: now}
	}
	if err := writePacket(conn, 1, loginHead(capSSL)); err != nil {
		return unknown(err.Error(), now)
	}
	secure := tls.Client(conn, c.anonymous().config())
	if err := secure.HandshakeContext(ctx); err != nil {
		return unknown("TLS handshake: "+err.Error(), now)
	}
	fact := c.describe(secure.ConnectionState(), now)
	_, _ = login(secure, 2, capSSL)
	return fact
}

// ClientsTLS asks a MySQL port for TLS, and verifies its certificate by the CAs and the name.
func ClientsTLS(ctx context.Context, addr string, c Credentials) agentapi.ChannelFact {
	return clientsTLS(ctx, addr, c)
}

// ClientsPlain tries to log in without TLS and reports whether the server went along with it. An error
// means that nothing was learnt.
func ClientsPlain(ctx context.Context, addr string) (accepted bool, err error) {
	conn, err := dial(ctx, addr)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := greeting(conn); err != nil {
		return false, err
	}
	answer, err := login(conn, 1, 0)
	if err != nil {
		return false, err
	}
	return judgeLogin(answer)
}

// judgeLogin reads the answer to a login without TLS. Being asked for another plugin means
// that the server would go on; newer ones check the transport before that. See loginPlain for the others.
func judgeLogin(answer []byte) (accepted bool, err error) {
	if len(answer) == 0 {
		return false, errProtocol
	}
	switch answer[0] {
	case answerSwitch, answerOK:
		return true, nil
	case answerError:
		if len(answer) < 3 {
			return false, errProtocol
		}
		code := binary.LittleEndian.Uint16(answer[1:])
		if code == codeInsecure || code == codeDenied {
			return false, nil
		}
		return false, fmt.Errorf("the server answered with error %d", code)
	}
	return false, errProtocol
}

// greeting reads the server's first packet and reports whether it offers TLS.
func greeting(conn net.Conn) (offersTLS bool, err error) {
	packet, err := readPacket(conn)
	if err != nil {
		return false, err
	}
	if len(packet) > 0 && packet[0] == answerError {
		return false, fmt.Errorf("the server turned the connection away: %q", string(packet[min(3, len(packet)):]))
	}
	// protocol version, server version, NUL, thread id (4), salt (8), filler (1), capabilities (2)
	end := bytes.IndexByte(packet, 0)
	if end < 0 || len(packet) < end+1+4+8+1+2 {
		return false, errProtocol
	}
	return binary.LittleEndian.Uint16(packet[end+14:])&capSSL != 0, nil
}

// loginHead is the fixed first part of a login, which alone is a request for TLS.
func loginHead(extra uint32) []byte {
	head := make([]byte, 32)
	binary.LittleEndian.PutUint32(head, capProtocol41|capSecure|capPluginAuth|capLongFlag|extra)
	binary.LittleEndian.PutUint32(head[4:], 1<<24)
	head[8] = 45 // utf8mb4
	return head
}

// login sends a login without a password and returns the answer.
func login(conn net.Conn, seq byte, extra uint32) ([]byte, error) {
	body := append(loginHead(extra), probeUser+"\x00\x00"+probePlugin+"\x00"...)
	if err := writePacket(conn, seq, body); err != nil {
		return nil, err
	}
	return readPacket(conn)
}

func writePacket(w io.Writer, seq byte, body []byte) error {
	packet := append([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), seq}, body...)
	_, err := w.Write(packet)
	return err
}

// maxPacket is more than any packet before the login is over.
const maxPacket = 4 << 10

func readPacket(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if size > maxPacket {
		return nil, errProtocol
	}
	body := make([]byte, size)
	_, err := io.ReadFull(r, body)
	return body, err
}
