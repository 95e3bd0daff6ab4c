package policy

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Outside is the error of a target that a backup and the archive do not lead to. What it offers is accepted.
type Outside struct {
	Target binlog.Target
	Backup string
	Why    string
	// From and To are the times that can be restored, zero for none; First and Last the transactions.
	From, To    time.Time
	First, Last binlog.GTID
}

// Error implements error.
func (o Outside) Error() string {
	from, to := o.From.UTC().Format(time.RFC3339), o.To.UTC().Format(time.RFC3339)
	offer := fmt.Sprintf("what can be restored is from %s (%s) to %s (%s)", from, o.First, to, o.Last)
	switch {
	case o.From.IsZero() && o.First == binlog.GTID{}:
		offer = "no point in time can be restored: restore the backup itself, or name another one"
	case o.From.IsZero():
		offer = fmt.Sprintf("what can be restored is from the GTID %s to %s", o.First, o.Last)
	case o.First == binlog.GTID{}:
		offer = fmt.Sprintf("what can be restored is from %s to %s", from, to)
	}
	return fmt.Sprintf("%s cannot be restored: %s. With the backup %s, %s", o.Target, o.Why, o.Backup, offer)
}

// outside returns the error of a walk that did not arrive. What it offers is decided as a target is, from the end of
// the segment on that holds the last transaction of the base: heads do not report which transactions of that one are in
// it.
func outside(w walk, heads Heads, through binlog.Through, why string) Outside {
	o := Outside{Target: w.target, Backup: w.base.ID, Why: why}
	i := w.start(heads)
	if i < 0 {
		return o
	}
	i = reached(heads, i, w.base)
	start := heads.At(i)
	accepted := func(t binlog.Target) bool {
		_, why, err := choose(heads, w.base, t, through)
		return Before(w.base, t) == "" && why == "" && err == nil
	}
	for _, g := range []binlog.GTID{w.end.GTID, w.last.Start()} {
		if atOrAfter(g, start.Last) && accepted(binlog.Target{GTID: start.Last}) && accepted(binlog.Target{GTID: g}) {
			o.First, o.Last = start.Last, g
			break
		}
	}
	from := binlog.Later(w.base.Time.Add(-1), start.LastTime).Truncate(time.Second).Add(time.Second)
	for _, at := range []time.Time{w.end.Time.Truncate(time.Second), w.last.LastTime.Truncate(time.Second)} {
		if !at.Before(from) && accepted(binlog.Target{Time: from}) && accepted(binlog.Target{Time: at}) {
			o.From, o.To = from, at
			break
		}
	}
	return o
}

// start is the index of the segment that holds the last transaction of the base, -1 for none.
func (w walk) start(heads Heads) int {
	chain := heads.At(w.first).Chain
	for i := heads.holding(w.first, w.base.GTID); i < heads.len(); i++ {
		h := heads.At(i)
		end := h.Seqno
		if h.Seqnos && len(h.Anchors) > 0 {
			end = h.SeqnoAtLeast(h.Last.Seq)
		}
		if h.Chain >= chain && !h.Empty() && belongs(w.base, h) && atOrAfter(h.Last, w.base.GTID) && end >= w.base.Seqno {
			return i
		}
	}
	return -1
}

// reached is the index of the last segment that a base may hold the first transaction of, or i: its node may number
// transactions lower than the archive.
func reached(heads Heads, i int, b Base) int {
	for k := i + 1; k < heads.len() && belongs(b, heads.At(k)) && heads.breaks(k) == ""; k++ {
		switch h := heads.At(k); {
		case h.Empty():
		case !b.reaches(h):
			return i
		default:
			i = k
		}
	}
	return i
}
