package config

import (
	"os"
	"path/filepath"
	"time"
)

// prepareLog is where the transfer script lets mariadb-backup write while it prepares.
const prepareLog = "mariabackup.prepare.log"

// PreparingSince returns whether mariadb-backup --prepare has started after since; a log of an earlier SST may still be
// there.
func PreparingSince(dataDir string, since time.Time) bool {
	info, err := os.Stat(filepath.Join(dataDir, prepareLog))
	return err == nil && info.ModTime().After(since)
}
