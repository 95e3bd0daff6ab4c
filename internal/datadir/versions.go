package datadir

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

const versionsFile = "versions.json"

// upgradeInfos are the files in which mariadb-upgrade and mariadb-install-db leave the version they were
// of: up to 10.11 the first, later the second. A full transfer brings neither along.
var upgradeInfos = []string{"mysql_upgrade_info", "mariadb_upgrade_info"}

// Versions are the servers that have used a data directory. Unknown is "".
type Versions struct {
	// Used is the latest mariadbd that was started on it. From that moment on it may hold what an earlier
	// series misreads: InnoDB converts its own structures before the first client is let in.
	Used string `json:"used"`
	// Tables is the version the system tables are of: that of the last mariadb-upgrade that ended well.
	Tables string `json:"tables,omitempty"`
}

// Versions returns what is known of the data directory dir. Where an agent has not noted anything yet, the
// database's own files show it.
func (m Markers) Versions(dir string) (Versions, error) {
	var v Versions
	data, err := os.ReadFile(filepath.Join(m.Dir, versionsFile))
	switch {
	case err == nil:
		if err := json.Unmarshal(data, &v); err != nil {
			return Versions{}, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return Versions{}, err
	}
	for _, name := range upgradeInfos {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Versions{}, err
		}
		reported := strings.TrimSpace(strings.Trim(string(data), "\x00"))
		if v.Used == "" || galera.Older(v.Used, reported) {
			v.Used = reported
		}
		if v.Tables == "" || galera.Older(v.Tables, reported) {
			v.Tables = reported
		}
	}
	return v, nil
}

// SetVersions notes them.
func (m Markers) SetVersions(v Versions) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(m.Dir, versionsFile), data, 0o600)
}
