package archival

import (
	"fmt"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// End is where a node ends that accepts no writes because another site is to take over.
type End struct {
	Node string
	// By is the number of the attempt that the node knows, 0 while it may accept writes, or does not answer.
	By int64
	// Position is what it has in its binary log, Settled whether it has received nothing more.
	Position string
	Settled  bool
}

// lastOf is the last transaction of all nodes, and of the archive, or why there is none yet.
func lastOf(f Facts, number int64) (last binlog.GTID, why string) {
	archived, err := binlog.Parse(f.Archived.GTID)
	if err != nil {
		return last, "how far the archive goes is not known"
	}
	var open, behind []string
	for _, e := range f.Ends {
		switch {
		case e.By != number:
			open = append(open, e.Node)
		case !e.Settled:
			behind = append(behind, e.Node)
		}
	}
	switch {
	case len(f.Ends) == 0:
		return last, "the nodes are not known"
	case len(open) > 0:
		return last, "waiting until these refuse writes, or until their agents are replaced if those are of an earlier " +
			"release: " + strings.Join(open, ", ")
	case len(behind) > 0:
		return last, "waiting until these are Synced, with all nodes in one component and nothing left to apply: " +
			strings.Join(behind, ", ")
	}
	for _, e := range f.Ends {
		switch at, _ := binlog.In(e.Position, archived.Domain); {
		case at == archived:
		case at.Seq == 0 && v1alpha1.Rejoins(f.Cluster):
			return last, fmt.Sprintf("%s ends at %q, without any transaction of the archive's, which ends at %s: waiting until "+
				"both are the same. If the data are those of the other cluster, as this one had followed it before its status was "+
				"restored from a backup: delete this cluster and its claims, and create it anew without "+
				"spec.replicaOf.replaces", e.Node, e.Position, archived)
		default:
			return last, fmt.Sprintf("%s ends at %q, and the archive at %s: waiting until both are the same", e.Node,
				e.Position, archived)
		}
	}
	// It is a second of the operator's: what nodes have reported may be older. A statement that is later still makes the
	// token void once the archive has it.
	if f.Alike.IsZero() || f.Now.Sub(f.Alike) < settleTime {
		return last, fmt.Sprintf("all nodes end at %s: waiting for what may have begun before they refused writes", archived)
	}
	return archived, ""
}
