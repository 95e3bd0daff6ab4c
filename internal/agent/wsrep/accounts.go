package wsrep

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// benchRights are what a benchmark may do in its own databases: what sysbench and its scripts need. There is no right
// beyond them: not to see other clients' queries, nor to give rights away.
var benchRights = []string{"Select", "Insert", "Update", "Delete", "Create", "Drop", "References", "Index", "Alter"}

// benchPattern is what the names of an account's databases are like; the underscores mean themselves.
func benchPattern(a agentapi.BenchAccount) string { return `bench\_%\_` + a.Suffix }

// MakeBenchAccount makes a benchmark's account, or repairs it. It changes nothing, and replicates nothing, when all is
// as it should be. The account may come without TLS where the server lets clients do so: arms differ in that.
func (c *Conn) MakeBenchAccount(ctx context.Context, a agentapi.BenchAccount) (changed bool, err error) {
	if err := a.Check(); err != nil {
		return false, err
	}
	there, err := c.benchAccountExists(ctx, a)
	if there || err != nil {
		return false, err
	}
	who := "`" + a.Name() + "`@'%'"
	for _, statement := range []string{
		"CREATE USER IF NOT EXISTS " + who + " IDENTIFIED BY PASSWORD '" + a.Hash + "'",
		"ALTER USER " + who + " IDENTIFIED BY PASSWORD '" + a.Hash + "'",
		"GRANT " + strings.Join(benchRights, ", ") + " ON `" + benchPattern(a) + "`.* TO " + who,
	} {
		if err := c.exec(ctx, statement); err != nil {
			return true, err
		}
	}
	return true, nil
}

// benchAccountExists reports whether the account has its password and its rights.
func (c *Conn) benchAccountExists(ctx context.Context, a agentapi.BenchAccount) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	rights := make([]string, len(benchRights))
	for i, r := range benchRights {
		rights[i] = "d." + r + "_priv = 'Y'"
	}
	var hash string
	err := c.db.QueryRowContext(ctx,
		"SELECT u.authentication_string FROM mysql.user u JOIN mysql.db d ON d.User = u.User AND d.Host = u.Host"+
			" WHERE u.User = ? AND u.Host = '%' AND d.Db = ? AND "+strings.Join(rights, " AND "), a.Name(), benchPattern(a)).
		Scan(&hash)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil && hash == a.Hash, err
}

// DropBenchAccount drops a benchmark's account and all of its databases: the account first, so that the account makes
// no other one meanwhile.
func (c *Conn) DropBenchAccount(ctx context.Context, a agentapi.BenchAccount) (changed bool, err error) {
	if err := a.Check(); err != nil {
		return false, err
	}
	users, err := c.names(ctx, "SELECT User FROM mysql.user WHERE User = ? AND Host = '%'", a.Name())
	if err != nil {
		return false, err
	}
	for range users {
		changed = true
		if err := c.exec(ctx, "DROP USER IF EXISTS `"+a.Name()+"`@'%'"); err != nil {
			return changed, err
		}
	}
	databases, err := c.names(ctx,
		"SELECT schema_name FROM information_schema.schemata WHERE LEFT(schema_name, 6) = 'bench_' AND RIGHT(schema_name, "+
			"?) = ?",
		len(a.Suffix)+1, "_"+a.Suffix)
	if err != nil {
		return changed, err
	}
	for _, name := range databases {
		if !strings.HasPrefix(name, "bench_") || !strings.HasSuffix(name, "_"+a.Suffix) {
			continue // the server's comparison minds no case
		}
		changed = true
		if err := c.exec(ctx, "DROP DATABASE IF EXISTS `"+strings.ReplaceAll(name, "`", "``")+"`"); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

func (c *Conn) names(ctx context.Context, query string, args ...any) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	rows, err := c.db.QueryContext(ctx, query, args...)
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
