package external

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
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
	// Lacking are the privileges that the account does not have. Without them nothing else is read: it would not be all.
	Lacking []string
	// Missing are databases that it does not have.
	Missing []string
	// Only reports whether tables of one database are copied into a running cluster, and NoTable that there are none.
	Only, NoTable bool
	// Inventory of the databases.
	Inventory Inventory
	// Accounts are those that would be copied.
	Accounts []account
	// GTID is its position, "" without a binary log, and BinlogFormat its binlog_format.
	GTID, BinlogFormat string
	// Filtered are the databases of binlog_do_db and binlog_ignore_db. XA is how many XA transactions it has begun since
	// its start, and those that are prepared. Both are asked for with Follow only.
	Filtered []string
	XA       int64
	// Upstream reports whether it carries out what other servers write, LogsUpstream whether its binary log has that.
	Upstream, LogsUpstream bool
	// Follow reports whether the cluster is to go on with the source's transactions.
	Follow bool
}

// Wanted is what the source is checked for.
type Wanted struct {
	// Version of the new cluster's server.
	Version string
	// VolumeBytes is the size of its volumes.
	VolumeBytes int64
	// Files reports whether it begins with the source's files, and not with a copy by statements, and LowerCase is its
	// lower_case_table_names then: files keep the names as the source has written them.
	Files     bool
	LowerCase int
}

// Names of findings.
const (
	VersionUnsupported   = "VersionUnsupported"
	PrivilegeMissing     = "PrivilegeMissing"
	DatabaseMissing      = "DatabaseMissing"
	TableMissing         = "TableMissing"
	NothingToCopy        = "NothingToCopy"
	DefinitionHidden     = "DefinitionHidden"
	EngineNotReplicated  = "EngineNotReplicated"
	PrimaryKeyMissing    = "PrimaryKeyMissing"
	TableVersioned       = "TableVersioned"
	SequenceNotSupported = "SequenceNotSupported"
	NamesLowerCase       = "NamesLowerCase"
	PluginUnavailable    = "PluginUnavailable"
	VolumeTooSmall       = "VolumeTooSmall"
	BinaryLogMissing     = "BinaryLogMissing"
	BinaryLogFormat      = "BinaryLogFormat"
	BinaryLogIncomplete  = "BinaryLogIncomplete"
	BinaryLogFiltered    = "BinaryLogFiltered"
	XATransactions       = "XATransactions"
)

// shownObjects is how many objects a finding names.
const shownObjects = 5

// privileges are what the account of the source needs.
var privileges = []string{"SELECT", "RELOAD", "SHOW VIEW", "TRIGGER", "EVENT"}

// channelPrivileges are what it needs to be followed as well, by the names that information_schema gives them: for the
// channel, and to see what the binary log leaves out.
var channelPrivileges = []string{"REPLICATION SLAVE", "BINLOG MONITOR"}

// plugins are those that every node has.
var plugins = []string{"", "mysql_native_password", "mysql_old_password", "unix_socket"}

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
	if f.Lacking, err = lacking(ctx, c, o.Follow); err != nil || len(f.Lacking) > 0 {
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
	binlog := c.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos, @@GLOBAL.binlog_format, @@GLOBAL.log_slave_updates")
	err := binlog.Scan(&f.GTID, &f.BinlogFormat, &f.LogsUpstream)
	if err != nil {
		return err
	}
	if f.Upstream, err = Upstream(ctx, c); err != nil {
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
	if err != nil || !o.Users {
		return err
	}
	all, err := accountsOf(ctx, c)
	f.Accounts, _ = split(all, o.Skip)
	return err
}

// askLog reads what the source's transactions may lack, or have, that a follower must know.
func (f *Facts) askLog(ctx context.Context, c *sql.Conn) error {
	err := eachNamed(ctx, c, "SHOW MASTER STATUS", func(v map[string]sql.NullString) {
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
func lacking(ctx context.Context, c *sql.Conn, follow bool) (out []string, err error) {
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
	return out, err
}

// Supported returns why a version cannot be copied. It is pure.
func Supported(version string) error {
	s, ok := series(version)
	switch {
	case !strings.Contains(version, "MariaDB") || !ok:
		return fmt.Errorf("the source is MySQL, or a server made of it (version %q), which is not supported: only MariaDB "+
			"can be copied and followed. Import a dump into a running cluster instead", version)
	case before(s, [2]int{10, 5}):
		return fmt.Errorf("the source is MariaDB %s, and 10.5 is the earliest that can be copied", version)
	}
	return nil
}

// Inspect asks a source, and judges the answers.
func Inspect(ctx context.Context, source *sql.DB, o Options, w Wanted) (*task.Source, error) {
	facts, err := Ask(ctx, source, o)
	if err != nil {
		return nil, err
	}
	out := task.Source{Version: facts.Version, GTID: facts.GTID, Tables: len(facts.Inventory.Tables),
		Findings: Check(facts, w)}
	for _, table := range facts.Inventory.Tables {
		out.Bytes += table.Bytes
	}
	return &out, nil
}

// Check returns what keeps a source from being copied. It is pure.
func Check(f Facts, w Wanted) (out []task.Finding) {
	add := func(name, message string, objects ...string) {
		out = append(out, task.Finding{Name: name, Message: message, Objects: objects[:min(len(objects), shownObjects)],
			Count: len(objects)})
	}
	if err := Supported(f.Version); err != nil {
		add(VersionUnsupported, err.Error())
		return out
	}
	if later(f.Version, w.Version) {
		add(VersionUnsupported, fmt.Sprintf("the source is MariaDB %s, and the cluster has %s: set its spec.image to that "+
			"series or a later one", f.Version, w.Version))
	}
	if len(f.Lacking) > 0 {
		add(PrivilegeMissing, "the account of credentialsSecretRef lacks privileges: GRANT "+
			strings.Join(f.Lacking, ", ")+" ON *.* to it, directly and not by a role")
		return out
	}
	if len(f.Missing) > 0 {
		field := "spec.bootstrapFrom.external.databases"
		if f.Only {
			field = "the database's name"
		}
		add(DatabaseMissing, "the source has no such database: correct "+field, f.Missing...)
		return out
	}
	if f.NoTable {
		add(TableMissing, "the source has no such table, or none at all in the database: correct the names. A view is no "+
			"table")
		return out
	}
	if why := lowerCaseOfFiles(f.LowerCase, w.LowerCase); w.Files && why != "" {
		add(NamesLowerCase, why)
	}
	if f.LowerCase != 0 && !w.Files {
		add(NamesLowerCase, fmt.Sprintf("the source has lower_case_table_names=%d, and the cluster 0: names that "+
			"applications write in another case would not be found. Correct the applications, copy to a server with 0 first, "+
			"or import a dump", f.LowerCase))
	}
	if f.Follow {
		out = append(out, checkBinaryLog(f)...)
	}
	out = append(out, checkTables(f.Inventory)...)
	out = append(out, checkPlugins(f.Accounts)...)
	var bytes int64
	for _, t := range f.Inventory.Tables {
		bytes += t.Bytes
	}
	if need := bytes + bytes/4; w.VolumeBytes > 0 && need > w.VolumeBytes {
		add(VolumeTooSmall, fmt.Sprintf("the tables take %d MiB on the source, and spec.storage.size is %d MiB: "+
			"give the cluster at least %d MiB", bytes>>20, w.VolumeBytes>>20, need>>20+1))
	}
	return out
}

// lowerCaseOfFiles returns why a cluster cannot begin with files of another lower_case_table_names, "" if it can.
func lowerCaseOfFiles(source, cluster int) string {
	switch {
	case source > 1:
		return fmt.Sprintf("the source has lower_case_table_names=%d, which no server on Linux has: import a dump", source)
	case source != cluster:
		return fmt.Sprintf("the source has lower_case_table_names=%d, and the cluster %d, which would not find tables by "+
			"their names: set lower_case_table_names: %d in spec.mariadb.config", source, cluster, source)
	}
	return ""
}

func checkTables(inv Inventory) (out []task.Finding) {
	found := map[string][]string{}
	for _, t := range inv.Tables {
		if t.Versioned {
			found[TableVersioned] = append(found[TableVersioned], t.String())
		}
		switch { // of versioned ones, too: a backup has their history
		case !strings.EqualFold(t.Engine, "InnoDB"):
			found[EngineNotReplicated] = append(found[EngineNotReplicated], fmt.Sprintf("%s (%s)", t, t.Engine))
		case len(t.Key) == 0:
			found[PrimaryKeyMissing] = append(found[PrimaryKeyMissing], t.String())
		}
	}
	for _, s := range inv.Sequences {
		found[SequenceNotSupported] = append(found[SequenceNotSupported], s.String())
	}
	found[DefinitionHidden] = inv.Hidden
	if len(inv.Databases) == 0 {
		found[NothingToCopy] = []string{"no database"}
	}
	messages := map[string]string{
		EngineNotReplicated: "Galera replicates InnoDB only: ALTER TABLE … ENGINE=InnoDB on the source, or drop them",
		PrimaryKeyMissing:   "Galera needs a primary key: ALTER TABLE … ADD PRIMARY KEY on the source",
		TableVersioned:      "the history of system-versioned tables is not copied: ALTER TABLE … DROP SYSTEM VERSIONING",
		SequenceNotSupported: "sequences are not copied, and Galera takes only those without a cache: use AUTO_INCREMENT, " +
			"or drop them and create them in the new cluster",
		DefinitionHidden: "the account may not see the definition: GRANT SELECT ON mysql.* to it",
		NothingToCopy:    "the source has no databases but those of the system: check host and port",
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if objects := found[name]; len(objects) > 0 {
			out = append(out, task.Finding{Name: name, Message: messages[name], Count: len(objects),
				Objects: objects[:min(len(objects), shownObjects)]})
		}
	}
	return out
}

func checkPlugins(accounts []account) []task.Finding {
	var bad []string
	for _, a := range accounts {
		if !a.Role && !slices.Contains(plugins, a.Plugin) {
			bad = append(bad, a.String()+" ("+a.Plugin+")")
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return []task.Finding{{Name: PluginUnavailable, Objects: bad[:min(len(bad), shownObjects)], Count: len(bad),
		Message: "the new cluster's nodes do not load the plugin of these accounts: set users: false, drop the accounts, " +
			"or ALTER USER … IDENTIFIED VIA mysql_native_password"}}
}

func series(version string) (s [2]int, ok bool) {
	n, err := fmt.Sscanf(version, "%d.%d", &s[0], &s[1])
	return s, err == nil && n == len(s)
}

func before(a, b [2]int) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

// later reports whether the source is of a later series than the image. Versions that cannot be read are not compared.
func later(source, image string) bool {
	a, okA := series(source)
	b, okB := series(image)
	return okA && okB && before(b, a)
}

// checkBinaryLog returns what keeps a source from being followed.
func checkBinaryLog(f Facts) (out []task.Finding) {
	if f.GTID == "" {
		out = append(out, task.Finding{Name: BinaryLogMissing,
			Message: "the source has no binary log, or an empty one: set " +
				"log_bin on the source, restart it, and write to it once"})
	}
	if f.BinlogFormat != "ROW" {
		out = append(out, task.Finding{Name: BinaryLogFormat, Message: fmt.Sprintf("the source logs statements "+
			"(binlog_format is %s), which may have another effect on the nodes: set binlog_format to ROW in its option file "+
			"and with SET GLOBAL, and let all applications connect again", f.BinlogFormat)})
	}
	if len(f.Filtered) > 0 {
		out = append(out, task.Finding{Name: BinaryLogFiltered, Objects: f.Filtered, Count: len(f.Filtered),
			Message: "the source's binary log leaves databases out, so that the cluster would lack their changes: remove the " +
				"settings from its option file, and restart it"})
	}
	if f.XA > 0 {
		out = append(out, task.Finding{Name: XATransactions, Message: fmt.Sprintf("applications use XA transactions (%d "+
			"since the source's start, or prepared now), which a Galera node cannot apply: end that, commit or roll back what "+
			"XA RECOVER shows, and restart the source, or copy it without follow", f.XA)})
	}
	if f.Upstream && !f.LogsUpstream {
		out = append(out, task.Finding{Name: BinaryLogIncomplete, Message: "the source is a replica or a node of a Galera " +
			"cluster, and its binary log lacks what other servers write: set log_slave_updates in its option file, and " +
			"restart it, or follow the server that is written to"})
	}
	return out
}

// Upstream reports whether a server carries out what other servers write: it is a replica, or a node of a Galera
// cluster.
func Upstream(ctx context.Context, server interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (does bool, err error) {
	err = server.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM information_schema.GLOBAL_STATUS WHERE "+
		"variable_name IN ('SLAVES_RUNNING', 'WSREP_CLUSTER_SIZE') AND CAST(variable_value AS SIGNED) > 0").Scan(&does)
	return does, err
}
