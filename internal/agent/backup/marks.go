package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/datadir"
)

const (
	// maxMarks bounds how many copies of one data directory can be the base of an increment.
	maxMarks = 100
	// bootFile names the present start of the host's kernel.
	bootFile = "/proc/sys/kernel/random/boot_id"
)

// mark is of a copy that was given of this data directory. mariadb-backup takes any LSN for an increment, and notices
// nothing: of another directory, or of a state that the directory has since gone back behind, the result is a mix of
// both. So the marks lie in the directory itself: an SST, a restore and a new volume leave none, and an older snapshot
// of the volume has none of what was copied after it.
type mark struct {
	ID string `json:"id"`
	// LSN is where an increment of it begins.
	LSN uint64 `json:"lsn"`
	// Boot is the start of the host's kernel: with the page cache, InnoDB may lose the end of its log, which the copy has.
	Boot string `json:"boot"`
	// Version of the server; Keys and Algorithm are what it encrypted with.
	Version   string            `json:"version"`
	Keys      map[string]string `json:"keys,omitempty"`
	Algorithm string            `json:"algorithm,omitempty"`
}

// increment returns why no increment of a copy can be given, "" when one can. now is what a copy of today would have.
func increment(marks []mark, id string, lsn uint64, now mark) string {
	i := slices.IndexFunc(marks, func(m mark) bool { return m.ID == id && m.LSN == lsn })
	switch {
	case i < 0:
		return fmt.Sprintf("the data directory is not the one that the backup %s was read from", id)
	case marks[i].Boot != now.Boot || now.Boot == "":
		return fmt.Sprintf("the host was started again, or is another one, since the backup %s", id)
	case series(marks[i].Version) != series(now.Version):
		return fmt.Sprintf("the server was upgraded from %s to %s", marks[i].Version, now.Version)
	case !maps.Equal(marks[i].Keys, now.Keys) || marks[i].Algorithm != now.Algorithm:
		return "the encryption keys have changed"
	}
	return ""
}

// series is the first two numbers of a version.
func series(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// boot is "" when it is not known.
func boot() string {
	text, _ := os.ReadFile(bootFile)
	return strings.TrimSpace(string(text))
}

func marksPath(data string) string { return filepath.Join(data, datadir.BackupMarks) }

// readMarks returns none where there is no file, or one that cannot be read: a full copy is given then.
func readMarks(data string) (marks []mark) {
	text, err := os.ReadFile(marksPath(data))
	if err != nil || json.Unmarshal(text, &marks) != nil {
		return nil
	}
	return marks
}

// addMark writes one down, before anyone can take the copy for a base.
func addMark(data string, m mark) error {
	marks := slices.DeleteFunc(readMarks(data), func(old mark) bool { return old.ID == m.ID })
	marks = append(marks, m)
	text, err := json.Marshal(marks[max(0, len(marks)-maxMarks):])
	if err != nil {
		return err
	}
	return datadir.WriteFile(marksPath(data), text, 0o600)
}

// ForgetMarks forgets which copies were given of a data directory: an SST has replaced its files, perhaps in place, as
// rsync does.
func ForgetMarks(data string) error {
	if err := os.Remove(marksPath(data)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return datadir.SyncDir(data)
}
