package mariadbd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// checkpointFiles are what mariadb-backup names the file with a copy's LSNs, in its releases.
var checkpointFiles = []string{"mariadb_backup_checkpoints", "xtrabackup_checkpoints"}

// ReadLSN returns where an increment of a copy begins, and where the copy itself began: 0 for a full one.
func ReadLSN(dir string) (to, from uint64, err error) {
	var text []byte
	for _, name := range checkpointFiles {
		if text, err = os.ReadFile(filepath.Join(dir, name)); err == nil {
			break
		}
	}
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Sscanf(line, "to_lsn = %d", &to)
		_, _ = fmt.Sscanf(line, "from_lsn = %d", &from)
	}
	if to == 0 {
		return 0, 0, errors.New("mariadb-backup has written no LSN")
	}
	return to, from, nil
}
