package datadir

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// WriteFile writes a file so that after a crash either the old or the new content is there:
// a temporary file next to it, synced, renamed over it, and the directory synced.
func WriteFile(path string, data []byte, mode os.FileMode) error {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when all went well
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return err
	}
	return SyncDir(dir)
}

// Remove removes a file and makes that last. A file that is not there is no error.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a directory last.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}

// SyncAll makes everything on the file system that holds dir last.
func SyncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = unix.Syncfs(int(d.Fd()))
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}

// notCopied are files of a data directory that no full transfer takes along, or takes along only as far
// as they are in use.
var notCopied = []string{"galera.cache*", "gcache.page.*", "ib_logfile*", "ibtmp*", "mariabackup.*.log"}

// SSTSize returns about how many bytes an SST of a data directory has.
func SSTSize(dir string) int64 {
	return sizeWithout(dir, func(name string) bool {
		return slices.ContainsFunc(notCopied, func(pattern string) bool {
			ok, _ := filepath.Match(pattern, name)
			return ok
		})
	})
}

// Size returns the bytes of all files below dir; files that vanish meanwhile do not count.
func Size(dir string) int64 {
	return sizeWithout(dir, func(name string) bool { return strings.HasPrefix(name, "galera.cache") })
}

func sizeWithout(dir string, skip func(name string) bool) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || skip(entry.Name()) {
			return nil //nolint:nilerr // a file that has gone is not there to be counted
		}
		if info, err := entry.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
