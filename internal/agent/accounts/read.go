package accounts

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

// Numbers of the server's errors (include/mysqld_error.h in MariaDB's source).
const (
	errNoDatabase = 1049
	errNoColumn   = 1054
	errNoGrants   = 1141
	errNoTable    = 1146
	errNoPlugin   = 1524
	errNoRoutine  = 1305
	errNoRole     = 1959
)

// session is one connection with settings under which quoting and SHOW mean what this package thinks they do.
type session struct {
	*sql.Conn
	// folds reports whether the server keeps the names of databases and tables in lower case.
	folds bool
}

func open(ctx context.Context, db *sql.DB) (session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return session{}, err
	}
	s := session{Conn: conn}
	// With wsrep_sync_wait it reads what the cluster has committed, also right after the role of the primary has moved.
	if _, err := conn.ExecContext(ctx,
		"SET SESSION sql_mode = '', sql_quote_show_create = 1, wsrep_sync_wait = 1"); err != nil {
		s.close()
		return session{}, err
	}
	row, err := s.first(ctx, "SELECT @@lower_case_table_names")
	if err != nil {
		s.close()
		return session{}, err
	}
	s.folds = row[0] == "1"
	return s, nil
}

// close ends the connection: its settings are for no one else, and a server that is not Primary must answer the agent
// all the same.
func (s session) close() {
	_ = s.Raw(func(any) error { return driver.ErrBadConn })
}

// name is a database's or a table's as the server keeps it.
func (s session) name(of string) string {
	if s.folds {
		return strings.ToLower(of)
	}
	return of
}

func (s session) names(of []agentapi.SQLGrant) []agentapi.SQLGrant {
	out := slices.Clone(of)
	for i := range out {
		out[i].Database, out[i].Table = s.name(out[i].Database), s.name(out[i].Table)
	}
	return out
}

// first returns the first row's columns as text, nil when there is none.
func (s session) first(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := s.rows(ctx, query, args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

func (s session) rows(ctx context.Context, query string, args ...any) ([][]string, error) {
	return sqlrows.Texts(ctx, s, query, args...)
}

// user reads an account, nil when there is none.
func (s session) user(ctx context.Context, name, host string) (*have, error) {
	row, err := s.first(ctx, "SELECT Priv FROM mysql.global_priv WHERE User = ? AND Host = ?", name, host)
	if err != nil || row == nil {
		return nil, err
	}
	h := &have{}
	if h.login, err = parseLogin(row[0]); err != nil {
		return nil, err
	}
	lines, err := s.rows(ctx, "SHOW GRANTS FOR "+account(name, host))
	if sqlrows.ErrorNumber(err) == errNoGrants {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l[0]
	}
	h.shownGrants, err = parseGrants(texts)
	return h, err
}

// schema reads a database, nil when there is none.
func (s session) schema(ctx context.Context, name string) (*schema, error) {
	rows, err := s.rows(ctx,
		"SELECT schema_name, default_character_set_name, default_collation_name FROM information_schema.schemata WHERE "+
			"schema_name = ?", name)
	for _, r := range rows {
		if r[0] == name { // the server's comparison minds no case
			return &schema{r[1], r[2]}, err
		}
	}
	return nil, err
}
