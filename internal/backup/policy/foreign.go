package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Foreign returns the transactions of other servers that are later than those of before the chain. The archive holds
// the cluster's own domain: what is replicated from elsewhere under another one would be missing in a restore.
func Foreign(at binlog.Head, now []binlog.GTID) (later []binlog.GTID) {
	for _, g := range now {
		known := false
		for _, k := range at.Foreign {
			known = known || k.Domain == g.Domain && k.Server == g.Server && k.Seq >= g.Seq
		}
		if !known {
			later = append(later, g)
		}
	}
	return later
}

// Ended returns what other servers have written before a chain begins: what is seen in the nodes' binary logs, and
// where the domains end that the cluster has followed up to a position. Not every node has those in its binary log: a
// full copy comes without. why is what keeps the chain from its begin: a domain that goes on in the cluster's own, of
// number own, or that is not, or not known to be, complete in the data, which applied is the position of. What is
// missing there would be in no base, and in no segment.
func Ended(own uint32, end, applied string, seen []binlog.GTID) (foreign []binlog.GTID, why string) {
	foreign = slices.Clone(seen)
	for text := range strings.SplitSeq(end, ",") {
		last, err := binlog.Parse(strings.TrimSpace(text))
		if err != nil {
			return nil, err.Error()
		}
		at, _ := binlog.In(applied, last.Domain)
		switch {
		case last == binlog.GTID{}:
			continue
		case last.Domain == own:
			return nil, fmt.Sprintf("the cluster writes in the GTID domain %d, and so did the source that it has followed up "+
				"to %s. Have all nodes stop and start again, so that they write in a domain of the cluster's own: set "+
				"spec.hibernate, and remove it once no pod is left", own, last)
		case at == binlog.GTID{} || at.Seq < last.Seq:
			return nil, fmt.Sprintf("its data have %q (gtid_slave_pos) of what the cluster has followed up to %s", applied, last)
		}
		foreign = append(foreign, Foreign(binlog.Head{Foreign: foreign}, []binlog.GTID{last})...)
	}
	return foreign, ""
}
