package transfer

import (
	"os"
	"path/filepath"
	"time"
)

// prepareLog is where the transfer script lets mariadb-backup write while it prepares.
const prepareLog = "mariabackup.prepare.log"

// PreparingSince says whether the preparation of a copy has begun after a moment. A log of an
// earlier transfer may lie about.
func PreparingSince(dataDir string, since time.Time) bool {
	info, err := os.Stat(filepath.Join(dataDir, prepareLog))
	return err == nil && info.ModTime().After(since)
}
