package runner

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
)

// TestRefusedBackups: a backup that a cluster would lose something with, or could not read, is refused for good, with
// what to do.
func TestRefusedBackups(t *testing.T) {
	type change func(a *adopted, t *task.External)
	info := func(key, value string) change { return func(a *adopted, _ *task.External) { a.Info[key] = value } }
	for name, c := range map[string]struct {
		change change
		reason string // "" for one that is taken
		says   string
	}{
		"a full one":      {func(*adopted, *task.External) {}, "", ""},
		"a later release": {info("server_version", "11.8.2-MariaDB"), "", ""},
		"prepared":        {func(a *adopted, _ *task.External) { a.Checkpoints["backup_type"] = "log-applied" }, "", ""},
		"another series": {info("server_version", "10.11.9-MariaDB-log"), task.ReasonVersionRefused,
			"is of MariaDB 10.11.9-MariaDB-log, and the image has 11.8.9-MariaDB: set spec.image to the same series"},
		"a later series": {info("server_version", "12.3.1-MariaDB"), task.ReasonVersionRefused, "method: Dump"},
		"no version":     {info("server_version", ""), task.ReasonVersionRefused, "is of MariaDB , and"},
		"incremental":    {info("incremental", "Y"), task.ReasonImportRefused, "an incremental one: name a full one"},
		"incremental, by its type": {func(a *adopted, _ *task.External) { a.Checkpoints["backup_type"] = "incremental" },
			task.ReasonImportRefused, "an incremental one"},
		"incremental, by its files": {func(a *adopted, _ *task.External) { a.Deltas = []string{"shop/t.ibd.delta"} },
			task.ReasonImportRefused, "an incremental one"},
		"of no type": {func(a *adopted, _ *task.External) { a.Checkpoints = nil }, task.ReasonImportRefused,
			`of the type ""`},
		"partial": {info("partial", "Y"), task.ReasonImportRefused, "a partial one"},
		"without a lock": {info("tool_command", "--backup --no-lock --stream=mbstream"), task.ReasonImportRefused,
			"made with --no-lock"},
		"without a lock, in another spelling": {info("tool_command", "--backup --No_lo=1"), task.ReasonImportRefused,
			"made with --no-lock"},
		"with a lock": {info("tool_command", "--backup --no-lock=0 --no-log"), "", ""},
		"with an increment added": {func(a *adopted, _ *task.External) {
			a.Info["incremental"], a.Checkpoints["backup_type"] = "Y", "log-applied"
		}, "", ""},
		"names in lower case": {func(_ *adopted, t *task.External) {
			t.Settings = map[string]string{"lower_case_table_names": "1"}
		}, "", ""},
		"pages of another size, in another spelling": {func(a *adopted, t *task.External) {
			a.Options["innodb_page_size"], t.Settings = "8192", map[string]string{"loose-innodb-page-size": "16k"}
		}, task.ReasonImportRefused, "innodb_page_size=8192"},
		"with another option": {info("tool_command", "--backup --no-lock-wait"), "", ""},
		"compressed by the tool": {func(a *adopted, _ *task.External) {
			a.Compressed, a.Info = []string{"a.qp", "b.qp", "c.qp", "d.qp", "e.qp", "f.qp", "g.qp"}, nil
		}, task.ReasonImportRefused, "e.qp and 2 more): decompress it with mariadb-backup --decompress"},
		"encrypted": {func(a *adopted, _ *task.External) { a.Encrypted = []string{"shop/t.ibd"} },
			task.ReasonImportRefused, "encrypted at rest (shop/t.ibd)"},
		"files elsewhere": {func(a *adopted, _ *task.External) { a.Outside = []string{"shop/t.isl"} },
			task.ReasonImportRefused, "outside of the data directory (shop/t.isl)"},
		"no position": {func(a *adopted, _ *task.External) { a.GTID = "" }, "", ""},
		"no position to follow from": {func(a *adopted, t *task.External) { a.GTID, t.Follow = "", true },
			task.ReasonImportRefused, "names no GTID"},
		"a position to follow from": {func(_ *adopted, t *task.External) { t.Follow = true }, "", ""},
		"pages of another size": {func(a *adopted, _ *task.External) { a.Options["innodb_page_size"] = "8192" },
			task.ReasonImportRefused, "innodb_page_size=8192: set that in spec.mariadb.config"},
		"pages of that size": {func(a *adopted, t *task.External) {
			a.Options["innodb_page_size"], t.Settings = "8192", map[string]string{"innodb_page_size": "8k"}
		}, "", ""},
	} {
		a := adopted{GTID: "0-1-7", Checkpoints: map[string]string{"backup_type": "full-backuped"},
			Info: map[string]string{"server_version": "11.8.3-MariaDB-log", "partial": "N", "incremental": "N",
				"tool_command": "--backup --stream=mbstream"},
			Options: map[string]string{"innodb_page_size": "16384", "innodb_data_file_path": "ibdata1:12M:autoextend"}}
		x := task.External{}
		c.change(&a, &x)
		err := a.refuse("11.8.9-MariaDB", x)
		if (err == nil) != (c.reason == "") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err == nil {
			continue
		}
		if reason, final := explain(err); reason != c.reason || !final || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %s, %v: %v", name, reason, final, err)
		}
	}
}

// TestOwnOptions: of another server's options, those of InnoDB's files count. Neither plugins nor directories do.
func TestOwnOptions(t *testing.T) {
	const theirs = "# This MySQL options file was generated by innobackupex.\n\n[mysqld]\ninnodb_page_size=16384\n" +
		"innodb_undo_directory=/elsewhere\ninnodb_undo_tablespaces=3\nplugin_load=evil.so\nplugin-dir=/data\n" +
		"innodb_log_group_home_dir=/x\ninnodb_encrypt_log=ON\nserver_id=7\n"
	if got, want := ownOptions(theirs), "[mysqld]\ninnodb_page_size=16384\ninnodb_undo_tablespaces=3\n"; got != want {
		t.Errorf("%q", got)
	}
}

// page is the first one of a tablespace, with an encryption scheme or without.
func page(scheme bool) []byte {
	out := make([]byte, 16<<10)
	binary.BigEndian.PutUint16(out[24:], 8)
	binary.BigEndian.PutUint32(out[54:], 0x15)
	if scheme {
		copy(out[5000:], "s\x0e\x0cREt\x01")
	}
	return out
}

// theirFiles are those of a backup, as 10.11 names them.
func theirFiles() map[string][]byte {
	return map[string][]byte{
		"backup-my.cnf":          []byte("[mysqld]\ninnodb_page_size=16384\n"),
		"xtrabackup_info":        []byte("server_version = 10.11.9-MariaDB\npartial = N\nincremental = N\n"),
		"xtrabackup_checkpoints": []byte("backup_type = full-backuped\nto_lsn = 9\nlast_lsn = 9\n"),
		"xtrabackup_binlog_info": []byte("binlog.000003\t417\t3-7-20\n"),
		"ib_logfile0":            {0, 0, 0, 1},
		"ibdata1":                page(false),
		"shop/t.ibd":             page(false),
	}
}

// TestReadAdopted: what a backup is like is read of its files, by the names of both releases.
func TestReadAdopted(t *testing.T) {
	for name, c := range map[string]struct {
		change func(files map[string][]byte)
		have   func(a adopted) bool
		says   string
	}{
		"10.11": {func(map[string][]byte) {}, func(a adopted) bool {
			return a.server() == "10.11.9-MariaDB" && a.GTID == "3-7-20" && a.Options["innodb_page_size"] == "16384" &&
				a.Checkpoints["backup_type"] == "full-backuped" && a.Encrypted == nil && a.Outside == nil
		}, ""},
		"11.8": {func(f map[string][]byte) {
			for _, of := range []string{"info", "checkpoints", "binlog_info"} {
				f["mariadb_backup_"+of] = f["xtrabackup_"+of]
				delete(f, "xtrabackup_"+of)
			}
		}, func(a adopted) bool {
			return a.server() == "10.11.9-MariaDB" && a.GTID == "3-7-20" && len(a.Checkpoints) > 0
		}, ""},
		"a description without an end": {func(f map[string][]byte) {
			f["xtrabackup_info"] = append(f["xtrabackup_info"], "note = "+strings.Repeat("x", 2*largestInfo)...)
		}, func(a adopted) bool {
			return a.server() == "10.11.9-MariaDB" && !slices.ContainsFunc(slices.Collect(maps.Values(a.Info)),
				func(v string) bool { return len(v) >= largestInfo })
		}, ""},
		"without a binary log": {func(f map[string][]byte) { delete(f, "xtrabackup_binlog_info") },
			func(a adopted) bool { return a.GTID == "" }, ""},
		"compressed": {func(f map[string][]byte) {
			for of := range maps.Clone(f) {
				f[of+".qp"] = []byte("x")
				delete(f, of)
			}
		}, func(a adopted) bool { return slices.Contains(a.Compressed, "shop/t.ibd.qp") }, ""},
		"an encrypted table": {func(f map[string][]byte) { f["shop/t.ibd"] = page(true) },
			func(a adopted) bool { return slices.Equal(a.Encrypted, []string{"shop/t.ibd"}) }, ""},
		"an encrypted log": {func(f map[string][]byte) { f["ib_logfile0"][0] = 0x80 },
			func(a adopted) bool { return slices.Equal(a.Encrypted, []string{"ib_logfile0"}) }, ""},
		"a link to a table": {func(f map[string][]byte) { f["shop/u.isl"] = []byte("/elsewhere/shop/u.ibd") },
			func(a adopted) bool { return slices.Equal(a.Outside, []string{"shop/u.isl"}) }, ""},
		"an increment": {func(f map[string][]byte) { f["shop/t.ibd.delta"] = []byte("x") },
			func(a adopted) bool { return slices.Equal(a.Deltas, []string{"shop/t.ibd.delta"}) }, ""},
		"cut off": {func(f map[string][]byte) { delete(f, "xtrabackup_info") }, nil,
			"has no mariadb_backup_info or xtrabackup_info, which mariadb-backup writes last"},
	} {
		files := theirFiles()
		c.change(files)
		dir := t.TempDir()
		for name, text := range files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		a, err := readAdopted(dir)
		switch {
		case c.says != "":
			if reason, final := explain(err); reason != task.ReasonBackupDamaged || !final ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || !c.have(a):
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// TestRefusedFindings: tables that Galera does not replicate are named, with what to do.
func TestRefusedFindings(t *testing.T) {
	if err := refusedFindings(nil); err != nil {
		t.Error(err)
	}
	err := refusedFindings([]task.Finding{{Name: "PrimaryKeyMissing", Objects: []string{"shop.a"}, Count: 3,
		Message: "add one"}})
	if reason, final := explain(err); reason != task.ReasonImportRefused || !final ||
		!strings.Contains(err.Error(), "PrimaryKeyMissing: shop.a and 2 more: add one. Correct that on the server") {
		t.Errorf("%s, %v: %v", reason, final, err)
	}
}

// TestDropBinlog: the binary log that a backup names goes, and nothing else that it could name.
func TestDropBinlog(t *testing.T) {
	for name, kept := range map[string]bool{"mysql-bin.000012": false, "ibdata1": true, "shop/t.000001": true} {
		dir := t.TempDir()
		_ = os.Mkdir(filepath.Join(dir, "shop"), 0o750)
		for file, text := range map[string]string{name: "x", "xtrabackup_binlog_info": name + "\t417\t3-7-20\n"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := dropBinlog(dir); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != kept {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOfOwnServer: what the server on the data answers about a table is final, and no matter of credentials.
func TestOfOwnServer(t *testing.T) {
	for _, c := range []struct {
		err    error
		reason string
		final  bool
	}{
		{external.SourceError{Err: &mysql.MySQLError{Number: 1286, Message: "Unknown storage engine 'ROCKSDB'"}},
			task.ReasonImportRefused, true},
		{fmt.Errorf("x: %w", &mysql.MySQLError{Number: 1932}), task.ReasonImportRefused, true},
		{&mysql.MySQLError{Number: 1053}, task.ReasonToolFailed, false},
		{&mysql.MySQLError{Number: 1969}, task.ReasonToolFailed, false}, // max_statement_time
		{&mysql.MySQLError{Number: 1064}, task.ReasonToolFailed, false}, // a syntax error of another sql_mode
		{&mysql.MySQLError{Number: 1030}, task.ReasonToolFailed, false}, // of an engine, and perhaps of the disk
		{&mysql.MySQLError{Number: 1114}, task.ReasonDiskFull, false},
		{external.SourceError{Err: io.ErrUnexpectedEOF}, task.ReasonToolFailed, false},
	} {
		if reason, final := explain(ofOwnServer(c.err)); reason != c.reason || final != c.final {
			t.Errorf("%v: %s, %v", c.err, reason, final)
		}
	}
}

// TestOfOwnServerNames: the refusal names the table that the server cannot read.
func TestOfOwnServerNames(t *testing.T) {
	err := ofOwnServer(external.SourceError{Err: fmt.Errorf("reading the definitions: the table shop.t: %w",
		&mysql.MySQLError{Number: 1286, Message: "Unknown storage engine 'ROCKSDB'"})})
	const says = "cannot read the data: reading the definitions: the table shop.t: Error 1286: Unknown storage engine"
	if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "the source") {
		t.Error(err)
	}
}

// TestServerArgs: no setting of the cluster changes how the data's definitions are read, or for how long.
func TestServerArgs(t *testing.T) {
	args := serverArgs(map[string]string{"sql_mode": "ANSI_QUOTES", "loose_sql_mode": "NO_BACKSLASH_ESCAPES",
		"max_statement_time": "5", "tmp_table_size": "1M"}, "/tmp/init", adopting)
	last := map[string]string{}
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.Replace(arg, "--loose-", "--", 1), "=")
		last[name] = value
	}
	for name, want := range map[string]string{"--sql-mode": "", "--max-statement-time": "0", "--tmp-table-size": "1M"} {
		if have, is := last[name]; !is || have != want {
			t.Errorf("%s: %q, %v in %q", name, have, is, args)
		}
	}
}
