// Package external copies a running MariaDB server, the source, into another one, the target: all tables as they were
// at one moment, in parallel, and compared table by table at the end. The Jobs of spec.bootstrapFrom.external use it.
//
// What a source must be like is decided by Check, which is pure. Everything else asks one of the two servers.
package external

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	dialTimeout = 10 * time.Second
	// answerTimeout bounds a single answer of a server: a digest of a large table takes long.
	answerTimeout = 6 * time.Hour
)

// Server is where the source is, and how to log in there.
type Server struct {
	Host           string
	Port           int
	User, Password string
	// Plain connects without TLS. Otherwise the server's certificate is verified by CA, in PEM, and names Host if Identity
	// is set.
	Plain    bool
	CA       []byte
	Identity bool
}

// Open returns connections to the source whose sessions return every value as it is stored.
func (s Server) Open() (*sql.DB, error) { return s.open(sourceSession, Supported) }

// OpenTarget returns connections to a target elsewhere. Its sessions see what every node has written.
func (s Server) OpenTarget() (*sql.DB, error) {
	return s.open(append(slices.Clone(targetSession), seesAll), nil)
}

func (s Server) open(session []string, suits func(string) error) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net = s.User, s.Password, "tcp"
	cfg.Addr = net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = dialTimeout, answerTimeout, answerTimeout
	cfg.Logger = log.New(io.Discard, "", 0) // every error is returned as well
	if s.Plain {
		if err := encryptForNobody(); err != nil {
			return nil, err
		}
		cfg.ServerPubKey = throwAway
	} else {
		verify, err := s.verify()
		if err != nil {
			return nil, err
		}
		cfg.TLS = verify
	}
	return open(cfg, session, suits)
}

// OpenSource returns connections to a source on its socket.
func OpenSource(socket, user, password string) (*sql.DB, error) {
	return openSocket(socket, user, password, sourceSession, Supported)
}

// OpenTarget returns connections to the target, on its socket.
func OpenTarget(socket, user, password string) (*sql.DB, error) {
	return openSocket(socket, user, password, targetSession, nil)
}

func openSocket(socket, user, password string, session []string, suits func(string) error) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = user, password, "unix", socket
	cfg.Logger = log.New(io.Discard, "", 0)
	return open(cfg, session, suits)
}

func open(cfg *mysql.Config, session []string, suits func(string) error) (*sql.DB, error) {
	cfg.MaxAllowedPacket = 0 // what the server allows
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(prepared{c, session, suits}), nil
}

// verify is the TLS of the connections: with or without the name in the certificate.
func (s Server) verify() (*tls.Config, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(s.CA) {
		return nil, errors.New("the CA holds no certificate in PEM")
	}
	if s.Identity {
		return &tls.Config{RootCAs: pool, ServerName: s.Host, MinVersion: tls.VersionTLS12}, nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // the chain is verified here, the name is not asked for
		VerifyConnection: func(c tls.ConnectionState) error {
			rest := x509.NewCertPool()
			for _, cert := range c.PeerCertificates[1:] {
				rest.AddCert(cert)
			}
			_, err := c.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: rest})
			return err
		}}, nil
}

// sourceSession makes the answers independent of the source's settings: times are in UTC, and SHOW CREATE writes all
// options. Its transactions read one snapshot, and are not ended for being idle.
var sourceSession = []string{
	"SET NAMES utf8mb4",
	"SET SESSION time_zone = '+00:00', sql_mode = '', sql_quote_show_create = 1, max_statement_time = 0, " +
		"wait_timeout = 604800, net_write_timeout = 86400, net_read_timeout = 3600, idle_transaction_timeout = 0, " +
		"idle_readonly_transaction_timeout = 0, lock_wait_timeout = 1",
	"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
}

// targetSession takes what the source holds as it is: what is then stored is compared with the source, so that nothing
// needs to be refused here.
var targetSession = []string{
	"SET NAMES utf8mb4",
	"SET SESSION time_zone = '+00:00', foreign_key_checks = 0, check_constraint_checks = 0, innodb_strict_mode = 0, " +
		"max_statement_time = 0, wait_timeout = 604800, " +
		"sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_DIR_IN_CREATE,NO_ENGINE_SUBSTITUTION'",
}

// seesAll has each statement wait for what other nodes of a cluster have written: the Service of the primary may lead
// to another node after a failure.
const seesAll = "SET SESSION wsrep_sync_wait = 15"

// quiet runs a statement whose variable some series do not have.
func quiet(ctx context.Context, c *sql.Conn, statement string) error {
	_, err := c.ExecContext(ctx, statement)
	if code(err) == errUnknownVariable {
		return nil
	}
	return err
}

// Numbers of errors of MariaDB.
const (
	errAccessDenied    = 1045
	errLockWait        = 1205
	errNoSuchTable     = 1146
	errNoSuchRoutine   = 1305
	errUnknownVariable = 1193
	errTableChanged    = 1412
	errUnknownColumn   = 1054
	errSyntax          = 1064
	errDiskFull        = 1021
	errTableFull       = 1114
	errPacketTooLarge  = 1153
	errNodeNotReady    = 1047
	errPrivilege       = 1227
)

// code is the number of a server's error, 0 for other errors.
func code(err error) int {
	var answer *mysql.MySQLError
	if errors.As(err, &answer) {
		return int(answer.Number)
	}
	return 0
}

// DiskFull reports whether a server had no space left.
func DiskFull(err error) bool { return code(err) == errDiskFull || code(err) == errTableFull }

// tooLarge reports whether a statement was longer than a server takes.
func tooLarge(err error) bool {
	return code(err) == errPacketTooLarge || errors.Is(err, mysql.ErrPktTooLarge)
}

// Unreachable reports whether an error says nothing about what the source holds: it did not answer, or the connection
// broke.
func Unreachable(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}

// Refused reports whether the source answered, and refused the login or its certificate is not trusted.
func Refused(err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	switch code(err) {
	case errAccessDenied, 1044, 1129, 1130, 1698, 1524:
		return true
	}
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &verification) || errors.Is(err, mysql.ErrNoTLS)
}

// row returns the first row of an answer, by the names of its columns.
func row(ctx context.Context, c *sql.Conn, query string) (out map[string]sql.NullString, err error) {
	err = eachNamed(ctx, c, query, func(v map[string]sql.NullString) {
		if out == nil {
			out = v
		}
	})
	if err == nil && out == nil {
		err = fmt.Errorf("no answer to %s", query)
	}
	return out, err
}

// eachNamed calls take for each row of an answer, by the names of its columns.
func eachNamed(ctx context.Context, c *sql.Conn, query string, take func(v map[string]sql.NullString)) error {
	return scan(ctx, c, query, nil, func(names []string, values []sql.NullString) error {
		v := make(map[string]sql.NullString, len(names))
		for i, name := range names {
			v[strings.ToLower(name)] = values[i]
		}
		take(v)
		return nil
	})
}

// each calls take for each row of strings of an answer.
func each(ctx context.Context, c *sql.Conn, query string, take func(v []string)) error {
	return Each(ctx, c, query, nil, func(v []string) error {
		take(v)
		return nil
	})
}

// Querier is a connection, a pool of connections or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Each calls take for each row of an answer, NULL as an empty string, until take fails.
func Each(ctx context.Context, c Querier, query string, args []any, take func(v []string) error) error {
	return scan(ctx, c, query, args, func(_ []string, values []sql.NullString) error {
		v := make([]string, len(values))
		for i := range values {
			v[i] = values[i].String
		}
		return take(v)
	})
}

// scan calls take with the columns' names and the values of each row of an answer, until take fails. The next row has
// the same values in memory.
func scan(ctx context.Context, c Querier, query string, args []any,
	take func(names []string, values []sql.NullString) error) error {
	rows, err := c.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, to := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if err := take(names, values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ident quotes an identifier.
func ident(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

// text quotes a string for a session without NO_BACKSLASH_ESCAPES.
func text(s string) string { return string(appendText(nil, []byte(s))) }

func list(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = text(n)
	}
	return strings.Join(quoted, ", ")
}
