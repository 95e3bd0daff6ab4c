package external

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

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

// plugins are those that every node has.
var plugins = []string{"", "mysql_native_password", "mysql_old_password", "unix_socket"}

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
	if len(f.Servers) > 1 {
		add(HostNotOneServer, "the host leads to several servers, and a copy of parts of each would be of no moment: name "+
			"one of them", f.Servers...)
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
	if of := f.Upstream.String(); of != "" && !f.Upstream.Logs {
		out = append(out, task.Finding{Name: BinaryLogIncomplete, Message: "the source is " + of + ", and its binary log " +
			"lacks what other servers write: set log_slave_updates in its option file, and restart it, or follow the server " +
			"that is written to" + ifUnused(f.Upstream.Channels)})
	}
	return out
}
