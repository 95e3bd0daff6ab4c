// Package policy decides about the archive of a cluster's binary log: whether it goes on from a node, what a missing
// number means, which backup leads to which point in time, and which segments nothing needs. It is pure: a model runs
// it (model_test.go).
package policy

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Base is a backup that transactions can be applied to.
type Base struct {
	ID string
	// Session of the archive in which it was made, Line the line of history of its data, and Seqno and GTID where they
	// end.
	Session string
	Line    binlog.Line
	Seqno   int64
	GTID    binlog.GTID
	// Time the copy was complete at.
	Time time.Time
}

// from is the earliest time that a base and what follows lead to. heads are the segment that holds its last
// transaction, or one before it, the one before that, which may end another chain, and those that begin before the
// base's seqno, for its node may number transactions lower than the archive, or may be of before that time.
func (b Base) from(heads ...binlog.Head) time.Time {
	at := b.Time
	for _, h := range heads {
		switch {
		case h.Unreadable != "":
			at = binlog.Later(at, b.Time.Add(binlog.ClockSlack+1))
		case !h.Empty() && (atOrAfter(b.GTID, h.First) || b.reaches(h)):
			at = binlog.Later(at, h.LastTime.Add(1), h.LateCeiling)
		case !h.Empty() && !h.LateCeiling.IsZero() && h.Soonest(h.FirstTime).Before(at):
			at = binlog.Later(at, h.LateCeiling) // doubtful
		}
	}
	return at
}

// reaches reports whether a base holds the first transaction of a segment by its seqno, or may hold it.
func (b Base) reaches(h binlog.Head) bool {
	least := h.SeqnoAtLeast(h.First.Seq)
	return b.Seqno >= least && (least > 0 || b.Seqno > h.StartSeqno())
}

// why reports why a backup cannot be the base of anything, "" when it can.
func (b Base) why() string {
	switch {
	case b.GTID == binlog.GTID{}:
		return "it names no GTID: it was made before spec.backup.pointInTime was enabled"
	case !b.Line.Known() || b.Seqno <= 0:
		return "it does not name its line of history: it was made by an earlier build"
	}
	return ""
}

// belongs reports whether the data of a base are a beginning of what a chain has: its line is one of the chain's, and
// ends not before the base where a later line begins. It is not from before the chain began in Galera's history: it has
// the transactions of other servers of that time, and those that were in no binary log.
func belongs(b Base, h binlog.Head) bool {
	found := false
	for _, l := range h.Lines {
		if found && b.Seqno > l.Start {
			return false
		}
		found = found || l.Same(b.Line) && (l.After == binlog.GTID{} || atOrAfter(b.GTID, l.After))
	}
	return found && b.Session == h.Session && (h.From > 0 || len(h.Foreign) == 0) && b.Seqno >= h.From
}

// reachedBy reports whether what follows a base is in a segment, or in later ones of its chain. The numbers of two
// nodes may differ: what is before the segment is in the base by its seqno.
func reachedBy(h binlog.Head, b Base) bool { return belongs(b, h) && startsBefore(h, b) }

// startsBefore reports whether a segment starts at or before the end of a base of its chain. The base may be of a line
// of history that the chain continued in later.
func startsBefore(h binlog.Head, b Base) bool {
	return atOrAfter(b.GTID, h.Start()) && h.StartSeqno() > 0 && b.Seqno >= h.StartSeqno()
}

// ahead reports why the number of a base is not where its seqno is in a segment, "" when nothing shows that: its node
// has numbered transactions differently.
func ahead(h binlog.Head, b Base) string {
	number := min(b.GTID.Seq, h.Last.Seq)
	if least := h.SeqnoAtLeast(number); h.Unreadable == "" && !h.Empty() && least > b.Seqno {
		return b.lacks(number, least)
	}
	return ""
}

// lacks reports that the archive has a number, which is not after the base's, at a seqno that is.
func (b Base) lacks(number uint64, least int64) string {
	return fmt.Sprintf("the backup %s ends at %s and the seqno %d, and the archive has the number %d at the seqno %d or "+
		"later: the backup's node numbered transactions differently", b.ID, b.GTID, b.Seqno, number, least)
}

func atOrAfter(g, other binlog.GTID) bool { return g == other || g.Follows(other) }

// BaseOf is what a backup describes itself, as the base of an archive of a domain.
func BaseOf(m manifest.Manifest, domain uint32) Base {
	b := Base{ID: m.ID, Session: m.Session, Line: m.Line, Time: m.CompletedAt}
	b.GTID, _ = binlog.In(m.GTID, domain)
	if p, err := galera.ParsePosition(m.Position); err == nil && p.UUID == m.Line.History {
		b.Seqno = p.Seqno
	}
	return b
}
