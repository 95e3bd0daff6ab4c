//go:build integration

package agent_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// database is a way to the node over the network, as root; no encryption without a config.
func (n *node) database(password string, encryption *tls.Config) *sql.DB {
	n.w.t.Helper()
	return sql.OpenDB(got(mysql.NewConnector(n.config(password, encryption)))(n.w.t))
}

func (n *node) config(password string, encryption *tls.Config) *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr = "root", password, "tcp", net.JoinHostPort(n.ip, "3306")
	c.MultiStatements, c.Timeout, c.TLS = true, 10*time.Second, encryption
	return c
}

// unverified is for what is not about the certificate.
func unverified() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
}

// login logs in as root.
func (n *node) login(password string) error {
	n.w.t.Helper()
	db := n.database(password, unverified())
	defer func() { _ = db.Close() }()
	return db.Ping()
}

// session is one connection, to a node that has applied what others have committed.
func (n *node) session() *sql.Conn {
	n.w.t.Helper()
	n.catchUp()
	db := n.database(rootPassword, unverified())
	n.w.t.Cleanup(func() { _ = db.Close() })
	return got(db.Conn(context.Background()))(n.w.t)
}

// sql runs statements on a connection of their own, over TLS with the node's name verified. It returns what they
// select: columns are divided by tabs, rows by ends of lines.
func (n *node) sql(statements string) (string, error) {
	n.w.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(n.w.root.pem)
	return n.query(statements, &tls.Config{RootCAs: roots, ServerName: n.name, MinVersion: tls.VersionTLS12})
}

// plainSQL is sql without TLS.
func (n *node) plainSQL(statements string) (string, error) {
	n.w.t.Helper()
	return n.query(statements, nil)
}

// refusesPlaintext fails unless the server itself turns away a login without TLS.
func (n *node) refusesPlaintext() error {
	n.w.t.Helper()
	_, err := n.plainSQL("SELECT 1")
	var refused *mysql.MySQLError
	switch {
	case err == nil:
		return errors.New("a login without TLS went through")
	case !errors.As(err, &refused):
		return fmt.Errorf("a login without TLS is not refused by the server, but: %w", err)
	}
	return nil
}

func (n *node) query(statements string, encryption *tls.Config) (string, error) {
	n.w.t.Helper()
	db := n.database(rootPassword, encryption)
	defer func() { _ = db.Close() }()
	rows, err := db.Query(statements)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	var lines []string
	for more := true; more; more = rows.NextResultSet() {
		found, err := readLines(rows)
		if err != nil {
			return "", err
		}
		lines = append(lines, found...)
	}
	return strings.Join(lines, "\n"), rows.Err()
}

func readLines(rows *sql.Rows) (lines []string, err error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		words := make([]string, len(columns))
		for i, v := range values {
			if words[i] = v.String; !v.Valid {
				words[i] = "NULL"
			}
		}
		lines = append(lines, strings.Join(words, "\t"))
	}
	return lines, rows.Err()
}

// catchUp waits until the node has applied what other nodes had committed before. It gives up after fifteen seconds,
// and where the node cannot: an applier that is blocked, and a node outside of the Primary component, are what some
// tests are about.
func (n *node) catchUp() {
	n.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	c := n.config(rootPassword, unverified())
	c.AllowFallbackToPlaintext = true
	db := sql.OpenDB(got(mysql.NewConnector(c))(n.w.t))
	defer func() { _ = db.Close() }()
	_, _ = db.ExecContext(ctx, "SET wsrep_sync_wait = 1; SELECT 1")
}

// mustSQL is sql with statements that work, on a node that has applied what others have committed.
func (n *node) mustSQL(statements string) string {
	n.w.t.Helper()
	n.catchUp()
	out, err := n.sql(statements)
	if err != nil {
		n.w.t.Fatalf("%s: %s: %v", n.name, statements, err)
	}
	return out
}
