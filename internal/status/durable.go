package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// flushes are the settings that decide when a write is on the disk, with the values that mean before it is
// acknowledged. The default is one of them.
var flushes = []struct {
	setting string
	values  []string
	lost    string
	// archived reports whether it matters only with an archive of the binary log.
	archived bool
}{
	{"innodb-flush-log-at-trx-commit", []string{"1", "3"},
		"writes acknowledged in the last second are lost if all nodes lose power", false},
	{"sync-binlog", []string{"1"}, "the archive can lack the last transactions after a power cut of all nodes", true},
}

// durable is True when an acknowledged write is on the disk of the node that acknowledged it.
func durable(in Input) condition {
	for _, key := range slices.Sorted(maps.Keys(in.Config.Settings)) {
		value := in.Config.Settings[key]
		for _, f := range flushes {
			if mycnf.Normalise(key) != f.setting || slices.Contains(f.values, strings.TrimSpace(value)) || f.archived &&
				!in.cluster().ArchivesBinlog() {
				continue
			}
			return no(v1alpha1.ReasonFlushedLate, fmt.Sprintf(
				"spec.mariadb.config sets %s to %s: %s. Set it to 1 if that must not happen", key, value, f.lost))
		}
	}
	return yes(v1alpha1.ReasonDurable, "an acknowledged write is on the disk of the node that acknowledged it")
}
