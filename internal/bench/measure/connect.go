package measure

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// connecting is the run that measures connections, directly, or through a tunnel or a proxy.
type connecting struct{ *runner }

// connect makes connections as fast as it can: connect, ask, disconnect.
func (r connecting) connect(ctx context.Context) error {
	switch spec := r.plan.Connect; {
	case spec.Tunnel != nil && spec.Tunnel.VPN:
		return r.connectVPN(ctx, *spec.Tunnel)
	case spec.Tunnel != nil:
		return r.connectThrough(ctx, *spec.Tunnel)
	case r.plan.Proxy != "" || r.plan.Service != "":
		return r.connectPooled(ctx)
	}
	return r.connections(ctx, route{})
}

// route is what connections go through; the zero route leads to the hosts themselves.
type route struct {
	// network and address are dialled instead of a host's own.
	network, address string
	// service is dialled, and verified, instead of a host.
	service string
	// dial, if any, makes connections instead.
	dial func(context.Context) (net.Conn, error)
	// lost is closed when nothing can be measured any more; nil: never.
	lost <-chan struct{}
	// pooled reports whether clients reach no database on it: what is at its end has connections of its own, which opened
	// counts.
	pooled bool
	opened func(context.Context) (float64, error)
}

// connections are measured.
func (r connecting) connections(ctx context.Context, w route) error {
	c, err := r.settled(ctx, w)
	if err != nil {
		return err
	}
	backend, err := w.count(ctx)
	if err != nil {
		return err
	}
	err = r.measure(ctx, func(ctx context.Context) error {
		c.run(ctx, c.next)
		return nil
	})
	// Our own client is the load here: what it uses is the client's.
	r.out.Client.CPUSeconds, r.out.Runner.CPUSeconds = r.out.Client.CPUSeconds+r.out.Runner.CPUSeconds, 0
	r.out.Connect = c.result(r.out.EndedAt.Sub(r.out.StartedAt))
	if after, countErr := w.count(ctx); w.pooled {
		r.out.Connect.Pooled, r.out.Connect.Backend = true, max(0, after-backend)
		err = errors.Join(err, countErr)
	}
	return err
}

// count is how many connections the database has taken so far, where that is asked.
func (w route) count(ctx context.Context) (float64, error) {
	if w.opened == nil {
		return 0, nil
	}
	return w.opened(ctx)
}

// settled returns a connector whose first connections were made. They are not measured: they resolve names, and show
// whether there is anything to measure.
func (r connecting) settled(ctx context.Context, w route) (*connector, error) {
	spec := *r.plan.Connect
	c := &connector{spec: spec, route: w, loop: loop{threads: spec.Threads, seconds: spec.Seconds, most: spec.Connections,
		lost: w.lost}}
	settling, cancel := context.WithTimeout(ctx, keyTime)
	defer cancel()
	for i, host := range r.plan.Hosts {
		one, err := c.to(r.runner, host)
		if err != nil {
			return nil, err
		}
		c.hosts = append(c.hosts, one)
		if err := await(settling, keyPace, func() (string, error) {
			err := c.once(ctx, i)
			return c.wrongTLS(r.plan.TLS && !w.pooled), err
		}); err != nil {
			return nil, fmt.Errorf("connecting to %s: %w", host, err)
		}
	}
	c.resumed.Store(0)
	if r.plan.TLS && !w.pooled {
		c.resumption = resumptionOf(c.spec)
	}
	return c, nil
}

func resumptionOf(spec result.Connect) string {
	if spec.Resumption {
		return result.ResumptionOn
	}
	return result.ResumptionOff
}

// A certificate with another kind of key is loaded by servers that run, some time after the arm was changed.
const (
	keyTime = 2 * time.Minute
	keyPace = 2 * time.Second
)

// await checks again and again until nothing is wrong, or ctx ends; an error ends it at once.
func await(ctx context.Context, pace time.Duration, check func() (wrong string, err error)) error {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		wrong, err := check()
		if err != nil || wrong == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New(wrong)
		case <-tick.C:
		}
	}
}

// connector is a run of connections.
type connector struct {
	loop
	spec  result.Connect
	hosts []driver.Connector
	route route
	// resumption is what is done about sessions, "" where no TLS is spoken.
	resumption string

	resumed atomic.Int64
	seen    tls.ConnectionState
}

// groups are key exchanges by the names the API has for them.
var groups = map[string]tls.CurveID{"X25519MLKEM768": tls.X25519MLKEM768, "X25519": tls.X25519, "P-256": tls.CurveP256}

// to prepares connections to one host.
func (c *connector) to(r *runner, host string) (driver.Connector, error) {
	cfg, err := r.mysqlConfig(cmp.Or(c.route.service, host))
	if err != nil {
		return nil, err
	}
	if c.route.address != "" {
		cfg.Net, cfg.Addr = c.route.network, c.route.address
	}
	if c.route.pooled && c.route.service == "" {
		cfg.TLS = nil
	}
	if cfg.TLS != nil {
		version := uint16(tls.VersionTLS13)
		if c.spec.TLSVersion == "1.2" {
			version = tls.VersionTLS12
		}
		cfg.TLS.MinVersion, cfg.TLS.MaxVersion = version, version
		if c.spec.Resumption {
			cfg.TLS.ClientSessionCache = tls.NewLRUClientSessionCache(c.spec.Threads + 1)
		} else {
			cfg.TLS.SessionTicketsDisabled = true
		}
		if group, chosen := groups[c.spec.KeyExchange]; chosen {
			cfg.TLS.CurvePreferences = []tls.CurveID{group}
		}
		cfg.TLS.VerifyConnection = c.observe
	}
	if c.route.dial != nil {
		cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return c.route.dial(ctx) }
	}
	if c.spec.Latency > 0 {
		cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialSlowly(ctx, network, addr, c.spec.Latency)
		}
	}
	return mysql.NewConnector(cfg)
}

// observe notes what the server presented.
func (c *connector) observe(s tls.ConnectionState) error {
	if s.DidResume {
		c.resumed.Add(1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = s
	return nil
}

// wrongTLS describes how what was presented differs from the arm, "" when it does not.
func (c *connector) wrongTLS(wanted bool) string {
	if !wanted {
		return ""
	}
	if len(c.seen.PeerCertificates) == 0 {
		return "the arm wants TLS and none was spoken"
	}
	algorithm, size := keyOf(c.seen.PeerCertificates[0])
	if c.spec.KeyAlgorithm != "" && (algorithm != c.spec.KeyAlgorithm || size != c.spec.KeySize) {
		return fmt.Sprintf("the server presented a key of %s %d, and the arm wants %s %d", algorithm, size,
			c.spec.KeyAlgorithm, c.spec.KeySize)
	}
	return ""
}

// next connects to the hosts in turn.
func (c *connector) next(ctx context.Context, n int64, _ int) error {
	return c.once(ctx, int(n)%len(c.hosts))
}

// once connects, asks if it is to, and disconnects.
func (c *connector) once(ctx context.Context, host int) error {
	conn, err := c.hosts[host].Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if c.spec.NoQuery {
		return nil
	}
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, "SELECT 1", nil)
	if err != nil {
		return err
	}
	return rows.Close()
}

func (c *connector) result(wall time.Duration) *result.ConnectResult {
	return &result.ConnectResult{Paced: c.paced(wall), Presented: presented(c.seen), Connections: int64(len(c.took)),
		Resumption: c.resumption, Resumed: c.resumed.Load()}
}

// presented is what was seen of a server in the handshake.
func presented(s tls.ConnectionState) (p result.Presented) {
	if len(s.PeerCertificates) == 0 {
		return p
	}
	algorithm, size := keyOf(s.PeerCertificates[0])
	p.Protocol, p.Cipher, p.Key = tls.VersionName(s.Version), tls.CipherSuiteName(s.CipherSuite),
		fmt.Sprintf("%s %d", algorithm, size)
	for name, group := range groups {
		if group == s.CurveID {
			p.KeyExchange = name
		}
	}
	return p
}

// keyOf returns the algorithm of a certificate's key, and its size in bits.
func keyOf(c *x509.Certificate) (algorithm string, size int) {
	switch k := c.PublicKey.(type) {
	case *rsa.PublicKey:
		return "RSA", k.N.BitLen()
	case *ecdsa.PublicKey:
		return "ECDSA", k.Curve.Params().BitSize
	}
	return c.PublicKeyAlgorithm.String(), 0
}
