package api

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// TestControlPort: the operator is answered, by a certificate of its own CA and of that name. No other caller is, with
// the nodes' pair neither, and none with a CA that was replaced.
func TestControlPort(t *testing.T) {
	nodes, clients, control := pkitest.NewCA("nodes"), pkitest.NewCA("clients"), pkitest.NewCA("control")
	own := issue(t, nodes, pkitest.Leaf{Names: []string{ownName}})
	var identity atomic.Pointer[ControlIdentity]
	identity.Store(&ControlIdentity{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := ControlHandler{Reports: NewReportStore(serving())}.Handler()
	serveOn(t.Context(), l, h, TLSConfig(func() ControlIdentity { return *identity.Load() }), controlLimits,
		slog.New(slog.DiscardHandler))
	answers := func(pairs ...tls.Certificate) bool {
		c := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{Certificates: pairs, InsecureSkipVerify: true}}} //nolint:gosec // the client is tested
		resp, err := c.Get("https://" + l.Addr().String() + agentapi.PathStatus)
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}
	operator := pkitest.Leaf{Names: []string{agentapi.OperatorName}}
	if answers(issue(t, control, operator)) {
		t.Error("it answers before its files are mounted")
	}
	publish := func(roots pkitest.CA) {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(roots.PEM)
		identity.Store(&ControlIdentity{Pair: &own, ControlRoots: pool, CAs: pki.Parse(nodes.PEM),
			ClientCAs: pki.Parse(clients.PEM)})
	}
	publish(control)
	expired := operator
	expired.NotAfter = time.Now().Add(-time.Minute)
	for what, tc := range map[string]struct {
		pairs []tls.Certificate
		ok    bool
	}{
		"the operator":                           {[]tls.Certificate{issue(t, control, operator)}, true},
		"the operator with an expired pair":      {[]tls.Certificate{issue(t, control, expired)}, false},
		"no certificate":                         {nil, false},
		"a member":                               {[]tls.Certificate{own}, false},
		"a client":                               {[]tls.Certificate{issue(t, clients, pkitest.Leaf{})}, false},
		"the operator's name by the nodes' CA":   {[]tls.Certificate{issue(t, nodes, operator)}, false},
		"the operator's name by the clients' CA": {[]tls.Certificate{issue(t, clients, operator)}, false},
		"another name by the operator's CA": {[]tls.Certificate{issue(t, control,
			pkitest.Leaf{Names: []string{"galera-operator.metrics"}})}, false},
	} {
		if got := answers(tc.pairs...); got != tc.ok {
			t.Errorf("%s is answered: %t", what, got)
		}
	}
	if publish(pkitest.NewCA("control")); answers(issue(t, control, operator)) {
		t.Error("the operator's former CA is believed")
	}
}
