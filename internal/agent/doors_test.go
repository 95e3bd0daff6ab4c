//go:build integration

package agent_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// peerPort: a real agent answers members alone, and no one on the probe port.
func (s *scenario) peerPort() {
	own := pair(s.T, s.world.leaf)
	stranger := func(ca *authority, names ...string) tls.Certificate {
		return pair(s.T, func() ([]byte, []byte) {
			certPEM, keyPEM := ca.issue(s.T, "x", names...)
			return append(certPEM, s.world.chain...), keyPEM
		})
	}
	for name, tc := range map[string]struct {
		pairs []tls.Certificate
		ok    bool
	}{
		"a member":                            {[]tls.Certificate{own}, true},
		"no certificate":                      {nil, false},
		"another cluster's node, the same CA": {[]tls.Certificate{stranger(s.world.ca, "cart-0", "cart-nodes")}, false},
		"the names of the cluster, another CA": {[]tls.Certificate{stranger(newAuthority(s.T, "shop intermediate", nil),
			"shop-0", "shop-1")}, false},
		"the operator, who has a port":          {[]tls.Certificate{stranger(s.world.control, agentapi.OperatorName)}, false},
		"the operator with the names of a node": {[]tls.Certificate{stranger(s.world.control, "shop-0")}, false},
	} {
		client := &http.Client{Timeout: answerTime, Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{Certificates: tc.pairs, InsecureSkipVerify: true}}}
		resp, err := client.Get("https://" + net.JoinHostPort(s.node(0).ip, fmt.Sprint(agentapi.PeerPort)) +
			agentapi.PathPeer)
		if err == nil {
			_ = resp.Body.Close()
		}
		if answered := err == nil && resp.StatusCode == http.StatusOK; answered != tc.ok {
			s.Errorf("%s is answered: %t, %v", name, answered, err)
		}
	}
	if code := s.node(0).probe(agentapi.PathPeer); code != http.StatusNotFound {
		s.Errorf("the probe port answers %d", code)
	}
}

func pair(t *testing.T, issue func() (certPEM, keyPEM []byte)) tls.Certificate {
	t.Helper()
	return got(tls.X509KeyPair(issue()))(t)
}

// clientsPort: port 3306 takes clients without a certificate, and those of the clients' CA; it refuses a node's, before
// there is a CA of clients and afterwards.
func (s *scenario) clientsPort() {
	clients := pkitest.NewCA("shop clients CA")
	app := got(tls.X509KeyPair(clients.Issue(pkitest.Leaf{Subject: pkix.Name{CommonName: "app"},
		Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})))(s.T)
	node := pair(s.T, s.world.leaf)
	expect := func(when string, refused ...*tls.Certificate) {
		s.Helper()
		if err := s.login(nil); err != nil {
			s.Errorf("%s: without a certificate: %v", when, err)
		}
		for _, c := range refused {
			if err := s.login(c); err == nil {
				s.Errorf("%s: port 3306 takes %s", when, c.Leaf.Subject)
			}
		}
	}
	expect("without a CA of clients", &node, &app)

	before := got(s.node(0).report())(s.T).TLS.Loaded // an agent may load what is mounted within milliseconds
	certPEM, keyPEM := s.world.leaf()
	for _, n := range s.world.nodes {
		n.mount("tls", map[string][]byte{"tls.crt": certPEM, "tls.key": keyPEM, "ca.crt": s.world.root.pem,
			agentapi.ControlCAKey: s.world.control.pem, agentapi.ClientCAKey: clients.PEM})
	}
	s.node(0).until("loaded the CA of clients", 30*time.Second, func(r agentapi.Report) bool {
		return r.TLS.Loaded != before && r.TLS.Loaded == r.TLS.Installed
	})
	expect("with a CA of clients", &node)
	if err := s.login(&app); err != nil {
		s.Errorf("a client's certificate: %v", err)
	}

	loaded := got(s.node(0).report())(s.T).TLS.Loaded
	s.world.publishCertificate(s.world.leaf())
	s.node(0).until("dropped the CA of clients", 30*time.Second, func(r agentapi.Report) bool {
		return r.TLS.Loaded != loaded && r.TLS.Loaded == r.TLS.Installed
	})
	expect("the CA of clients is gone again", &node, &app)
}

// login logs in to the first node as root over TLS, with a certificate or without.
func (s *scenario) login(c *tls.Certificate) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.world.root.pem)
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = "root", rootPassword, "tcp", net.JoinHostPort(s.node(0).ip, "3306")
	cfg.Timeout, cfg.Logger = answerTime, log.New(io.Discard, "", 0)
	cfg.TLS = &tls.Config{RootCAs: roots, ServerName: "shop"}
	if c != nil { // also where the server does not name its CA
		cfg.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c, nil }
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.Context(), answerTime)
	defer cancel()
	conn, err := connector.Connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}
