package proxy

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// observe asks ProxySQL, and proves the ports from time to time. problem is why the state is not in effect.
func (p *proxy) observe(ctx context.Context, problem error) agentapi.ProxyReport {
	p.mu.Lock()
	s, before, proofs := p.wanted, p.report, p.proofs
	p.mu.Unlock()
	r := agentapi.ProxyReport{Version: before.Version, Frontend: proofs.frontend,
		TimedOut: before.TimedOut} // a counter that was 0 meanwhile would have grown by all of it
	if s != nil {
		r.Known = s.Revision
	}
	if problem != nil {
		r.Problem = problem.Error()
	}
	if p.process == nil || s == nil {
		return r
	}
	if p.started && problem == nil {
		r.Revision = p.loaded
	}
	counters, err := p.admin.counters(ctx)
	pools, poolsErr := p.admin.pools(ctx)
	waiting, waitingErr := p.admin.waiting(ctx)
	if err = errors.Join(err, poolsErr, waitingErr); err != nil {
		r.Problem = fmt.Sprint("the admin interface of ProxySQL does not answer: ", err)
		return r
	}
	r.Clients, r.Waiting = integer(counters["Client_Connections_connected"]), waiting
	r.TimedOut = integer(counters["max_connect_timeouts"])
	if r.Version == "" {
		if rows, err := p.admin.table(ctx, "SELECT @@admin-version"); err == nil && len(rows) > 0 {
			r.Version, _, _ = strings.Cut(rows[0][0], "-")
		}
	}
	for _, n := range s.Nodes {
		pool := pools[n.Address]
		pool.Name, pool.Backend = n.Name, proofs.nodes[port{n.Address, n.ServerName}]
		r.Nodes = append(r.Nodes, pool)
	}
	p.exportMetrics(ctx)
	p.boundDigests(ctx)
	if p.Sidecar == nil && p.started && !proofs.going && time.Since(p.provedAt) > proofs.interval(s) {
		p.provedAt = time.Now()
		p.mu.Lock()
		p.proofs.going = true
		p.mu.Unlock()
		go p.prove(ctx, s)
	}
	return r
}

// port is a node's, by its address and the name that its certificate has to have.
type port struct{ address, name string }

// proofs are what handshakes have found last. They are made outside of the loop: a node that does not answer must not
// keep it from loading the state without that node.
type proofs struct {
	frontend agentapi.ChannelFact
	nodes    map[port]agentapi.ChannelFact
	going    bool
}

// interval is the pause between two proofs: a short one while nothing is known of a node in use, which may have just
// begun to serve.
func (p proofs) interval(s *agentapi.ProxyState) time.Duration {
	for _, n := range s.Nodes {
		observed := p.nodes[port{n.Address, n.ServerName}].Observed
		if (n.Writer || n.Reader) && (observed == "" || observed == agentapi.ObservedUnknown) {
			return unprovedInterval
		}
	}
	return proveInterval
}

// exportMetrics keeps what Prometheus is answered.
func (p *proxy) exportMetrics(ctx context.Context) {
	rows, err := p.admin.table(ctx, "SHOW PROMETHEUS METRICS")
	if err != nil || len(rows) == 0 || len(rows[0]) == 0 {
		return
	}
	p.mu.Lock()
	p.metrics = rows[0][len(rows[0])-1]
	p.mu.Unlock()
}

// maxDigests bounds what ProxySQL keeps of the statements that it has seen, in bytes. It keeps every one for ever.
const maxDigests = 16 << 20

// boundDigests has ProxySQL forget the statements that it has seen when they take too much memory. Its exporter's gauge
// is minutes behind; this table is not.
func (p *proxy) boundDigests(ctx context.Context) {
	rows, err := p.admin.table(ctx,
		"SELECT variable_value FROM stats_memory_metrics WHERE variable_name='query_digest_memory'")
	if err != nil || len(rows) == 0 || integer(rows[0][0]) <= maxDigests {
		return
	}
	size := integer(rows[0][0])
	if err := p.admin.run(ctx, "TRUNCATE TABLE stats.stats_mysql_query_digest"); err != nil {
		p.Logger.Warn("ProxySQL keeps all statements that it has seen", "bytes", size, "error", err)
		return
	}
	p.Logger.Info("ProxySQL has forgotten the statements that it had seen: they took too much memory", "bytes", size)
}

// prove asks each node's port, and the proxy's own, for TLS, and verifies the certificates by CA and name. ProxySQL
// itself verifies the CA alone.
func (p *proxy) prove(ctx context.Context, s *agentapi.ProxyState) {
	ctx, cancel := context.WithTimeout(ctx, proveInterval/3)
	defer cancel()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(s.CA))
	facts := make([]agentapi.ChannelFact, len(s.Nodes))
	var all sync.WaitGroup
	for i, n := range s.Nodes {
		all.Go(func() {
			facts[i] = certs.ClientsTLS(ctx, net.JoinHostPort(n.Address, "3306"),
				certs.Credentials{Roots: roots, Name: n.ServerName})
		})
	}
	own := ownAddress(p.Address)
	frontend := certs.ClientsTLS(ctx, own, certs.Credentials{Roots: roots})
	accepted, err := certs.ClientsPlain(ctx, own)
	frontend.PlaintextRefused = err == nil && !accepted
	all.Wait()
	nodes := map[port]agentapi.ChannelFact{}
	for i, n := range s.Nodes {
		nodes[port{n.Address, n.ServerName}] = facts[i]
	}
	p.mu.Lock()
	p.proofs = proofs{frontend: frontend, nodes: nodes}
	p.mu.Unlock()
	select { // it is reported at once
	case p.kick <- struct{}{}:
	default:
	}
}
