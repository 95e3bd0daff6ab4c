package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Servers returns why no chain begins while the last transactions of nodes, which are of one domain, are of different
// servers; "" if they are not. A chain has one server: the archive would begin anew with each node that it follows. A
// node without a transaction differs from none.
func Servers(last map[string]binlog.GTID) (why string) {
	var at []string
	ids := map[uint32]bool{}
	for _, node := range slices.Sorted(maps.Keys(last)) {
		if g := last[node]; g != (binlog.GTID{}) {
			ids[g.Server] = true
			at = append(at, fmt.Sprintf("%s is at %s", node, g))
		}
	}
	if len(ids) < 2 {
		return ""
	}
	return "the nodes give the cluster's transactions different server_ids: " + strings.Join(at, ", ") +
		". Restore a backup into a new cluster with spec.backup.pointInTime"
}
