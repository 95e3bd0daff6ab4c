package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Break reports why a segment does not go on from the one before it, "" when it does.
func Break(before, h binlog.Head) string {
	name := binlog.Name(h.Number)
	switch {
	case h.Number != before.Number+1:
		return missing(before.Number+1, h.Number-1)
	case h.Unreadable != "":
		return fmt.Sprintf("the segment %s cannot be read: %s", name, h.Unreadable)
	case before.Unreadable != "":
		return fmt.Sprintf("the segment %s cannot be read: %s", binlog.Name(before.Number), before.Unreadable)
	case !Follows(before, h):
		return fmt.Sprintf("the segment %s does not follow the segment %s that is in the store: one of them was exchanged",
			name, binlog.Name(before.Number))
	case h.Begins:
		return fmt.Sprintf("after %s it begins anew at %s (%s)", before.Last, h.Last, h.Why)
	case h.Previous != before.Last || h.Chain != before.Chain || h.Session != before.Session:
		return fmt.Sprintf("the segment %s goes on after %s, and the one before ends at %s", name, h.Previous, before.Last)
	case h.Line().Same(before.Line()) && len(h.Lines) == len(before.Lines):
		return ""
	case h.Continues && len(h.Lines) > len(before.Lines) && slices.Equal(h.Lines[:len(before.Lines)], before.Lines) &&
		hold(h.Lines[len(before.Lines):], before):
		return ""
	}
	return fmt.Sprintf("the segment %s is of the line of history %s, and the one before of %s", name, h.Line(),
		before.Line())
}

// Follows reports whether a segment was written after another one that was there.
func Follows(before, h binlog.Head) bool { return h.Before == before.Checksum }

// Joins reports whether a chain begins exactly where the segment before it ends, so that who follows the archive goes
// on without a loss: in the same line of history, with the same last transaction by its content, and with nothing in
// between that has no GTID, or is of other servers. A restore begins with a backup of the chain all the same.
func Joins(before, h binlog.Head) bool {
	readable := before.Unreadable == "" && h.Unreadable == ""
	return h.Begins && h.Number == before.Number+1 && readable && Follows(before, h) &&
		h.Last == before.Last && h.Last != (binlog.GTID{}) && h.LastSum == before.LastSum && h.LastSum != "" &&
		h.Line().Same(before.Line()) && h.Line().Known() && logged(before, h) && len(Foreign(before, h.Foreign)) == 0
}

// logged reports whether all that was written between two segments has a GTID. A chain begins where the one before it
// ends because nothing shows that nothing follows: all nodes may have got a copy of one that lacks a transaction in its
// binary log, or have run without one. Only Galera's own numbers show that nothing was written.
func logged(before, h binlog.Head) bool { return h.Seqno > 0 && h.Seqno <= before.Held }

// hold reports whether lines of history begin with all that the archive has. A later one may begin before an earlier
// one.
func hold(lines []binlog.Line, at binlog.Head) bool {
	return at.Seqno > 0 && !slices.ContainsFunc(lines, func(l binlog.Line) bool {
		return l.History != at.Line().History || l.Copied || at.Seqno > l.Start
	})
}

func missing(from, to uint64) string {
	if from >= to {
		return fmt.Sprintf("the segment %s is missing in the store", binlog.Name(from))
	}
	return fmt.Sprintf("the segments %s to %s are missing in the store", binlog.Name(from), binlog.Name(to))
}

// Node is what a node that can be followed reports.
type Node struct {
	// Lines of history that its data belong to, the present one first; nil when they are not known.
	Lines []binlog.Line
	// Domain of the cluster's GTIDs.
	Domain uint32
}

// Act is what an archiver does with a node.
type Act int

const (
	// Follow it from where the archive ends.
	Follow Act = iota
	// Continue in the line of Step.Lines, and follow it.
	Continue
	// Wait and ask again: it is not known yet.
	Wait
	// Refuse the node: the archive does not go on from it. Another one may do.
	Refuse
	// Begin a new chain.
	Begin
)

// Step is what to do with a node.
type Step struct {
	Act   Act
	Why   string
	Lines []binlog.Line
}

// Resume decides how the archive goes on with a node. at is its last segment, the zero Head for an empty archive.
func Resume(at binlog.Head, session string, n Node) Step {
	if len(n.Lines) == 0 || !n.Lines[0].Known() {
		return Step{Act: Wait, Why: "its agent does not report its line of history"}
	}
	switch {
	case at.Number == 0:
		return Step{Act: Begin, Why: "it is the first"}
	case at.Session != session:
		return Step{Act: Begin, Why: "spec.backup.pointInTime was disabled, and enabled again"}
	case n.Domain != at.Last.Domain:
		return Step{Act: Refuse, Why: fmt.Sprintf("its GTIDs have the domain %d, and the archive's %d", n.Domain,
			at.Last.Domain)}
	}
	return resumeLine(at, n)
}

func resumeLine(at binlog.Head, n Node) Step {
	line := at.Line()
	for i, l := range n.Lines {
		if !l.Same(line) {
			continue
		}
		if i == 0 {
			return Step{Act: Follow}
		}
		later := n.Lines[:i]
		switch {
		case slices.ContainsFunc(later, func(l binlog.Line) bool { return l.Copied }):
			return Step{Act: Refuse, Why: "the cluster was recovered from data that may have a part of a statement"}
		case !hold(later, at):
			least := slices.MinFunc(later, func(a, b binlog.Line) int { return cmp.Compare(a.Start, b.Start) }).Start
			return Step{Act: Refuse, Why: fmt.Sprintf(
				"the cluster was recovered at the seqno %d, and the archive has transactions up to %d: those after it were lost",
				least, at.Seqno)}
		case len(at.Lines)+i > binlog.MaxLines:
			return Step{Act: Begin, Why: fmt.Sprintf("the chain has more than %d lines of history", binlog.MaxLines)}
		}
		lines := append([]binlog.Line{}, at.Lines...)
		for k := i - 1; k >= 0; k-- {
			next := n.Lines[k]
			next.After = at.Last
			lines = append(lines, next)
		}
		return Step{Act: Continue, Lines: lines}
	}
	if n.Lines[0].History == line.History && n.Lines[0].Epoch < line.Epoch {
		return Step{Act: Wait, Why: fmt.Sprintf("it is of the line of history %s, and the archive of a later one",
			n.Lines[0])}
	}
	return Step{Act: Refuse, Why: fmt.Sprintf("its data do not come from the line of history %s, which the archive has",
		line)}
}
