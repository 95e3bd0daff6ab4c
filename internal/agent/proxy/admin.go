package proxy

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

const (
	adminUser = "agent"
	// adminTimeout bounds one statement: an admin interface that does not answer in time is not known.
	adminTimeout = 5 * time.Second
)

// admin is ProxySQL's admin interface.
type admin struct{ db *sql.DB }

func openAdmin(socket, password string) (admin, error) {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr = adminUser, password, "unix", socket
	c.Timeout, c.ReadTimeout, c.WriteTimeout = adminTimeout, adminTimeout, adminTimeout
	c.MaxAllowedPacket = 16 << 20         // ProxySQL's admin has no variable to ask for
	c.Logger = log.New(io.Discard, "", 0) // every error is returned as well
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return admin{}, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(2)
	db.SetMaxIdleConns(1)
	return admin{db}, nil
}

// run carries out statements one after the other.
func (a admin) run(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		ctx, cancel := context.WithTimeout(ctx, adminTimeout)
		_, err := a.db.ExecContext(ctx, s)
		cancel()
		if err != nil {
			what, _, _ := strings.Cut(s, " VALUES") // rows have hashes
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// table reads rows of text.
func (a admin) table(ctx context.Context, query string) ([][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	return sqlrows.Texts(ctx, a.db, query)
}

// counters are ProxySQL's own.
func (a admin) counters(ctx context.Context) (map[string]string, error) {
	rows, err := a.table(ctx, "SELECT variable_name, variable_value FROM stats_mysql_global")
	out := map[string]string{}
	for _, r := range rows {
		out[r[0]] = r[1]
	}
	return out, err
}

// serving are the states of a server, the one that takes most statements last: a node is in two groups.
var serving = []string{"OFFLINE_HARD", "OFFLINE_SOFT", "SHUNNED_REPLICATION_LAG", "SHUNNED", "ONLINE"}

// pools are the connections to the nodes, by address, of the group that each of them serves in.
func (a admin) pools(ctx context.Context) (map[string]agentapi.ProxyPool, error) {
	rows, err := a.table(ctx, "SELECT srv_host, status, ConnUsed, ConnFree, Queries, ConnERR, ConnOK FROM "+
		"stats_mysql_connection_pool")
	out := map[string]agentapi.ProxyPool{}
	for _, r := range rows {
		p := out[r[0]]
		if slices.Index(serving, r[1]) > slices.Index(serving, p.Status) {
			p.Status = r[1]
		}
		p.Used += integer(r[2])
		p.Free += integer(r[3])
		p.Queries += integer(r[4])
		p.Errors += integer(r[5])
		p.Opened += integer(r[6])
		out[r[0]] = p
	}
	return out, err
}

// waiting is how many clients wait for a connection to a node.
func (a admin) waiting(ctx context.Context) (int64, error) {
	rows, err := a.table(ctx, "SELECT COUNT(*) FROM stats_mysql_processlist WHERE command='Connect' AND user IS NOT NULL "+
		"AND srv_host IS NULL")
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return integer(rows[0][0]), nil
}

// busy is how many clients wait for an answer or are in a transaction.
func (a admin) busy(ctx context.Context) (int64, error) {
	rows, err := a.table(ctx, "SELECT COUNT(*) FROM stats_mysql_processlist WHERE command<>'Sleep'")
	if err != nil {
		return 0, err
	}
	counters, err := a.counters(ctx)
	if err != nil {
		return 0, err
	}
	return integer(rows[0][0]) + integer(counters["Active_Transactions"]), nil
}

func integer(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // ProxySQL's own numbers
	return n
}
