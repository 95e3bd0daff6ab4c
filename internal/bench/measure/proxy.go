package measure

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

const (
	// proxyTime is how long the proxy may take to listen: its container was started before this one.
	proxyTime = time.Minute
	proxyPace = 100 * time.Millisecond
)

// connectPooled measures connections to a pooling proxy alongside this program, once it is shown that what
// the proxy speaks with the database is what the arm says.
func (r connecting) connectPooled(ctx context.Context, socket string) error {
	// The key the servers present is not seen through the proxy, which is asked for nothing until they have the arm's.
	if _, err := r.settled(ctx, route{}); err != nil {
		return err
	}
	if err := awaitProxy(ctx, socket, proxyTime); err != nil {
		return err
	}
	w := route{network: "unix", address: socket, pooled: true}
	spoken, err := r.behind(ctx, w)
	if err != nil {
		return fmt.Errorf("through the proxy: %w", err)
	}
	r.sidecar = transport.UsageSocket(filepath.Dir(socket))
	return r.pooled(ctx, w, spoken)
}

// loadTime is what a proxy has to learn of the benchmark's account.
const loadTime = 2 * time.Minute

// connectService measures connections to the Service of a GaleraProxy, with TLS, which the proxy speaks with the
// database, too.
func (r connecting) connectService(ctx context.Context, host string) error {
	if _, err := r.settled(ctx, route{}); err != nil {
		return err
	}
	w := route{service: host, pooled: true}
	var spoken backend
	loading, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	if err := await(loading, keyPace, func() (_ string, err error) {
		spoken, err = r.behind(ctx, w)
		return inWords(err), nil
	}); err != nil {
		return fmt.Errorf("through the GaleraProxy: %w", err)
	}
	return r.pooled(ctx, w, spoken)
}

// pooled measures connections to a proxy, and counts those that the database gets meanwhile.
func (r connecting) pooled(ctx context.Context, w route, spoken backend) error {
	return r.withDB(r.plan.Hosts[0], func(db *sql.DB) error {
		w.opened = func(ctx context.Context) (float64, error) { return connectionsTaken(ctx, db) }
		if err := r.connections(ctx, w); err != nil {
			return err
		}
		r.out.Connect.Protocol, r.out.Connect.Cipher = spoken.version, spoken.cipher
		return nil
	})
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
func (r connecting) behind(ctx context.Context, w route) (b backend, err error) {
	c := &connector{spec: *r.plan.Connect, route: w}
	one, err := c.to(r.runner, r.plan.Hosts[0])
	if err != nil {
		return b, err
	}
	db := sql.OpenDB(one)
	defer func() { _ = db.Close() }()
	for name, value := range map[string]*string{"Ssl_version": &b.version, "Ssl_cipher": &b.cipher} {
		if err := db.QueryRowContext(ctx, "SHOW SESSION STATUS LIKE '"+name+"'").Scan(&name, value); err != nil {
			return b, err
		}
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
