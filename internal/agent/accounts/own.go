package accounts

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

const (
	// unixSocket is the plugin of the agent's account: the operating system vouches for it.
	unixSocket = "unix_socket"
	localhost  = "localhost"
	// sysUser is the definer of the server's own views, mysql.user among them.
	sysUser = "mariadb.sys"
	// allRights are the bits of mysql.global_priv.access that every supported server has.
	allRights = 1<<29 - 1

	// hasAllRights is true for a row of mysql.global_priv that has them.
	hasAllRights = "CAST(JSON_VALUE(Priv, '$.access') AS UNSIGNED) & 536870911 = 536870911"

	ownTimeout = 10 * time.Second
	// unreplicated keeps a session's statements on its server. Without wsrep they are carried out on a member without
	// quorum, too.
	unreplicated = "SET SESSION wsrep_on = OFF, sql_log_bin = 0, sql_mode = '', lock_wait_timeout = 3"
)

// Own keeps the account that the agent, state transfers and backups log in with, on one server and without replication:
// a dump of all databases replaces mysql.global_priv on the node that it is imported into, and empties it on the
// others. It is safe for concurrent use.
type Own struct {
	DB *sql.DB
	// User is the account's name.
	User string

	mu sync.Mutex
	// conn stays open: a session keeps its privileges when its account has gone.
	conn *sql.Conn
}

// Keep restores the account where it is gone, or is another one. It returns what was restored, "" when nothing was
// missing.
func (o *Own) Keep(ctx context.Context) (restored string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, ownTimeout)
	defer cancel()
	if o.conn == nil {
		if o.conn, err = o.open(ctx); err != nil {
			return "", err
		}
	}
	restored, err = o.restore(ctx)
	if err != nil && sqlrows.ErrorNumber(err) == 0 { // the connection has ended
		o.close()
	}
	return restored, err
}

// Forget closes the connection to a server that has ended.
func (o *Own) Forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.close()
}

func (o *Own) open(ctx context.Context) (*sql.Conn, error) {
	conn, err := o.DB.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, unreplicated); err != nil {
		session{Conn: conn}.close()
		return nil, err
	}
	return conn, nil
}

func (o *Own) close() {
	if o.conn != nil {
		_ = o.conn.Raw(func(any) error { return driver.ErrBadConn })
		o.conn = nil
	}
}

func (o *Own) restore(ctx context.Context) (string, error) {
	s := session{Conn: o.conn}
	var restored []string
	for _, a := range []struct {
		user string
		ok   func(priv string) bool
		do   []string
		row  string
	}{
		{o.User, mayAll, []string{grantOwn(o.User)}, ownRow},
		{sysUser, func(string) bool { return true }, sysStatements, sysRow},
	} {
		row, err := s.first(ctx, "SELECT Priv FROM mysql.global_priv WHERE User = ? AND Host = ?", a.user, localhost)
		if err != nil {
			return "", err
		}
		if row != nil && a.ok(row[0]) {
			continue
		}
		for _, statement := range a.do {
			if _, err = s.ExecContext(ctx, statement); err != nil {
				break
			}
		}
		if row == nil && (sqlrows.ErrorNumber(err) == errNoUser || sqlrows.ErrorNumber(err) == errPassword) {
			_, err = s.ExecContext(ctx, "INSERT INTO mysql.global_priv (Host, User, Priv) VALUES (?, ?, ?)", localhost, a.user,
				a.row)
		}
		if err != nil {
			return "", fmt.Errorf("restoring %s: %w", account(a.user, localhost), err)
		}
		restored = append(restored, account(a.user, localhost))
	}
	again, err := o.restoreSysGrant(ctx, s)
	if err != nil {
		return "", fmt.Errorf("restoring the grant of %s: %w", account(sysUser, localhost), err)
	}
	if again && len(restored) == 0 {
		restored = append(restored, "the grant of "+account(sysUser, localhost))
	}
	return strings.Join(restored, ", "), nil
}

// restoreSysGrant restores what the definer of the server's own views may do with a table: an import empties the table
// of such grants, too.
func (o *Own) restoreSysGrant(ctx context.Context, s session) (restored bool, err error) {
	row, err := s.first(ctx,
		"SELECT 1 FROM mysql.tables_priv WHERE User = ? AND Host = ? AND Db = 'mysql' AND Table_name = 'global_priv'",
		sysUser, localhost)
	if err != nil || row != nil {
		return false, err
	}
	if _, err = s.ExecContext(ctx, sysGrant); sqlrows.ErrorNumber(err) != errNoUser {
		return err == nil, err
	}
	_, err = s.ExecContext(ctx,
		"INSERT INTO mysql.tables_priv (Host, Db, User, Table_name, Grantor, Table_priv, Column_priv) "+
			"VALUES (?, 'mysql', ?, 'global_priv', 'root@localhost', 'Select,Delete', '')", localhost, sysUser)
	return err == nil, err
}

// errNoUser is ER_PASSWORD_NO_MATCH: the account is in the server's memory, and its row is gone, as after an import
// that no FLUSH PRIVILEGES has followed. No statement about accounts makes the row then.
const errNoUser = 1133

// errPassword is ER_NOT_VALID_PASSWORD: a validation plugin refuses an account without a password, though it is locked.
const errPassword = 1819

// ownRow and sysRow are the rows that mariadb-install-db makes.
const (
	ownRow = `{"access":18446744073709551615,"plugin":"mysql_native_password","authentication_string":"invalid",` +
		`"auth_or":[{},{"plugin":"unix_socket"}]}`
	sysRow = `{"access":0,"plugin":"mysql_native_password","authentication_string":"","account_locked":true,"password_last_changed":0}`
)

// grantOwn makes the account, or repairs it, in memory and in the table.
func grantOwn(user string) string {
	return "GRANT ALL PRIVILEGES ON *.* TO " + account(user, localhost) + " IDENTIFIED VIA " + unixSocket +
		" WITH GRANT OPTION"
}

var (
	sysStatements = []string{"CREATE USER IF NOT EXISTS " + account(sysUser, localhost) + " ACCOUNT LOCK PASSWORD EXPIRE",
		sysGrant}
	sysGrant = "GRANT SELECT, DELETE ON mysql.global_priv TO " + account(sysUser, localhost)
)

// mayAll returns whether an account of mysql.global_priv logs in by the socket, and has all privileges.
func mayAll(priv string) bool {
	type method struct {
		Plugin string `json:"plugin"`
	}
	var p struct {
		method
		Access json.Number `json:"access"`
		Or     []method    `json:"auth_or"`
		Locked bool        `json:"account_locked"`
	}
	if err := json.Unmarshal([]byte(priv), &p); err != nil || p.Locked {
		return false
	}
	var access uint64
	if _, err := fmt.Sscan(p.Access.String(), &access); err != nil || access&allRights != allRights {
		return false
	}
	for _, w := range append(p.Or, p.method) {
		if w.Plugin == unixSocket {
			return true
		}
	}
	return false
}

// InitFile is what a server reads when it starts, before it takes connections: the statements that restore the account
// where it is gone. A server whose tables do not take them starts all the same.
func InitFile(user string) string {
	there := "Host = '" + localhost + "' AND Priv LIKE '%\"" + unixSocket + "\"%' AND " + hasAllRights
	return unreplicated + ";\n" +
		"BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; " +
		"IF NOT EXISTS (SELECT 1 FROM mysql.global_priv WHERE User = " + text(user) + " AND " + there + ") THEN " +
		grantOwn(user) + "; END IF; END;\n"
}
