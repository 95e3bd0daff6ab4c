package harness

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/go-sql-driver/mysql"
)

// Ports that speak TLS.
const (
	PortClients     = databasePort
	PortReplication = replicationPort
)

// Handshake makes a TLS connection to a node's port, as a peer with a genuine certificate or as a client, with
// versions up to this one, and returns what was agreed on.
func (c Peers) Handshake(ctx context.Context, pod, port string, newest uint16) (tls.ConnectionState, error) {
	var state tls.ConnectionState
	genuine, err := c.cluster.Certificates().Genuine(ctx)
	if err != nil {
		return state, err
	}
	pair, err := tls.X509KeyPair(genuine.Certificate, genuine.Key)
	if err != nil {
		return state, err
	}
	p, err := c.cluster.Pod(ctx, pod)
	if err != nil {
		return state, err
	}
	address := net.JoinHostPort(p.Status.PodIP, port)
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, MaxVersion: newest, Certificates: []tls.Certificate{pair},
		InsecureSkipVerify: true, //nolint:gosec // what is presented is what is asked for
		VerifyConnection:   func(cs tls.ConnectionState) error { state = cs; return nil },
	}
	if port == PortClients {
		return state, c.loginWith(ctx, address, config)
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: GreetingTime}, Config: config}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return state, err
	}
	return state, conn.Close()
}

func (c Peers) loginWith(ctx context.Context, address string, config *tls.Config) error {
	cl, err := c.cluster.Client(ctx)
	if err != nil {
		return err
	}
	cfg := cl.config(address, answerTimeout)
	cfg.TLS = config
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}

// KeyKind describes what kind of key the certificate has that a node presents on a port, for instance RSA-2048.
func (c Peers) KeyKind(ctx context.Context, pod, port string) (string, error) {
	state, err := c.Handshake(ctx, pod, port, tls.VersionTLS13)
	if err != nil {
		return "", err
	}
	switch key := state.PeerCertificates[0].PublicKey.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA-%d", key.N.BitLen()), nil
	case *ecdsa.PublicKey:
		return fmt.Sprintf("ECDSA-%d", key.Curve.Params().BitSize), nil
	default:
		return fmt.Sprintf("%T", key), nil
	}
}
