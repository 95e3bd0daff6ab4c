package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// mostEast is how far a server's time may be ahead of UTC, with what clocks may differ by.
const mostEast = 15 * time.Hour

// largestInfo bounds what is read of the description of a backup.
const largestInfo = 1 << 20

// refuseEarlier fails for a folder with files that were uploaded before the backup was begun: they are of an earlier
// one, as when the next day's is uploaded to the same folder, and nothing within them shows it. They may be replaced
// just now.
func (b storedBackup) refuseEarlier(ctx context.Context, all []storedFile) error {
	for _, f := range all {
		if !slices.Contains(toolFiles("info"), f.key) || f.size > largestInfo {
			continue
		}
		r := b.reader(ctx, b.folder()+f.key, f.size)
		var text strings.Builder
		err := copyStored(&text, r)
		_ = r.Close()
		if err != nil {
			return err
		}
		if names := uploadedBefore(pairs(text.String()), all); len(names) > 0 {
			return because(task.ReasonBackupDamaged, fmt.Errorf("the folder %q has files that were uploaded before its backup "+
				"was begun: %s. Upload all of one backup, also files that are as they were, to a path of its own, which was "+
				"empty before", b.path, some(names)))
		}
	}
	return nil
}

// uploadedBefore are the names of such files. The backup's time is one of an unknown zone. It is pure.
func uploadedBefore(info map[string]string, all []storedFile) (names []string) {
	begun, err := time.Parse(time.DateTime, info["start_time"])
	if err != nil || strings.HasPrefix(strings.ToUpper(info["incremental"]), "Y") {
		return nil // what an increment has not changed may have been there before
	}
	for _, f := range all {
		if f.modified > 0 && time.Unix(0, f.modified).Before(begun.Add(-mostEast)) {
			names = append(names, f.key)
		}
	}
	return names
}
