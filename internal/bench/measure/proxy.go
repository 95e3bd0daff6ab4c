package measure

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

const (
	// proxyTime is how long the proxy may take to listen: its container was started before this one.
	proxyTime = time.Minute
	proxyPace = 100 * time.Millisecond
)

// loadTime is what a GaleraProxy has to learn of the benchmark's account.
const loadTime = 2 * time.Minute

// connectPooled measures connections to a proxy, and counts those that the database gets meanwhile: a proxy alongside
// this program, or the Service of a GaleraProxy, which speaks TLS with its clients.
func (r connecting) connectPooled(ctx context.Context) error {
	// The key the servers present is not seen through the proxy, which is asked for nothing until they have the arm's.
	if _, err := r.settled(ctx, route{}); err != nil {
		return err
	}
	spoken, err := proxied(r).await(ctx)
	if err != nil {
		return err
	}
	w := route{service: r.plan.Service, pooled: true}
	if r.plan.Proxy != "" {
		w.network, w.address = "unix", r.plan.Proxy
	}
	return r.withDB(r.plan.Hosts[0], func(db *sql.DB) error {
		w.opened = func(ctx context.Context) (float64, error) { return connectionsTaken(ctx, db) }
		if err := r.connections(ctx, w); err != nil {
			return err
		}
		r.out.Connect.Protocol, r.out.Connect.Cipher = spoken.version, spoken.cipher
		return nil
	})
}

// proxied is a run through a proxy, if it is one.
type proxied struct{ *runner }

// await waits for the proxy of the run, and returns what that speaks with the database. It is shown to be what
// the arm says.
func (r proxied) await(ctx context.Context) (spoken backend, err error) {
	if socket := r.plan.Proxy; socket != "" {
		if err := awaitProxy(ctx, socket, proxyTime); err != nil {
			return spoken, err
		}
		if spoken, err = r.behind(ctx); err != nil {
			return spoken, fmt.Errorf("through the proxy: %w", err)
		}
		r.sidecar = transport.UsageSocket(filepath.Dir(socket))
		return spoken, nil
	}
	loading, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	if err := await(loading, keyPace, func() (_ string, err error) {
		spoken, err = r.behind(ctx)
		return inWords(err), nil
	}); err != nil {
		return spoken, fmt.Errorf("through the GaleraProxy: %w", err)
	}
	return spoken, nil
}

// usage returns what the proxy of a run has used so far: the container alongside, or all pods of a GaleraProxy.
func (r proxied) usage(ctx context.Context) (u result.Usage, err error) {
	if r.sidecar != "" {
		return sidecarUsage(ctx, r.sidecar)
	}
	for name, s := range (agents{members: r.plan.ProxyPods, client: r.agents.client}).samples(ctx) {
		if s == nil {
			return u, fmt.Errorf("the pod %s of the GaleraProxy does not report what it has used", name)
		}
		u.CPUSeconds += s[result.MetricProxyCPU]
		u.MemoryBytes += s[result.MetricProxyMemory]
	}
	return u, nil
}

// memory returns the most that the proxy of a run was seen to use until ctx ended.
func (r proxied) memory(ctx context.Context) (most float64) {
	tick := time.NewTicker(loadPace)
	defer tick.Stop()
	for {
		if u, err := r.usage(ctx); err == nil {
			most = max(most, u.MemoryBytes)
		}
		select {
		case <-ctx.Done():
			return most
		case <-tick.C:
		}
	}
}

// connectionsTaken is the server's own counter. It has the agent's connections as well, which are few.
func connectionsTaken(ctx context.Context, db *sql.DB) (n float64, err error) {
	var name string
	if err := db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Connections'").Scan(&name, &n); err != nil {
		return 0, fmt.Errorf("asking how many connections the database has taken: %w", err)
	}
	return n, nil
}

// awaitProxy waits until the proxy listens.
func awaitProxy(ctx context.Context, socket string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := await(ctx, proxyPace, func() (string, error) {
		return inWords(dialOnce(ctx, "unix", socket)), nil
	}); err != nil {
		return fmt.Errorf("the proxy did not answer within %s; its image must have ProxySQL 2 as the program proxysql: %w",
			patience, err)
	}
	return nil
}

// dialOnce reports whether something listens.
func dialOnce(ctx context.Context, network, address string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// backend is what a proxy speaks with the database: "" for no TLS.
type backend struct{ version, cipher string }

// behind asks the database what the proxy speaks with it; another thing than the arm says is an error.
func (r proxied) behind(ctx context.Context) (b backend, err error) {
	cfg, err := r.mysqlConfig(cmp.Or(r.plan.Service, r.plan.Hosts[0]))
	if err != nil {
		return b, err
	}
	if r.plan.Proxy != "" {
		cfg.Net, cfg.Addr, cfg.TLS = "unix", r.plan.Proxy, nil
	}
	if err := with(cfg, func(db *sql.DB) error {
		for name, value := range map[string]*string{"Ssl_version": &b.version, "Ssl_cipher": &b.cipher} {
			if err := db.QueryRowContext(ctx, "SHOW SESSION STATUS LIKE '"+name+"'").Scan(&name, value); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return b, err
	}
	return b, b.wrong(r.plan.TLS)
}

// wrong describes how a proxy's connections differ from the arm.
func (b backend) wrong(wanted bool) error {
	switch encrypted := b.cipher != ""; {
	case wanted && !encrypted:
		return errors.New("the arm wants TLS, and the proxy speaks none with the database")
	case !wanted && encrypted:
		return fmt.Errorf("the arm wants no TLS, and the proxy speaks %s with the database", b.version)
	}
	return nil
}
