package measure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

const (
	clientPort = "3306"
	dialTime   = 10 * time.Second
)

// tlsConfig verifies chain and name against the cluster's CA; nil where clients speak no TLS.
func (r *target) tlsConfig(host string) (*tls.Config, error) {
	if !r.plan.TLS {
		return nil, nil
	}
	text, err := os.ReadFile(r.ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("there is no certificate in the cluster's CA")
	}
	return &tls.Config{RootCAs: pool, ServerName: host, MinVersion: tls.VersionTLS12}, nil
}

// mysqlConfig prepares connections to one host.
func (r *target) mysqlConfig(host string) (*mysql.Config, error) {
	c, err := r.tlsConfig(host)
	if err != nil {
		return nil, err
	}
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = r.plan.User, r.password, "tcp", net.JoinHostPort(host, clientPort)
	cfg.Timeout, cfg.TLS = dialTime, c
	cfg.Logger = log.New(io.Discard, "", 0) // every error is returned as well
	return cfg, nil
}

// withDB does something on one node.
func (r *target) withDB(host string, do func(*sql.DB) error) error {
	cfg, err := r.mysqlConfig(host)
	if err != nil {
		return err
	}
	return with(cfg, do)
}

// with does something on one connection.
func with(cfg *mysql.Config, do func(*sql.DB) error) error {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	return do(db)
}

// emptyDatabases removes what an interrupted attempt has left, and checks whether there is space: what was left has its
// share of the disk.
func (r *runner) emptyDatabases(ctx context.Context) error {
	if err := r.dropTables(ctx); err != nil {
		return fmt.Errorf("removing what was left of the test data: %w", err)
	}
	return r.checkDisk(ctx)
}

// trustTime is what the nodes have to load the CA of the client's certificate, which was made for it.
const trustTime = 2 * time.Minute

// awaitTrust waits until every node accepts the client's certificate, which sysbench presents.
func (r *target) awaitTrust(ctx context.Context) error {
	if !r.plan.TLS {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(result.ClientCertDir, "tls.crt"),
		filepath.Join(result.ClientCertDir, "tls.key"))
	if err != nil {
		return fmt.Errorf("the client's certificate: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, trustTime)
	defer cancel()
	for _, m := range r.plan.Members {
		cfg, err := r.mysqlConfig(m.Host)
		if err != nil {
			return err
		}
		cfg.TLS.Certificates = []tls.Certificate{pair}
		if err := await(ctx, time.Second, func() (string, error) { return refusal(ctx, m.Name, cfg), nil }); err != nil {
			return err
		}
	}
	return nil
}

// refusal is why a node refuses a connection, "" when it does not.
func refusal(ctx context.Context, name string, cfg *mysql.Config) string {
	if err := with(cfg, func(db *sql.DB) error { return db.PingContext(ctx) }); err != nil {
		return fmt.Sprintf("%s does not accept the client's certificate: %s", name, err)
	}
	return ""
}

// The other nodes remove their files a moment after the one that was asked to.
const (
	diskTime = 20 * time.Second
	diskPace = time.Second
)

// checkDisk refuses before anything is written when a node has not enough space.
func (r *runner) checkDisk(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, diskTime)
	defer cancel()
	return await(ctx, diskPace, func() (string, error) { return r.fullDisk(ctx), nil })
}

// fullDisk names a node without enough space, "" when there is none.
func (r *runner) fullDisk(ctx context.Context) string {
	for name, s := range r.agents.samples(ctx) {
		free, known := s[result.MetricFree]
		if known && free < float64(r.plan.RequiredBytes) {
			return fmt.Sprintf("%s%s has %.0f MB free, and the data set needs some %.0f MB", result.NotEnoughDisk, name,
				free/1e6, float64(r.plan.RequiredBytes)/1e6)
		}
	}
	return ""
}

// dropTables empties the databases of the data set, which the benchmark's GaleraDatabases have made.
func (r *target) dropTables(ctx context.Context) error {
	return r.withDB(r.plan.Members[0].Host, func(db *sql.DB) error {
		for _, database := range r.plan.Data.Names() {
			names, err := tables(ctx, db, database)
			if err != nil {
				return err
			}
			for _, name := range names {
				if _, err := db.ExecContext(ctx, "DROP TABLE "+quoted(database)+"."+quoted(name)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// checksums returns the checksum of all tables, which must be the same on every node.
func (r *target) checksums(ctx context.Context) (string, error) {
	var first string
	for i, m := range r.plan.Members {
		var sum string
		err := r.withDB(m.Host, func(db *sql.DB) (err error) {
			sum, err = checksum(ctx, db, r.plan.Data.Names())
			return err
		})
		if err != nil {
			return "", fmt.Errorf("checksum on %s: %w", m.Name, err)
		}
		if i == 0 {
			first = sum
		}
		if sum != first {
			return "", fmt.Errorf("the nodes' data differ: %s has the checksum %s, %s has %s", r.plan.Members[0].Name, first,
				m.Name, sum)
		}
	}
	return first, nil
}

func checksum(ctx context.Context, db *sql.DB, databases []string) (string, error) {
	// Wait until this node has applied what was written elsewhere.
	if _, err := db.ExecContext(ctx, "SET SESSION wsrep_sync_wait = 15"); err != nil {
		return "", err
	}
	h := fnv.New64a()
	for _, database := range databases {
		names, err := tables(ctx, db, database)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			var table string
			var sum sql.NullInt64
			if err := db.QueryRowContext(ctx, "CHECKSUM TABLE "+quoted(database)+"."+quoted(name)).Scan(&table,
				&sum); err != nil {
				return "", err
			}
			_, _ = fmt.Fprintf(h, "%s=%d;", name, sum.Int64)
		}
	}
	return fmt.Sprintf("%016x", h.Sum64()), nil
}

// checkRows checks that each table has all rows that a run may ask for, with the ids from one on.
func (r *target) checkRows(ctx context.Context) error {
	return r.withDB(r.plan.Members[0].Host, func(db *sql.DB) error {
		want := fmt.Sprintf("1 to %d, %[1]d rows", r.plan.Data.Rows)
		for _, database := range r.plan.Data.Names() {
			names, err := tables(ctx, db, database)
			if err != nil {
				return err
			}
			for _, name := range names {
				var have string
				if err := db.QueryRowContext(ctx, "SELECT CONCAT(COALESCE(MIN(id), 0), ' to ', COALESCE(MAX(id), 0), ', ', "+
					"COUNT(*), ' rows') FROM "+quoted(database)+"."+quoted(name)).Scan(&have); err != nil {
					return err
				}
				if have != want {
					return fmt.Errorf("the test data are not those that are asked for: the ids of %s.%s are %s, not %s", database,
						name, have, want)
				}
			}
		}
		return nil
	})
}

func tables(ctx context.Context, db *sql.DB, database string) ([]string, error) {
	rows, err := db.QueryContext(ctx,
		"SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name", database)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, rows.Err()
}
