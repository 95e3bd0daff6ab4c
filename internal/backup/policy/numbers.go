package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Number is how another node numbers a transaction of the node that is followed.
type Number struct {
	Node string
	// Seqno of the transaction, its number on the node that is followed and on this one, and how much higher that is.
	Seqno      int64
	Own, There uint64
	Ahead      int64
}

// Differ reports why nodes do not number transactions alike, "" when they do as far as is known: a node begins with the
// number after that of the last transaction in its own binary log, so that one which was started after a transaction
// with sql_log_bin=0, or a statement that has failed, is behind the others. spread is how far the numbers of one
// transaction are from each other, and seqno that of the latest transaction that shows it.
func Differ(known []Number) (why string, spread uint64, seqno int64) {
	least, most := int64(0), int64(0)
	var out []string
	for _, n := range known {
		if n.Ahead == 0 {
			continue
		}
		least, most, seqno = min(least, n.Ahead), max(most, n.Ahead), max(seqno, n.Seqno)
		out = append(out, fmt.Sprintf("the transaction of the seqno %d has the number %d, and %d on %s", n.Seqno, n.Own,
			n.There, n.Node))
	}
	slices.Sort(out)
	return strings.Join(out, "; "), uint64(most - least), seqno //nolint:gosec // not negative
}
