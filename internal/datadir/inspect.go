package datadir

import (
	"os"
	"path"
	"path/filepath"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// BackupMarks is the file in a data directory that lists which backups were read from it.
const BackupMarks = "galera-operator-backups.json"

// by-products are what Galera, mariadbd and the transfer scripts leave in a directory that holds
// no database: an empty directory stays Empty with them in it.
var byProducts = []string{
	"lost+found", grastateFile, "gvwstate.dat", "galera.cache", "gcache.page.*", "GRA_*.log",
	"wsrep_sst.pid", "sst_in_progress", "rsync_sst.conf", "rsync_sst.pid", "rsync_sst_complete",
	"stunnel.conf", "stunnel.pid", "xtrabackup_ist", "mariadb_backup_galera_info", "donor_galera_info",
	"mariabackup.*.log", "*.err", "ddl_recovery.log", "ddl_recovery-backup.log", "tc.log", "*.pid", "*.pem",
	"aria_log_control", "aria_log.????????", "core", "core.*", "mysql_upgrade_info", "mariadb_upgrade_info", BackupMarks,
}

// leftovers are the files of dead transfer scripts that would make the next one fail or mistake
// itself for the old one.
var leftovers = []string{
	"wsrep_sst.pid", "sst_in_progress", ".sst", "rsync_sst.conf", "rsync_sst.pid", "rsync_sst_complete",
	"stunnel.conf", "stunnel.pid", "xtrabackup_ist", "mariadb_backup_galera_info", "donor_galera_info",
}

// methodRsync writes into the data directory itself, so nothing on disk distinguishes a directory it has
// half written from one it has not touched.
const methodRsync = "Rsync"

// Contents is what can be seen of a data directory without opening the database.
type Contents struct {
	// Database is true if there is anything beyond by-products.
	Database bool
	// Tablespace is true if InnoDB's system tablespace is there.
	Tablespace bool
	// SST is true if mariadb-backup's directory of an SST is there.
	SST bool
}

// Inspect lists a directory. One that does not exist counts as empty.
func Inspect(dir string) (Contents, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return Contents{}, nil
	}
	if err != nil {
		return Contents{}, err
	}
	var l Contents
	for _, e := range entries {
		switch {
		case e.Name() == ".sst":
			l.SST = true
		case e.Name() == "ibdata1":
			l.Tablespace, l.Database = true, true
		case !isByProduct(e.Name()):
			l.Database = true
		}
	}
	return l, nil
}

func isByProduct(name string) bool {
	for _, pattern := range byProducts {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// Classify returns the state of a directory, by its contents and the marker of an unfinished join.
func Classify(l Contents, j *Joining) galera.DataState {
	switch {
	case l.SST:
		return galera.DataIncomplete
	case j != nil && (j.SST || j.Method == methodRsync) && l.Database:
		return galera.DataIncomplete
	case j != nil && l.Database && !l.Tablespace:
		return galera.DataIncomplete
	case l.Database:
		return galera.DataPresent
	}
	return galera.DataEmpty
}

// Clean removes what dead transfer scripts left. When incomplete is set it removes Galera's state files as well, so
// that the next join is an SST and the directory never counts as data; the rest stays until the SST replaces it. The
// caller has set the joining marker before.
func Clean(dir string, incomplete bool) error {
	names := leftovers
	if incomplete {
		names = append([]string{grastateFile, "gvwstate.dat"}, leftovers...)
	}
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		return nil
	}
	return SyncDir(dir)
}

// RemoveCache removes a cache of write-sets from the data directory, for a server that has its cache elsewhere.
func RemoveCache(dir string) error {
	files := []string{filepath.Join(dir, gcacheFile)}
	pages, err := filepath.Glob(filepath.Join(dir, "gcache.page.*"))
	if err != nil {
		return err
	}
	for _, f := range append(files, pages...) {
		if err := os.RemoveAll(f); err != nil {
			return err
		}
	}
	return nil
}

// CleanTmp removes the temporary directories of dead transfer scripts (mktemp -d).
func CleanTmp(dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, "tmp.??????????"))
	if err != nil {
		return err
	}
	for _, f := range found {
		if err := os.RemoveAll(f); err != nil {
			return err
		}
	}
	return nil
}

// Replace makes from, a complete directory, the data directory. It refuses when that one
// holds anything but by-products.
func Replace(from, dir string) error {
	l, err := Inspect(dir)
	if err != nil {
		return err
	}
	if l.Database || l.SST {
		return &os.PathError{Op: "replace", Path: dir, Err: os.ErrExist}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	if err := SyncAll(from); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !os.IsNotExist(err) {
		return err // not empty: something has come in between
	}
	if err := os.Rename(from, dir); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(dir))
}
