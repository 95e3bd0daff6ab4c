package policy

import (
	"sort"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Earlier finds a chain before one of a number that has the GTID of a target, too, and returns its last segment; the
// zero Head for none. Numbers repeat: transactions may have been lost, and a node whose binary log lacks the last ones
// gives their numbers again, in the same line of history. Only where a chain begins with the very transaction that the
// one before it ends with, by its content, it is the same. Data that end there may have more, which has no GTID: what
// was committed without a binary log, or with sql_log_bin=0. Seqnos show that nothing was.
func Earlier(a Archive, chain uint64, t binlog.Target) (binlog.Head, error) {
	if t.GTID == (binlog.GTID{}) {
		return binlog.Head{}, nil
	}
	i := sort.Search(len(a.Numbers), func(i int) bool { return a.Numbers[i] >= chain })
	sum, seqno := "", int64(0)
	if i < len(a.Numbers) && a.Numbers[i] == chain {
		h, err := a.Head(chain)
		if err != nil {
			return binlog.Head{}, err
		}
		if h.Begins && h.Last == t.GTID {
			sum, seqno = h.LastSum, h.Seqno
		}
	}
	for left := a.Numbers[:i]; len(left) > 0; {
		last, err := a.Head(left[len(left)-1])
		if err != nil {
			return binlog.Head{}, err
		}
		if last.Unreadable != "" {
			left = left[:len(left)-1]
			continue
		}
		cut := sort.Search(len(left)-1, func(i int) bool { return left[i] >= last.Chain })
		first, err := a.Head(left[cut])
		if err != nil {
			return binlog.Head{}, err
		}
		same := last.Last == t.GTID && last.LastSum == sum && sum != "" && seqno > 0 && seqno <= last.Held
		if !same && atOrAfter(last.Last, t.GTID) && (first.Unreadable != "" || atOrAfter(t.GTID, first.Start())) {
			return last, nil
		}
		left = left[:cut]
	}
	return binlog.Head{}, nil
}
