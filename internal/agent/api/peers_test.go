package api

import (
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

var shop = agentapi.Identity{Namespace: "prod", Cluster: "shop", UID: "one"}

func host(name string) string { return name + ".shop-nodes.prod.svc.cluster.local" }

func pairOf(t *testing.T, ca pkitest.CA, common string, names ...string) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(ca.Issue(pkitest.Leaf{Subject: pkix.Name{CommonName: common}, Names: names}))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// pods are servers of one port, as in a cluster, which differ by their loopback addresses. Each presents a certificate;
// one without speaks plain HTTP.
type pods struct {
	pairs map[string]tls.Certificate
	serve map[string]http.HandlerFunc
	names map[string][]string
	port  int
}

func (p *pods) start(t *testing.T) {
	for address, h := range p.serve {
		l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(p.port)))
		if err != nil {
			t.Fatal(err)
		}
		p.port = l.Addr().(*net.TCPAddr).Port
		server := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
		if pair, ok := p.pairs[address]; ok {
			server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
	}
}

func (p *pods) asker(c Credentials) *Asker {
	a := NewAsker(func() Credentials { return c })
	a.port = p.port
	a.names.lookup = func(_ context.Context, host string) ([]string, error) {
		name, _, _ := strings.Cut(host, ".")
		if addresses := p.names[name]; addresses != nil {
			return addresses, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return a
}

func answers(view agentapi.PeerView) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(view) }
}

func primary(name string, of agentapi.Identity) agentapi.PeerView {
	return agentapi.PeerView{Name: name, Cluster: of, Component: galera.ComponentPrimary}
}

// TestAsk: only what has the certificate and the name of a member of this cluster is believed to be that member.
func TestAsk(t *testing.T) {
	ca, foreign := pkitest.NewCA("shared"), pkitest.NewCA("shared")
	names := make([]string, 0, 9)
	for _, n := range strings.Split("a b c d e g h i j k", " ") {
		names = append(names, n+".shop-nodes.prod.svc")
	}
	own := pairOf(t, ca, "shop.prod", names...)
	another := shop
	another.UID = "another"
	p := &pods{
		pairs: map[string]tls.Certificate{"127.0.0.1": own, "127.0.0.2": own, "127.0.0.3": own, "127.0.0.4": own,
			"127.0.0.5": own, "127.0.0.6": own,
			"127.0.0.7": pairOf(t, ca, "cart.test", "cart.test.svc", "h.cart-nodes.test.svc"),
			"127.0.0.8": pairOf(t, foreign, "shop.prod", names...)},
		serve: map[string]http.HandlerFunc{
			"127.0.0.1": answers(primary("a", shop)),
			"127.0.0.2": answers(primary("b", shop)),
			"127.0.0.3": answers(primary("another-host", shop)),
			"127.0.0.4": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) },
			"127.0.0.5": func(_ http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done():
				case <-time.After(5 * time.Second):
				}
			},
			"127.0.0.6": answers(primary("g", another)),
			"127.0.0.7": answers(primary("h", shop)), // a stranger that knows the name
			"127.0.0.8": answers(primary("i", shop)),
			"127.0.0.9": answers(primary("j", shop)), // without TLS
		},
		names: map[string][]string{"a": {"127.0.0.1"}, "b": {"127.0.0.2"}, "c": {"127.0.0.3"}, "d": {"127.0.0.4"},
			"e": {"127.0.0.5"}, "g": {"127.0.0.6"}, "h": {"127.0.0.7"}, "i": {"127.0.0.8"}, "j": {"127.0.0.9"}},
	}
	p.start(t)
	a := p.asker(Credentials{Pair: &own, CAs: pki.Parse(ca.PEM)})
	members := []agentapi.Peer{{Name: "self", Host: host("a")}}
	for _, n := range strings.Split("a b c d e f g h i j", " ") {
		members = append(members, agentapi.Peer{Name: n, Host: host(n)})
	}
	began := time.Now()
	got := a.Ask(t.Context(), shop, members, "self")
	if len(got) != 2 || got["a"].Component != galera.ComponentPrimary || got["b"].Name != "b" {
		t.Errorf("%v", got)
	}
	others, cart := a.Others(), agentapi.Identity{Namespace: "test", Cluster: "cart"}
	if len(others) != 2 || others["g"].UID != "another" || others["h"] != cart {
		t.Errorf("answers of another cluster: %v", others)
	}
	if refused := a.Refused(); len(refused) != 1 || !strings.Contains(refused["i"], "unknown authority") {
		t.Errorf("refused: %v", refused)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("took %s: one slow member must not hold up the rest", took)
	}
}

// TestAskPastAStranger: a name that leads to another pod too leads to the member.
func TestAskPastAStranger(t *testing.T) {
	ca := pkitest.NewCA("shared")
	own := pairOf(t, ca, "shop.prod", "a.shop-nodes.prod.svc")
	p := &pods{pairs: map[string]tls.Certificate{"127.0.0.1": own,
		"127.0.0.2": pairOf(t, ca, "cart.test", "cart.test.svc")},
		serve: map[string]http.HandlerFunc{"127.0.0.1": answers(primary("a", shop)),
			"127.0.0.2": answers(primary("a", shop))},
		names: map[string][]string{"a": {"127.0.0.2", "127.0.0.1"}}}
	p.start(t)
	a := p.asker(Credentials{Pair: &own, CAs: pki.Parse(ca.PEM)})
	if got := a.Ask(t.Context(), shop, []agentapi.Peer{{Name: "a", Host: host("a")}}, ""); len(got) != 1 {
		t.Errorf("%v; others %v, refused %v", got, a.Others(), a.Refused())
	}
}

// TestAskWhileCredentialsChange: without a certificate no member is asked; a CA that is dropped counts no more, on an
// open connection too.
func TestAskWhileCredentialsChange(t *testing.T) {
	ca, next := pkitest.NewCA("nodes"), pkitest.NewCA("nodes")
	own := pairOf(t, ca, "shop.prod", "a.shop-nodes.prod.svc")
	p := &pods{pairs: map[string]tls.Certificate{"127.0.0.1": own}, names: map[string][]string{"a": {"127.0.0.1"}},
		serve: map[string]http.HandlerFunc{"127.0.0.1": answers(primary("a", shop))}}
	p.start(t)
	var c Credentials
	a := p.asker(c)
	a.credentials = func() Credentials { return c }
	ask := func() int { return len(a.Ask(t.Context(), shop, []agentapi.Peer{{Name: "a", Host: host("a")}}, "")) }
	for _, step := range []struct {
		what string
		c    Credentials
		want int
		why  string
	}{
		{"nothing is mounted yet", Credentials{}, 0, "no usable certificate"},
		{"the pair is mounted", Credentials{&own, pki.Parse(ca.PEM)}, 1, ""},
		{"both CAs are trusted", Credentials{&own, pki.Parse(append(append([]byte{}, ca.PEM...), next.PEM...))}, 1, ""},
		{"the old CA is dropped", Credentials{&own, pki.Parse(next.PEM)}, 0, "unknown authority"},
	} {
		c = step.c
		if got := ask(); got != step.want || !strings.Contains(a.Refused()["a"], step.why) {
			t.Errorf("%s: %d answers, %v", step.what, got, a.Refused())
		}
	}
}
