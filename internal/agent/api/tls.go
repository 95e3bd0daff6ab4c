package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/pki"
)

// Credentials are what an agent presents to the others, and whom it believes.
type Credentials struct {
	Pair *tls.Certificate
	CAs  []*x509.Certificate
}

// Stranger is the error of an address at which no member of the cluster answers.
type Stranger struct {
	// Of is the cluster that the presented certificate names, which is not verified; empty when it names none.
	Of  agentapi.Identity
	why error
}

// Error implements error.
func (s *Stranger) Error() string { return s.why.Error() }

// Unwrap returns the cause.
func (s *Stranger) Unwrap() error { return s.why }

var errNoPair = errors.New("no usable certificate has been published yet")

// verify checks that the other side is the node of a name.
func (c Credentials) verify(state tls.ConnectionState, name string) error {
	err := pki.CheckMember(state.PeerCertificates, c.CAs, x509.ExtKeyUsageServerAuth, name)
	if err == nil {
		return nil
	}
	s := &Stranger{why: err}
	if len(state.PeerCertificates) > 0 {
		s.Of = owner(state.PeerCertificates[0])
	}
	return s
}

// owner returns the cluster that a node's certificate names.
func owner(leaf *x509.Certificate) agentapi.Identity {
	cluster, namespace, ok := strings.Cut(leaf.Subject.CommonName, ".")
	if !ok || leaf.VerifyHostname(cluster+"."+namespace+".svc") != nil {
		return agentapi.Identity{}
	}
	return agentapi.Identity{Namespace: namespace, Cluster: cluster}
}

// config is that of a connection to the node of a name.
func (c Credentials) config(name string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		Certificates:       []tls.Certificate{*c.Pair},
		ServerName:         name,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does, without the dates
		VerifyConnection:   func(state tls.ConnectionState) error { return c.verify(state, name) },
	}
}

// dialTLS connects to the first address of a host at which the node of that name answers.
func (a *Asker) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	c := a.credentials()
	if c.Pair == nil {
		return nil, errNoPair
	}
	config := c.config(agentapi.Peer{Host: host}.CertificateName())
	return a.names.dial(ctx, network, address, func(conn net.Conn) (net.Conn, error) {
		secure := tls.Client(conn, config)
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return secure, nil
	})
}

// refusal is why a member's answer was refused, or refused us; "" of an address that does not answer.
func refusal(err error) string {
	var stranger *Stranger
	var op *net.OpError
	switch {
	case errors.Is(err, errNoPair):
		return errNoPair.Error()
	case errors.As(err, &stranger):
		return stranger.Error()
	case errors.As(err, &op) && op.Op == "remote error": // a TLS alert
		return "it refuses this node's certificate: " + op.Err.Error()
	}
	return ""
}
