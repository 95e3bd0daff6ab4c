package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

const (
	// followInterval is how often a sidecar asks who is behind the Service of the primary. A node that is to stop serves
	// for a little more than a second after it was taken out of that Service.
	followInterval = 500 * time.Millisecond
	// followTimeout bounds one question.
	followTimeout = 2 * time.Second
	// maxFollowed bounds the nodes that a sidecar remembers.
	maxFollowed = 16
	// unknownVersion greets clients until a node has answered: the oldest version that the operator runs.
	unknownVersion = "10.11.0-MariaDB"
)

// Sidecar is a proxy in the pod of an application, for one account. It has the rights of the application, and no
// others: the account's own binding Secret. Where the primary is, it learns from the Service of the primary.
type Sidecar struct {
	// Host is that Service, Socket where the application connects, BindingDir where the Secret is mounted.
	Host, Socket, BindingDir string
	// MaxConnections bounds the connections to the primary, MaxClients those of the application.
	MaxConnections, MaxClients int32
	// MetricsPort serves the metrics; 0 for none, because the pod's ports are the application's.
	MetricsPort int32
}

// binding is what a sidecar takes from the Secret.
type binding struct{ user, password, ca string }

// followed is a node that the Service of the primary has led to.
type followed struct{ name, address, version string }

// sidecar is what a sidecar knows, and no other proxy.
type sidecar struct {
	binding binding
	// nodes are those that the Service has led to, the latest first.
	nodes []followed
	// problem is why the last question had no answer.
	problem string
}

// beatFile has the time of the last turn of a sidecar's loop: it has no port that kubelet could ask.
const beatFile = "beat"

// Answering reports whether a sidecar takes clients, and its loop, of which dir is the volume, turns.
func Answering(socket, dir string) error {
	info, err := os.Stat(filepath.Join(dir, beatFile))
	if err != nil {
		return fmt.Errorf("the agent has not begun: %w", err)
	}
	if still := time.Since(info.ModTime()); still > stuck {
		return fmt.Errorf("the agent's loop has not turned for %s", still.Round(time.Second))
	}
	ctx, cancel := context.WithTimeout(context.Background(), followTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(followTimeout))
	_, err = conn.Read(make([]byte, 1)) // it greets
	return err
}

// serveMetrics opens the port for Prometheus, if there is one.
func serveMetrics(ctx context.Context, p *proxy) error {
	p.mu.Lock()
	p.heard = time.Now()
	p.mu.Unlock()
	if p.Sidecar.MetricsPort == 0 {
		return nil
	}
	return api.Serve(ctx, &p.sockets, int(p.Sidecar.MetricsPort), p.probes(), nil, p.Logger)
}

// beats notes that the loop has turned.
func (o Options) beats() {
	if err := os.WriteFile(filepath.Join(o.Dir, beatFile), nil, 0o600); err != nil {
		o.Logger.Warn("kubelet is going to restart the proxy: it cannot note that it turns", "error", err)
	}
}

func readBinding(dir string) (b binding, err error) {
	for key, to := range map[string]*string{"username": &b.user, "password": &b.password, "ca.crt": &b.ca} {
		data, err := os.ReadFile(filepath.Join(dir, key))
		if err != nil {
			return binding{}, err
		}
		if len(data) == 0 {
			return binding{}, fmt.Errorf("%s is empty", key)
		}
		*to = string(data)
	}
	return b, nil
}

// readBinding takes over what is mounted, and has ProxySQL load what differs. A Secret that cannot be read changes
// nothing.
func (p *proxy) readBinding() {
	b, err := readBinding(p.Sidecar.BindingDir)
	p.mu.Lock()
	if err == nil {
		p.binding = b
	}
	b, nodes, wanted := p.binding, p.nodes, p.wanted
	p.mu.Unlock()
	if b == (binding{}) {
		return
	}
	next := p.Sidecar.state(b, nodes)
	if wanted != nil {
		next.Revision = wanted.Revision
		if reflect.DeepEqual(next, *wanted) {
			return
		}
	}
	next.Revision++
	p.take(next)
}

// state sends everything to the node that the Service led to last, and drains the others.
func (s Sidecar) state(b binding, nodes []followed) agentapi.ProxyState {
	out := agentapi.ProxyState{
		Mode: agentapi.ProxyPrimary, Nodes: []agentapi.ProxyNode{},
		Users:          []agentapi.ProxyUser{{Name: b.user, Hash: agentapi.NativeHash(b.password)}},
		MaxConnections: s.MaxConnections, MaxFrontendConnections: s.MaxClients, Multiplexing: true,
		Local: true, ServerVersion: unknownVersion, CA: b.ca,
	}
	for i, n := range nodes {
		out.Nodes = append(out.Nodes, agentapi.ProxyNode{Name: n.name, Address: n.address, ServerName: s.Host,
			Writer: i == 0, Reader: i == 0})
	}
	if len(nodes) > 0 {
		out.ServerVersion = cmp.Or(nodes[0].version, unknownVersion)
	}
	return out
}

// led returns the nodes after the Service has led to one. What was at its address before, or had its name, is gone.
func led(nodes []followed, to followed) []followed {
	others := slices.DeleteFunc(slices.Clone(nodes), func(n followed) bool {
		return n.name == to.name || n.address == to.address
	})
	others = slices.Insert(others, 0, to)
	return others[:min(len(others), maxFollowed)]
}

// follow asks who is behind the Service of the primary until ctx ends. It is outside of the loop, which a Service that
// does not answer must not hold up.
func (p *proxy) follow(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, followInterval) {
		p.mu.Lock()
		b := p.binding
		p.mu.Unlock()
		if b == (binding{}) {
			continue
		}
		n, err := p.Sidecar.ask(ctx, b)
		p.learn(n, err)
	}
}

// learn takes over an answer. Without one the sidecar goes on with the node that it has.
func (p *proxy) learn(n followed, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	if problem != p.problem && problem != "" {
		p.Logger.Warn("the Service of the primary does not answer", "host", p.Sidecar.Host, "why", problem)
	}
	p.problem = problem
	if err == nil {
		p.heard = time.Now()
	}
	if err != nil || len(p.nodes) > 0 && p.nodes[0] == n {
		return
	}
	p.nodes = led(p.nodes, n)
	p.Logger.Info("the primary is another node", "node", n.name, "address", n.address)
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// ask logs in to the Service, as the application would, and asks who answers. The server's certificate is verified by
// CA and name.
func (s Sidecar) ask(ctx context.Context, b binding) (followed, error) {
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(b.ca)) {
		return followed{}, errors.New("ca.crt of the binding Secret has no certificate")
	}
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr = b.user, b.password, "tcp", net.JoinHostPort(s.Host, "3306")
	c.TLS = &tls.Config{RootCAs: roots, ServerName: s.Host, MinVersion: tls.VersionTLS12}
	c.Timeout, c.ReadTimeout, c.WriteTimeout = followTimeout, followTimeout, followTimeout
	c.Logger = log.New(io.Discard, "", 0) // every error is returned as well
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return followed{}, err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	rows, err := sqlrows.Texts(ctx, db, "SELECT @@wsrep_node_name, @@wsrep_node_address, VERSION()")
	if err != nil {
		return followed{}, err
	}
	return answered(rows)
}

// answered reads the answer of a node.
func answered(rows [][]string) (followed, error) {
	if len(rows) != 1 || len(rows[0]) != 3 {
		return followed{}, errors.New("it answers with something else than a node")
	}
	address := strings.Trim(rows[0][1], "[]") // of IPv6
	if rows[0][0] == "" || net.ParseIP(address) == nil {
		return followed{}, fmt.Errorf("it answers with the node %q at %q, which is no address", rows[0][0], rows[0][1])
	}
	return followed{name: rows[0][0], address: address, version: rows[0][2]}, nil
}
