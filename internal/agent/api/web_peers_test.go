package api

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

const ownName = "shop-1.shop-nodes.demo.svc"

// peerPort is a real peer port of the cluster demo/shop.
type peerPort struct {
	*testing.T
	address  string
	identity atomic.Pointer[ControlIdentity]
	members  atomic.Pointer[[]agentapi.Peer]
}

func newPeerPort(t *testing.T) *peerPort {
	p := &peerPort{T: t}
	p.identity.Store(&ControlIdentity{})
	p.members.Store(&[]agentapi.Peer{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = l.Addr().String()
	peers := PeerHandler{Reports: NewReportStore(serving()),
		Identity: func() ControlIdentity { return *p.identity.Load() },
		Members: func() (agentapi.Identity, []agentapi.Peer) {
			return agentapi.Identity{Namespace: "demo", Cluster: "shop"}, *p.members.Load()
		},
		Renew: func(r agentapi.LeaseAnswer) agentapi.LeaseQuestion {
			return agentapi.LeaseQuestion{Token: "after " + r.Token}
		}}
	serveOn(t.Context(), l, peers.Handler(), peers.TLSConfig(), limitsOf(agentapi.PeerPort), slog.New(slog.DiscardHandler))
	return p
}

// configured publishes the configuration.
func (p *peerPort) configured() {
	p.members.Store(&[]agentapi.Peer{{Name: "shop-0", Host: "shop-0.shop-nodes.demo.svc.cluster.local"},
		{Name: "shop-1", Host: ownName + ".cluster.local"}})
}

// publish mounts a pair, and what it trusts.
func (p *peerPort) publish(pair tls.Certificate, cas, clients []byte) {
	p.identity.Store(&ControlIdentity{Pair: &pair, CAs: pki.Parse(cas), ClientCAs: pki.Parse(clients)})
}

func (p *peerPort) client(pairs ...tls.Certificate) *http.Client {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{Certificates: pairs,
			InsecureSkipVerify: true}}} //nolint:gosec // it is the client that is tested
	p.Cleanup(client.CloseIdleConnections)
	return client
}

// answers reports whether a caller gets the view.
func (p *peerPort) answers(c *http.Client) bool {
	p.Helper()
	resp, err := c.Get("https://" + p.address + agentapi.PathPeer)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	var v agentapi.PeerView
	return resp.StatusCode == http.StatusOK && json.Unmarshal(body, &v) == nil && v.Name == serving().Name
}

// renews reports whether a caller is asked how old a renewal of the lease is.
func (p *peerPort) renews(c *http.Client) bool {
	p.Helper()
	resp, err := c.Post("https://"+p.address+agentapi.PathLease, "application/json", strings.NewReader(`{"token":"one"}`))
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	var q agentapi.LeaseQuestion
	return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(&q) == nil && q.Token == "after one"
}

func issue(t *testing.T, ca pkitest.CA, l pkitest.Leaf) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(ca.Issue(l))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestPeerPort: members of the cluster and its archiver are answered, and no other caller, whatever certificate it has.
func TestPeerPort(t *testing.T) {
	nodes, clients, control := pkitest.NewCA("nodes"), pkitest.NewCA("clients"), pkitest.NewCA("control")
	own := pkitest.Leaf{Names: []string{"shop-0.shop-nodes.demo.svc", ownName}}
	archiver := pkitest.Leaf{Subject: pkix.Name{Organization: []string{"demo"}, CommonName: "shop-archiver"},
		Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	user := archiver
	user.Subject = pkix.Name{Organization: []string{"demo"}, CommonName: "app"}
	expired := own
	expired.NotAfter = time.Now().Add(-time.Minute)
	p := newPeerPort(t)
	p.configured()
	p.publish(issue(t, nodes, own), nodes.PEM, clients.PEM)
	for what, tc := range map[string]struct {
		pairs []tls.Certificate
		ok    bool
	}{
		"a member":                               {[]tls.Certificate{issue(t, nodes, own)}, true},
		"the archiver":                           {[]tls.Certificate{issue(t, clients, archiver)}, true},
		"a member whose certificate has expired": {[]tls.Certificate{issue(t, nodes, expired)}, true},
		"no certificate":                         {nil, false},
		"a client":                               {[]tls.Certificate{issue(t, clients, user)}, false},
		"a client with a node's names":           {[]tls.Certificate{issue(t, clients, own)}, false},
		"the archiver's name by the nodes' CA":   {[]tls.Certificate{issue(t, nodes, archiver)}, false},
		"a node of another cluster, by the same issuer": {[]tls.Certificate{issue(t, nodes,
			pkitest.Leaf{Names: []string{"cart-0.cart-nodes.demo.svc"}})}, false},
		"a node of that cluster's name elsewhere, by that issuer": {[]tls.Certificate{issue(t, nodes,
			pkitest.Leaf{Names: []string{"shop-1.shop-nodes.other.svc"}})}, false},
		"the cluster's names by another CA": {[]tls.Certificate{issue(t, pkitest.NewCA("nodes"), own)},
			false},
		"the operator": {[]tls.Certificate{issue(t, control,
			pkitest.Leaf{Names: []string{agentapi.OperatorName}})}, false},
	} {
		if got := p.answers(p.client(tc.pairs...)); got != tc.ok {
			t.Errorf("%s is answered: %t", what, got)
		}
		if got := p.renews(p.client(tc.pairs...)); got != tc.ok {
			t.Errorf("%s renews the lease: %t", what, got)
		}
	}
	if resp, err := http.Get("http://" + p.address + agentapi.PathPeer); err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			t.Error("it answers without TLS")
		}
	}
}

// TestPeerPortWhileItsFilesCome: no caller is believed before certificate and configuration are mounted, and members
// are at once afterwards.
func TestPeerPortWhileItsFilesCome(t *testing.T) {
	nodes := pkitest.NewCA("nodes")
	own := issue(t, nodes, pkitest.Leaf{Names: []string{ownName}})
	p := newPeerPort(t)
	c := p.client(own)
	if p.configured(); p.answers(c) {
		t.Error("it answers without a certificate")
	}
	p.members.Store(&[]agentapi.Peer{})
	if p.publish(own, nodes.PEM, nil); p.answers(c) {
		t.Error("it answers although it does not know who is a member")
	}
	if p.configured(); !p.answers(c) {
		t.Error("it does not answer a member")
	}
}

// TestPeerPortWhileTheCAIsReplaced: while both CAs are published, pairs of both are believed; a dropped CA counts no
// more, on open connections too.
func TestPeerPortWhileTheCAIsReplaced(t *testing.T) {
	before, after := pkitest.NewCA("nodes"), pkitest.NewCA("nodes")
	leaf := pkitest.Leaf{Names: []string{ownName}}
	old, renewed := issue(t, before, leaf), issue(t, after, leaf)
	p := newPeerPort(t)
	p.configured()
	withOld, withNew := p.client(old), p.client(renewed)
	p.publish(old, append(append([]byte{}, before.PEM...), after.PEM...), nil)
	if !p.answers(withOld) || !p.answers(withNew) {
		t.Error("both CAs are published, and one of them is not believed")
	}
	if p.publish(renewed, after.PEM, nil); p.answers(withOld) {
		t.Error("a connection of a dropped CA is answered")
	}
	if !p.answers(withNew) {
		t.Error("the new CA is not believed")
	}
}
