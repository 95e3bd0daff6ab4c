package wsrep

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

// Conn is a connection to a mariadbd on its unix socket. It is safe for concurrent use.
type Conn struct {
	connector driver.Connector
	db        *sql.DB
	user      string
	// altering is held while an event is changed: the connections of two changes would be more than there are.
	altering sync.Mutex
}

// queryTimeout bounds every statement: a server that does not answer in time is not known.
const queryTimeout = 5 * time.Second

// Open prepares connections to the server behind the socket as the given passwordless account. It does
// not connect yet.
func Open(socket, user string) (*Conn, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = user, "unix", socket
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = queryTimeout, 2*queryTimeout, queryTimeout
	cfg.Logger = log.New(io.Discard, "", 0) // every error is returned as well
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(7) // one is that of accounts.Own, three change an event
	db.SetMaxIdleConns(1)
	return &Conn{connector: connector, db: db, user: user}, nil
}

// DB returns the pool of connections.
func (c *Conn) DB() *sql.DB { return c.db }

// Close closes all connections.
func (c *Conn) Close() { _ = c.db.Close() }

// Status reads the status. It works on a non-Primary node, too.
func (c *Conn) Status(ctx context.Context) (Status, error) {
	v, err := c.show(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('"+strings.Join(statusNames, "','")+"')")
	if err != nil {
		return Status{}, err
	}
	return parseStatus(v), nil
}

// Version returns the server's version.
func (c *Conn) Version(ctx context.Context) (string, error) {
	v, err := c.show(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version')")
	return v["version"], err
}

// show runs a SHOW statement, which works on a non-Primary node where SELECT does not, and returns
// names and values.
func (c *Conn) show(ctx context.Context, query string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	out := map[string]string{}
	err := sqlrows.Each(ctx, c.db, query, nil, func(rows *sql.Rows) error {
		var name, value string
		err := rows.Scan(&name, &value)
		out[name] = value
		return err
	})
	return out, err
}

// SetGlobal sets global variables in order.
func (c *Conn) SetGlobal(ctx context.Context, options []mycnf.Option) error {
	var errs []error
	for _, o := range options {
		if err := c.exec(ctx, fmt.Sprintf("SET GLOBAL %s = %s", o.Key, literal(o.Value))); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.Key, err))
		}
	}
	return errors.Join(errs...)
}

// ReloadProviderTLS makes the Galera provider read its certificate, key and CA again.
func (c *Conn) ReloadProviderTLS(ctx context.Context) error {
	return c.provider(ctx, "socket.ssl_reload", "1", "ON")
}

// FlushTLS makes the server read its certificate, key and CA again. A non-Primary node refuses.
func (c *Conn) FlushTLS(ctx context.Context) error { return c.exec(ctx, "FLUSH SSL") }

// Bootstrap makes a non-Primary component Primary.
func (c *Conn) Bootstrap(ctx context.Context) error {
	return c.provider(ctx, "pc.bootstrap", "1", "ON")
}

// Evict evicts the server of that wsrep_gcomm_uuid from the group (evs.evict).
func (c *Conn) Evict(ctx context.Context, nodeUUID string) error {
	return c.provider(ctx, "evs.evict", nodeUUID, literal(nodeUUID))
}

// ForgetEvicted makes this member forget all servers that were evicted.
func (c *Conn) ForgetEvicted(ctx context.Context) error {
	return c.provider(ctx, "evs.evict", "", "''")
}

// SetSendWindows sets evs.send_window and evs.user_send_window. Galera refuses a user's window larger than the other
// one, so the order depends on what is in force: when the first cannot be set yet, it is set again after the second.
func (c *Conn) SetSendWindows(ctx context.Context, w agentapi.SendWindows) error {
	set := func(option string, value int) error {
		return c.provider(ctx, option, strconv.Itoa(value), strconv.Itoa(value))
	}
	first := set("evs.send_window", w.SendWindow)
	second := set("evs.user_send_window", w.UserSendWindow)
	if first != nil {
		first = set("evs.send_window", w.SendWindow)
	}
	return errors.Join(first, second)
}

// How a server reports that wsrep_provider_options cannot be set, because each option has a variable of its own.
const (
	// errReadOnly is ER_INCORRECT_GLOBAL_LOCAL_VAR: "… is a read only variable".
	errReadOnly = 1238
	// errArguments is ER_WRONG_ARGUMENTS: "… cannot be changed while the wsrep-provider plugin is loaded", as later
	// releases of the same series report (seen with 11.8 as Debian has it in November 2026).
	errArguments = 1210
)

// provider sets a provider option. Servers whose wsrep_provider plugin is active (11.4 and later) have
// a typed variable for each option, and wsrep_provider_options is read-only.
func (c *Conn) provider(ctx context.Context, option, text, typed string) error {
	err := c.exec(ctx, fmt.Sprintf("SET GLOBAL wsrep_provider_options = '%s=%s'", option, text))
	if n := sqlrows.ErrorNumber(err); n == errReadOnly || n == errArguments {
		err = c.exec(ctx, fmt.Sprintf("SET GLOBAL wsrep_provider_%s = %s", strings.ReplaceAll(option, ".", "_"), typed))
	}
	return err
}

// Refusal is the server's answer to a login or a question that it does not take, "" for any other error: it runs then,
// and is not silent.
func Refusal(err error) string {
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) {
		return ""
	}
	return refused.Error()
}

// commitTimeout is how long commits that are in progress are left to end by themselves.
const commitTimeout = 100 * time.Millisecond

// CloseAll refuses queries from now on, and a moment later ends the connections of all clients: one that is killed in
// the middle of a commit would have to be replayed. A mariadbd that stops waits a whole second when it still has a
// client (wsrep_close_client_connections), and one whose session is part of replication is one: the session
// that asks leaves it first.
func (c *Conn) CloseAll(ctx context.Context) error {
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }() // this session must not be used again
	for _, statement := range []string{"SET SESSION wsrep_on = OFF", "SET GLOBAL wsrep_reject_queries = ALL"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(commitTimeout):
	}
	_, err = conn.ExecContext(ctx, "SET GLOBAL wsrep_reject_queries = ALL_KILL")
	return err
}

func (c *Conn) exec(ctx context.Context, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	_, err := c.db.ExecContext(ctx, statement)
	return err
}

// literal quotes a value for SET; plain words and numbers go as they are.
func literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// Zones returns the comment of the tables of time zones, and the databases whose names begin with a prefix.
func (c *Conn) Zones(ctx context.Context, prefix string) (comment string, databases []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err = c.db.QueryRowContext(ctx, "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mysql' "+
		"AND TABLE_NAME = 'time_zone_name'").Scan(&comment)
	if err != nil {
		return "", nil, err
	}
	found, err := sqlrows.Texts(ctx, c.db, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE "+
		"LEFT(SCHEMA_NAME, CHAR_LENGTH("+literal(prefix)+")) = "+literal(prefix))
	for _, row := range found {
		databases = append(databases, row[0])
	}
	return comment, databases, err
}
