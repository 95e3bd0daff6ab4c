package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// optionFile is what mariadb-backup notes InnoDB's options in.
const optionFile = "backup-my.cnf"

// toolFiles are the files that mariadb-backup describes a backup in, by the names of its releases.
func toolFiles(of string) []string { return []string{"mariadb_backup_" + of, "xtrabackup_" + of} }

// shownFiles is how many files a refusal names.
const shownFiles = 5

// adopted is what the files of another server's backup are like.
type adopted struct {
	// Info and Checkpoints are what mariadb-backup states of the backup, Options what backup-my.cnf has.
	Info, Checkpoints, Options map[string]string
	// GTID is the server's position, "" without a binary log, which BinlogFile and BinlogPos are in.
	GTID, BinlogFile, BinlogPos string
	// Redo is InnoDB's log.
	Redo redoLog
	// Compressed are files of mariadb-backup --compress, Deltas those of an increment, Outside names of tables that lie in
	// another directory, Encrypted those that are encrypted at rest.
	Compressed, Deltas, Outside, Encrypted []string
}

func refusedBackup(format string, args ...any) error {
	return fatal(task.ReasonImportRefused, fmt.Errorf("the backup is refused: "+format, args...))
}

// whole refuses a backup without the files that mariadb-backup ends with: for good, or until it has them.
func whole(has func(name string) bool, refuse func(reason string, err error) error) error {
	for _, names := range [][]string{{optionFile}, toolFiles("info"), toolFiles("checkpoints")} {
		if !slices.ContainsFunc(names, has) && !slices.ContainsFunc(names, func(n string) bool { return has(n + ".qp") }) {
			return refuse(task.ReasonBackupDamaged, fmt.Errorf("the backup has no %s, which mariadb-backup writes last: it is "+
				"not a backup of mariadb-backup, or was cut off. Upload all of it, or make another one",
				strings.Join(names, " or ")))
		}
	}
	return nil
}

// server is the version of the server that was copied.
func (a adopted) server() string { return a.Info["server_version"] }

// refuse returns why a cluster does not begin with the backup, nil if it can. version is that of the image's server. It
// is pure.
func (a adopted) refuse(version string, t task.External) error {
	is := func(key string) bool { return strings.HasPrefix(strings.ToUpper(a.Info[key]), "Y") }
	kind := a.Checkpoints["backup_type"]
	const another = "make another one"
	switch {
	case len(a.Compressed) > 0:
		return refusedBackup("it was made with --compress (%s): decompress it with mariadb-backup --decompress, or %s",
			some(a.Compressed), another)
	case !galera.SameSeries(a.server(), version):
		return fatal(task.ReasonVersionRefused, fmt.Errorf("the backup is of MariaDB %s, and the image has %s: set "+
			"spec.image to the same series, or copy the running server with method: Dump", a.server(), version))
	// One that an increment was added to has the increment's description, and its own type.
	case is("incremental") && kind != "log-applied" || kind == "incremental" || len(a.Deltas) > 0:
		return refusedBackup("it is an incremental one: name a full one, or add it to its full one with mariadb-backup " +
			"--prepare --incremental-dir, and upload that as a folder")
	case kind != "full-backuped" && kind != "full-prepared" && kind != "log-applied":
		return refusedBackup("it is of the type %q: name a full one", kind)
	case is("partial"):
		return refusedBackup("it is a partial one, without some databases or tables: %s without --databases, --tables "+
			"and the like", another)
	case slices.ContainsFunc(strings.Fields(a.Info["tool_command"]), isNoLock):
		return refusedBackup("it was made with --no-lock, so that its files may be of different moments: %s without it",
			another)
	case len(a.Encrypted) > 0:
		return refusedBackup("its files are encrypted at rest (%s), and there is no key for them: decrypt the tables on the "+
			"server (innodb_encrypt_tables, innodb_encrypt_log and aria_encrypt_tables OFF), and %s, or copy the running "+
			"server with method: Dump", some(a.Encrypted), another)
	case len(a.Outside) > 0:
		return refusedBackup("tables lie outside of the data directory (%s): move them there with ALTER TABLE on the "+
			"server, and %s", some(a.Outside), another)
	case t.Follow && a.GTID == "":
		return refusedBackup("it names no GTID that its server could be followed from: set log_bin there, write to it once, "+
			"and %s, or remove follow", another)
	}
	// backup-my.cnf lacks the others, as lower_case_table_names: they are taken to be those that are wanted
	if kept := mycnf.Unchangeable(mixed(t.Settings, a.Options), t.Settings); kept != nil {
		return refusedBackup("its files were made with %s=%s: set that in spec.mariadb.config", kept.Name, kept.Value)
	}
	return nil
}

// isNoLock reports whether an option is --no-lock in one of its spellings: programs of MariaDB take _ for -, and what
// an option begins with.
func isNoLock(option string) bool {
	name, value, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(option, "_", "-")), "=")
	return strings.HasPrefix(name, "--no-l") &&
		strings.HasPrefix("--no-lock", name) && //nolint:gocritic // the name may be the shorter one
		!slices.Contains([]string{"0", "off", "false"}, value)
}

func some(names []string) string {
	if more := len(names) - shownFiles; more > 0 {
		return strings.Join(names[:shownFiles], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// readFact reads a file that describes a backup, up to the largest one that there is: another server's may be anything.
func readFact(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, largestInfo))
	return string(text), err
}

// readAdopted reads what was unpacked.
func readAdopted(dir string) (a adopted, err error) {
	has := func(name string) bool { _, err := os.Lstat(filepath.Join(dir, name)); return err == nil }
	if err := whole(has, fatal); err != nil {
		return a, err
	}
	read := func(names ...string) map[string]string {
		for _, name := range names {
			if text, err := readFact(filepath.Join(dir, name)); err == nil {
				return pairs(text)
			}
		}
		return nil
	}
	a.Info, a.Checkpoints, a.Options = read(toolFiles("info")...), read(toolFiles("checkpoints")...), read(optionFile)
	a.BinlogFile, a.BinlogPos, a.GTID = binlogInfo(dir)
	if a.Redo, err = readRedo(dir); err != nil {
		return a, err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch filepath.Ext(name) {
		case ".qp":
			a.Compressed = append(a.Compressed, name)
		case ".delta":
			a.Deltas = append(a.Deltas, name)
		case ".isl":
			a.Outside = append(a.Outside, name)
		}
		encrypted, err := isEncrypted(path)
		if encrypted {
			a.Encrypted = append(a.Encrypted, name)
		}
		return err
	})
	return a, err
}

// binlogFile matches the name of a binary log.
var binlogFile = regexp.MustCompile(`^[^/]+\.[0-9]{6,}$`)

// dropBinlog removes the server's binary log, which some releases take along: it has the server's name for it.
func dropBinlog(dir string) error {
	for _, of := range toolFiles("binlog_info") {
		text, err := readFact(filepath.Join(dir, of))
		name, _, _ := strings.Cut(text, "\t")
		if err != nil || !binlogFile.MatchString(name) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// isEncrypted reports whether a file of InnoDB or of Aria is encrypted at rest.
func isEncrypted(path string) (bool, error) {
	name := filepath.Base(path)
	redo, system := strings.HasPrefix(name, "ib_logfile"), strings.HasPrefix(name, "ibdata")
	if ext := filepath.Ext(name); !redo && !system && ext != ".ibd" && ext != ".MAI" && !strings.HasPrefix(name, "undo") {
		return false, nil
	}
	head, err := beginningOf(path)
	if err != nil {
		return false, err
	}
	if redo {
		return atrest.RedoEncrypted(head), nil
	}
	if aria, err := atrest.ParseAria(head); err == nil {
		return aria.Encrypted, nil
	}
	space, err := atrest.ParseInnoDB(head, system)
	return err == nil && space.HasScheme(head), nil
}

func beginningOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, atrest.HeadSize)
	n, err := f.ReadAt(head, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return head[:n], err
}

// pairs reads lines of NAME = VALUE.
func pairs(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(line, "="); found {
			out[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return out
}

// innodbOption matches a line of backup-my.cnf that describes what InnoDB's files are like.
var innodbOption = regexp.MustCompile(`^innodb_[a-z_]+\s*=`)

// ownOptions are the lines of another server's backup-my.cnf that a server here is started with: what InnoDB's files
// are like, and neither plugins nor directories.
func ownOptions(text string) string {
	out := "[mysqld]\n"
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, _, _ := strings.Cut(line, "=")
		if innodbOption.MatchString(line) && !strings.Contains(name, "_dir") && !strings.Contains(name, "encrypt") {
			out += line + "\n"
		}
	}
	return out
}
