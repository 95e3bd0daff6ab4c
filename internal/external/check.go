package external

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// Facts are what is asked of a source before anything is copied.
type Facts struct {
	// Version is the source's, "11.8.3-MariaDB-log".
	Version string
	// LowerCase is its lower_case_table_names.
	LowerCase int
	// Servers are those that its host leads to: each connection has to lead to the same one.
	Servers []string
	// Lacking are the privileges that the account does not have. Without them nothing else is read: it would not be all.
	Lacking []string
	// Missing are databases that it does not have.
	Missing []string
	// Only reports whether tables of one database are copied into a running cluster, and NoTable that there are none.
	Only, NoTable bool
	// Inventory of the databases.
	Inventory Inventory
	// Accounts are those that would be copied, and All those of the source.
	Accounts, All []account
	// Defined are the objects with a definer, unless DefinedUnread; Scheduler reports whether the source runs events.
	Defined       []defined
	DefinedUnread error
	Scheduler     bool
	// GTID is its position, "" without a binary log, and BinlogFormat its binlog_format.
	GTID, BinlogFormat string
	// Filtered are the databases of binlog_do_db and binlog_ignore_db. XA is how many XA transactions it has begun since
	// its start, and those that are prepared.
	Filtered []string
	XA       int64
	// Upstream is what it carries out of other servers' writes. It is asked for with Follow only, as the two before.
	Upstream Upstream
	// Follow reports whether the cluster is to go on with the source's transactions.
	Follow bool
}

// privileges are what the account of the source needs.
var privileges = []string{"SELECT", "RELOAD", "SHOW VIEW", "TRIGGER", "EVENT"}

// channelPrivileges are what it needs to be followed as well, by the names that information_schema gives them: for the
// channel, and to see what the binary log leaves out. Whether the source is a replica is asked for as well
// (monitorPrivilege).
var channelPrivileges = []string{"REPLICATION SLAVE", "BINLOG MONITOR"}

// Ask reads the facts.
func Ask(ctx context.Context, source *sql.DB, o Options) (Facts, error) {
	f := Facts{Follow: o.Follow, Only: o.Only != nil}
	c, err := source.Conn(ctx)
	var unsuited unsuitedError
	if errors.As(err, &unsuited) {
		f.Version = unsuited.version
		return f, nil
	}
	if err != nil {
		return f, ofSource("connecting", err)
	}
	defer func() { _ = c.Close() }()
	err = c.QueryRowContext(ctx, "SELECT VERSION(), @@lower_case_table_names").Scan(&f.Version, &f.LowerCase)
	if err != nil || Supported(f.Version) != nil {
		if err != nil {
			err = ofSource("asking for its version", err)
		}
		return f, err
	}
	if f.Servers, err = serversOf(ctx, source, max(1, o.Connections)+1); err != nil {
		return f, ofSource("asking which server it is", err)
	}
	if f.Lacking, err = lacking(ctx, c, f.Version, o.Follow); err != nil || len(f.Lacking) > 0 {
		if err != nil {
			err = ofSource("asking for the account's privileges", err)
		}
		return f, err
	}
	if err := f.ask(ctx, c, o); err != nil {
		return f, ofSource("reading the definitions", err)
	}
	return f, nil
}

func (f *Facts) ask(ctx context.Context, c *sql.Conn, o Options) error {
	binlog := c.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos, @@GLOBAL.binlog_format")
	err := binlog.Scan(&f.GTID, &f.BinlogFormat)
	if err != nil {
		return err
	}
	if f.Follow {
		if err := f.askLog(ctx, c); err != nil {
			return err
		}
	}
	databases, missing, err := databasesOf(ctx, c, o.Databases)
	if err != nil || len(missing) > 0 {
		f.Missing = missing
		return err
	}
	f.Inventory, err = readInventory(ctx, c, databases)
	if o.Only != nil {
		f.Inventory = f.Inventory.only(*o.Only)
		f.NoTable = len(f.Inventory.Tables) == 0
	}
	if err == nil && o.Only == nil {
		f.askDefined(ctx, c, databases)
	}
	if err != nil || !o.Users {
		return err
	}
	all, err := accountsOf(ctx, c)
	f.Accounts, _ = split(all, o.Skip)
	return err
}

// askLog reads what the source's transactions may lack, or have, that a follower must know.
func (f *Facts) askLog(ctx context.Context, c *sql.Conn) (err error) {
	if f.Upstream, err = askUpstream(ctx, c); err != nil {
		return err
	}
	err = eachNamed(ctx, c, "SHOW MASTER STATUS", func(v map[string]sql.NullString) {
		for _, column := range []string{"binlog_do_db", "binlog_ignore_db"} {
			if v[column].String != "" {
				f.Filtered = append(f.Filtered, column+"="+v[column].String)
			}
		}
	})
	if err != nil {
		return err
	}
	err = c.QueryRowContext(ctx, "SELECT CAST(variable_value AS SIGNED) FROM information_schema.GLOBAL_STATUS WHERE "+
		"variable_name = 'COM_XA_START'").Scan(&f.XA)
	if err != nil {
		return err
	}
	return each(ctx, c, "XA RECOVER", func([]string) { f.XA++ })
}

// databasesOf returns the databases to copy, and those that there are not.
func databasesOf(ctx context.Context, c *sql.Conn, wanted []string) (found, missing []string, err error) {
	var all []string
	err = each(ctx, c, "SELECT schema_name FROM information_schema.schemata ORDER BY 1",
		func(v []string) { all = append(all, v[0]) })
	if err != nil {
		return nil, nil, err
	}
	if len(wanted) == 0 {
		return slices.DeleteFunc(all, func(d string) bool { return slices.Contains(systemDatabases, strings.ToLower(d)) }),
			nil, nil
	}
	for _, d := range wanted {
		if !slices.Contains(all, d) {
			missing = append(missing, d)
		}
	}
	return wanted, missing, nil
}

// lacking returns the privileges on everything that the account does not have. An account that sees some tables only
// would not know of the others.
func lacking(ctx context.Context, c *sql.Conn, version string, follow bool) (out []string, err error) {
	have := map[string]bool{}
	err = each(ctx, c, "SELECT privilege_type FROM information_schema.user_privileges WHERE grantee = CONCAT('\\'', "+
		"LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)) - 1), "+
		"'\\'@\\'', SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '\\'')", func(v []string) { have[v[0]] = true })
	needed := privileges
	if follow {
		needed = slices.Concat(privileges, channelPrivileges)
	}
	for _, p := range needed {
		if !have[p] {
			out = append(out, p)
		}
	}
	if err == nil && follow {
		if _, err = channelsOf(ctx, c); code(err) == errPrivilege {
			return append(out, monitorPrivilege(version)), nil
		}
	}
	return out, err
}

// Inspect asks a source, and judges the answers.
func Inspect(ctx context.Context, source *sql.DB, o Options, w Wanted) (*task.Source, error) {
	facts, err := Ask(ctx, source, o)
	if err != nil {
		return nil, err
	}
	out := task.Source{Version: facts.Version, GTID: facts.GTID, Tables: len(facts.Inventory.Tables),
		Findings: Check(facts, w)}
	if len(facts.Lacking) == 0 && len(facts.Missing) == 0 && !w.Files { // files come with all accounts
		out.Warnings = Warn(facts)
	}
	for _, table := range facts.Inventory.Tables {
		out.Bytes += table.Bytes
	}
	return &out, nil
}
