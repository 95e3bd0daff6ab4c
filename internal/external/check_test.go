package external

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func table(name, engine string, key ...string) Table {
	return Table{Object: Object{Database: "shop", Name: name}, Engine: engine, Key: key, Bytes: 100 << 20}
}

// TestCheck: each habit of a source that a Galera cluster does not take is a finding with its name, and what to do.
func TestCheck(t *testing.T) {
	good := func() Facts {
		return Facts{Version: "10.11.18-MariaDB-log", Inventory: Inventory{Databases: []Object{{Database: "shop"}},
			Tables: []Table{table("t", "InnoDB", "id")}}}
	}
	for name, c := range map[string]struct {
		change func(*Facts)
		want   []string
		says   string
	}{
		"nothing":           {func(*Facts) {}, nil, ""},
		"MySQL":             {func(f *Facts) { f.Version = "8.0.36" }, []string{VersionUnsupported}, `MySQL, or a server made of it (version "8.0.36")`},
		"an old series":     {func(f *Facts) { f.Version = "10.4.34-MariaDB" }, []string{VersionUnsupported}, "10.5"},
		"a later series":    {func(f *Facts) { f.Version = "11.9.1-MariaDB" }, []string{VersionUnsupported}, "spec.image"},
		"a series of 5.5.5": {func(f *Facts) { f.Version = "not MariaDB at all" }, []string{VersionUnsupported}, ""},
		"several servers": {func(f *Facts) { f.Servers = []string{"a:3306", "b:3306"} }, []string{HostNotOneServer},
			"name one of them"},
		"one server": {func(f *Facts) { f.Servers = []string{"a:3306"} }, nil, ""},
		"privileges": {func(f *Facts) { f.Lacking = []string{"EVENT"} }, []string{PrivilegeMissing},
			"GRANT EVENT ON *.*"},
		"a missing database": {func(f *Facts) { f.Missing = []string{"crm"} }, []string{DatabaseMissing}, "databases"},
		"a missing database of an import": {func(f *Facts) { f.Missing, f.Only = []string{"crm"}, true },
			[]string{DatabaseMissing}, "the database's name"},
		"a missing table": {func(f *Facts) { f.Only, f.NoTable = true, true }, []string{TableMissing}, "A view is no"},
		"no database":     {func(f *Facts) { f.Inventory = Inventory{} }, []string{NothingToCopy}, "host"},
		"MyISAM": {func(f *Facts) { f.Inventory.Tables[0].Engine = "MyISAM" }, []string{EngineNotReplicated},
			"ENGINE=InnoDB"},
		"no key": {func(f *Facts) { f.Inventory.Tables[0].Key = nil }, []string{PrimaryKeyMissing},
			"PRIMARY KEY"},
		"a versioned table": {func(f *Facts) { f.Inventory.Tables[0].Versioned = true }, []string{TableVersioned},
			"DROP SYSTEM"},
		"a versioned table in Aria": {func(f *Facts) {
			f.Inventory.Tables[0].Versioned, f.Inventory.Tables[0].Engine = true, "Aria"
		}, []string{EngineNotReplicated, TableVersioned}, "shop.t (Aria)"},
		"a versioned table without a key": {func(f *Facts) {
			f.Inventory.Tables[0].Versioned, f.Inventory.Tables[0].Key = true, nil
		}, []string{PrimaryKeyMissing, TableVersioned}, ""},
		"a sequence": {func(f *Facts) {
			f.Inventory.Sequences = []Sequence{{Object: Object{Database: "shop", Name: "s"}}}
		}, []string{SequenceNotSupported}, ""},
		"a hidden routine": {func(f *Facts) { f.Inventory.Hidden = []string{"shop.p"} }, []string{DefinitionHidden},
			"GRANT SELECT"},
		"names in lower case": {func(f *Facts) { f.LowerCase = 1 }, []string{NamesLowerCase}, ""},
		"a plugin": {func(f *Facts) { f.Accounts = []account{{Name: "a", Plugin: "pam"}} },
			[]string{PluginUnavailable}, "pam"},
		"a small volume": {func(f *Facts) { f.Inventory.Tables[0].Bytes = 900 << 20 }, []string{VolumeTooSmall}, "1126 MiB"},
		"followed, without a binary log": {func(f *Facts) { f.Follow, f.BinlogFormat = true, "ROW" },
			[]string{BinaryLogMissing}, "log_bin"},
		"followed, with a log of statements": {func(f *Facts) { f.Follow, f.GTID, f.BinlogFormat = true, "0-1-7", "MIXED" },
			[]string{BinaryLogFormat}, "MIXED"},
		"followed, a replica": {func(f *Facts) {
			f.Follow, f.GTID, f.BinlogFormat, f.Upstream = true, "0-1-7", "ROW", replica(false)
		}, []string{BinaryLogIncomplete}, "log_slave_updates"},
		"followed, a replica that logs everything": {func(f *Facts) {
			f.Follow, f.GTID, f.BinlogFormat, f.Upstream = true, "0-1-7", "ROW", replica(true)
		}, nil, ""},
		"followed, a replica whose threads are stopped": {func(f *Facts) {
			f.Follow, f.GTID, f.BinlogFormat, f.Upstream = true, "0-1-7", "ROW", replica(false)
			f.Upstream.Channels[0].IO, f.Upstream.Channels[0].SQL = "No", "No"
		}, []string{BinaryLogIncomplete}, "if it is no longer a replica, run there: RESET SLAVE ALL"},
		"followed, a node": {func(f *Facts) {
			f.Follow, f.GTID, f.BinlogFormat, f.Upstream = true, "0-1-7", "ROW", Upstream{Galera: &GaleraNode{}}
		}, []string{BinaryLogIncomplete}, "a node of a Galera cluster, and its"},
		"followed, with a log of some databases": {func(f *Facts) {
			f.Follow, f.GTID, f.BinlogFormat, f.Filtered = true, "0-1-7", "ROW", []string{"binlog_do_db=shop"}
		}, []string{BinaryLogFiltered}, "binlog_do_db=shop"},
		"followed, with XA": {func(f *Facts) { f.Follow, f.GTID, f.BinlogFormat, f.XA = true, "0-1-7", "ROW", 3 },
			[]string{XATransactions}, "3 since"},
		"followed": {func(f *Facts) { f.Follow, f.GTID, f.BinlogFormat = true, "0-1-7", "ROW" }, nil, ""},
		"several": {func(f *Facts) {
			f.Inventory.Tables = append(f.Inventory.Tables, table("m", "Aria", "id"), table("n", "InnoDB"))
		}, []string{EngineNotReplicated, PrimaryKeyMissing}, "shop.m (Aria)"},
	} {
		f := good()
		c.change(&f)
		found := Check(f, Wanted{Version: "11.8.3-MariaDB", VolumeBytes: 1 << 30})
		var names []string
		for _, x := range found {
			names = append(names, x.Name)
		}
		if !slices.Equal(names, c.want) || !strings.Contains(fmt.Sprint(found), c.says) {
			t.Errorf("%s: %+v", name, found)
		}
	}
	var many Inventory
	for i := range 100 {
		many.Tables = append(many.Tables, table(fmt.Sprint("t", i), "MyISAM", "id"))
	}
	many.Databases = []Object{{Database: "shop"}}
	if f := Check(Facts{Version: "11.8.1-MariaDB", Inventory: many}, Wanted{}); len(f) != 1 || f[0].Count != 100 ||
		len(f[0].Objects) != shownObjects {
		t.Errorf("%+v", f)
	}
}

// TestRangesCoverEveryKey: each key is in exactly one range, also one that was not seen when the table was divided.
func TestRangesCoverEveryKey(t *testing.T) {
	const most = 1<<63 - 1
	for _, c := range []struct{ low, high, rows int64 }{{1, 300000, 300000}, {-5, 5, 1e6}, {0, 0, 1e6}, {7, 3, 1e6},
		{-most - 1, most, 1e9}, {1, 1 << 40, 5e6}, {1, 2, 1e9}, {1, 1e6, -1}} {
		rs := ranges(c.low, c.high, c.rows)
		if len(rs) > maxChunks || rs[0].From != "" || rs[len(rs)-1].To != "" {
			t.Fatalf("%+v: %d ranges: %+v", c, len(rs), rs[0])
		}
		for i := 1; i < len(rs); i++ {
			var from, to int64
			_, _ = fmt.Sscan(rs[i-1].To, &from)
			_, _ = fmt.Sscan(rs[i].To, &to)
			if rs[i].From != rs[i-1].To || rs[i].To != "" && to <= from {
				t.Fatalf("%+v: %+v after %+v", c, rs[i], rs[i-1])
			}
		}
	}
	if n := len(ranges(1, 300000, 300000)); n != 3 {
		t.Errorf("%d ranges", n)
	}
}

// TestSplit: accounts of the operator and of every server stay, and what a person made is named.
func TestSplit(t *testing.T) {
	all := []account{{Name: "reader", Role: true}, {Name: "root", Host: "%"}, {Name: "mysql", Host: "localhost"},
		{Name: "PUBLIC", Role: true}, {Name: "", Host: "%"}, {Name: "shop-archiver", Host: "%"}, {Name: "o'b", Host: "10.%"}}
	copied, skipped := split(all, []string{"shop-archiver"})
	if len(copied) != 2 || copied[1].String() != `'o\'b'@'10.%'` {
		t.Errorf("copied: %v", copied)
	}
	if got := strings.Join(skipped, " "); got != `'PUBLIC' ''@'%' 'shop-archiver'@'%'` {
		t.Errorf("skipped: %s", got)
	}
}

// TestOwned: of a physical copy, the accounts go that the operator makes. The session's stays, and so does root at
// localhost; one of the session's name elsewhere goes.
func TestOwned(t *testing.T) {
	got := owned([]account{{Name: "PUBLIC", Role: true}, {Name: "root", Host: "%"}, {Name: "root", Host: "127.0.0.1"},
		{Name: "root", Host: "localhost"}, {Name: "mysql", Host: "localhost"}, {Name: "mariadb.sys", Host: "localhost"},
		{Name: "galera", Host: "localhost"}, {Name: "", Host: "db"}, {Name: "replay", Host: "%"}, {Name: "app", Host: "%"},
		{Name: "replay", Host: "localhost"}}, "replay@localhost", []string{"replay"})
	if s := fmt.Sprint(got); s != "['root'@'%' 'root'@'127.0.0.1' 'galera'@'localhost' ''@'db' 'replay'@'%']" {
		t.Error(s)
	}
}

// TestValues: what is written is read as it was.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		k    kind
		v    string
		want string
	}{{kindNumber, "-12.50", "-12.50"}, {kindFloat, "1e-300", "1e-300"}, {kindBytes, "\x00'\\", "X'00275c'"},
		{kindBytes, "", "X''"},
		{kindText, "a'b\\c\x00\n\r\x1a\"é", `'a\'b\\c\0\n\r\Z"é'`}, {kindText, "", "''"}} {
		if got := string(appendValue(nil, c.k, []byte(c.v))); got != c.want {
			t.Errorf("%q: %s, want %s", c.v, got, c.want)
		}
	}
	if got := string(appendValue(nil, kindText, nil)); got != "NULL" {
		t.Errorf("NULL is %s", got)
	}
}

// TestChanged: a definition that differs is named; the next number of AUTO_INCREMENT is none.
func TestChanged(t *testing.T) {
	a := Inventory{Tables: []Table{table("t", "InnoDB")}, Views: []Object{{Database: "shop", Name: "v", Create: "x"}}}
	b := Inventory{Tables: slices.Clone(a.Tables), Views: slices.Clone(a.Views)}
	a.Tables[0].Create, b.Tables[0].Create = "CREATE TABLE t AUTO_INCREMENT=7 x", "CREATE TABLE t AUTO_INCREMENT=900 x"
	if got := changed(a, b); got != "" {
		t.Errorf("%s has changed", got)
	}
	b.Views[0].SQLMode = "ANSI"
	if got := changed(a, b); got != "shop.v" {
		t.Errorf("%q has changed", got)
	}
	b.Views = nil
	if changed(a, b) != "shop.v" || changed(b, a) != "shop.v" {
		t.Error("what was created, or dropped, is not seen")
	}
}

// TestNamesOfFiles: files keep the names of tables as their server has written them, and need its setting.
func TestNamesOfFiles(t *testing.T) {
	for _, c := range []struct {
		source, cluster int
		says            string // "" for no finding
	}{
		{0, 0, ""},
		{1, 1, ""},
		{1, 0, "lower_case_table_names=1, and the cluster 0, which"},
		{0, 1, "set lower_case_table_names: 0 in spec.mariadb.config"},
		{2, 2, "no server on Linux has"},
	} {
		f := Facts{Version: "11.8.3-MariaDB", LowerCase: c.source,
			Inventory: Inventory{Databases: []Object{{Database: "shop"}}}}
		found := Check(f, Wanted{Version: "11.8.9-MariaDB", Files: true, LowerCase: c.cluster})
		if len(found) > 0 != (c.says != "") || len(found) > 0 && (found[0].Name != NamesLowerCase ||
			!strings.Contains(found[0].Message, c.says)) {
			t.Errorf("%d of %d: %+v", c.source, c.cluster, found)
		}
	}
}
