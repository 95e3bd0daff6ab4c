package policy

import (
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// MaxHole is how many numbers one hole may have.
const MaxHole = 1000

// Answer is that of a node which is asked what follows a transaction.
type Answer int

const (
	// Unknown is the answer of a node that is away, or has failed.
	Unknown Answer = iota
	// Lacks reports that the two transactions on both sides are neighbours in one of its binary logs.
	Lacks
	// Purged reports that it does not have what follows any more, or that its server was started in between.
	Purged
	// Has reports that it has a transaction of the hole.
	Has
	// Differs reports that the transaction of that number is another one there: its numbers show nothing.
	Differs
	// HasAndRefused is one that has it, but does not go on from the archive.
	HasAndRefused
)

// Asked is a node, and what it has answered.
type Asked struct {
	Node   string
	Answer Answer
	Why    string
	// Own reports whether the node has written a binary log of its own since before the first of the two transactions:
	// what comes in one after a full copy, or after a run without one, shows nothing of what was committed before.
	Own bool
	// Near reports that its server was not started between the two: it has counted all there is between them.
	Near bool
}

// HoleAnswer is what a hole means.
type HoleAnswer struct {
	// Act is Follow for a hole that is explained, Wait, Refuse for the node that has it, or Begin for a gap.
	Act Act
	// Prefer is the node that has what the other one lacks.
	Prefer string
	Why    string
}

// JudgeHole decides what numbers mean that a node lacks. A transaction made with sql_log_bin=0 is missing on its own
// node only; a statement that has failed everywhere takes a number, and is in no binary log. So what two nodes lack
// that ran with a binary log is no transaction. Where that cannot be shown, transactions may be missing: waited states
// that those that are away were waited for.
func JudgeHole(after, next binlog.GTID, nodes []Asked, waited bool) HoleAnswer {
	var lack, purged, differ, unknown []string
	for _, n := range nodes {
		switch n.Answer {
		case Has:
			return HoleAnswer{Act: Refuse, Prefer: n.Node, Why: "it lacks a transaction after " + after.String() + ", which " +
				n.Node + " has"}
		case Lacks:
			lack = append(lack, n.Node)
		case Purged:
			purged = append(purged, n.Node)
		case Differs:
			differ = append(differ, n.Node)
		case HasAndRefused:
			return HoleAnswer{Act: Refuse, Why: fmt.Sprintf(
				"it lacks a transaction after %s, which %s has; that one does not go on either: %s", after, n.Node, n.Why)}
		case Unknown:
			unknown = append(unknown, n.Node+" ("+n.Why+")")
		}
	}
	numbers := fmt.Sprintf("between %s and %s", after, next)
	switch size := next.Seq - after.Seq - 1; {
	case size > MaxHole:
		return HoleAnswer{Act: Begin, Why: fmt.Sprintf("%d transactions %s are on no node", size, numbers)}
	case len(lack) >= 2:
		return HoleAnswer{Act: Follow, Why: "no transaction: " + strings.Join(lack, " and ") + " have nothing there"}
	case len(unknown) > 0 && !waited:
		return HoleAnswer{Act: Wait, Why: "what is " + numbers + " is not known: waiting for " + strings.Join(unknown, ", ")}
	}
	return HoleAnswer{Act: Begin, Why: fmt.Sprintf("what is %s cannot be shown to be no transaction: %s", numbers,
		shown(lack, purged, differ, unknown))}
}

func shown(lack, purged, differ, unknown []string) string {
	var out []string
	for _, group := range []struct {
		nodes []string
		what  string
	}{{lack, "lacks it"}, {purged, "was started, or has purged its binary log, in between"},
		{differ, "numbers transactions differently"}, {unknown, "does not answer"}} {
		if len(group.nodes) > 0 {
			out = append(out, strings.Join(group.nodes, ", ")+" "+group.what)
		}
	}
	return strings.Join(out, "; ")
}

// JudgeNext decides whether the first transaction of a binary log that was begun is the next one, though its number is:
// a server counts on from its binary log, which lacks what was made there with sql_log_bin=0. nodes are all, the one
// that is followed included: Lacks of one reports that the same transaction comes next there. A server that was not
// started in between has counted. Otherwise two nodes have to show it by binary logs of their own: after a recovery all
// others may have a copy of the one that lacks a transaction.
func JudgeNext(last, next binlog.GTID, nodes []Asked, waited bool) HoleAnswer {
	var own, copied, purged, differ, unknown []string
	near := false
	for _, n := range nodes {
		switch n.Answer {
		case Has, HasAndRefused:
			return HoleAnswer{Act: Refuse, Why: fmt.Sprintf("after %s, %s is another transaction here than on %s", last, next,
				n.Node)}
		case Lacks:
			if near = near || n.Near; n.Own {
				own = append(own, n.Node)
			} else {
				copied = append(copied, n.Node)
			}
		case Purged:
			purged = append(purged, n.Node)
		case Differs:
			differ = append(differ, n.Node)
		case Unknown:
			unknown = append(unknown, n.Node+" ("+n.Why+")")
		}
	}
	switch {
	case near || len(own) >= min(2, len(nodes)): // of one node there is no other one to ask
		return HoleAnswer{Act: Follow}
	case len(unknown) > 0 && !waited:
		return HoleAnswer{Act: Wait, Why: fmt.Sprintf("whether %s follows %s is not known: waiting for %s", next, last,
			strings.Join(unknown, ", "))}
	}
	why := fmt.Sprintf("servers were started after %s, and the binary logs of two nodes do not show that %s follows", last,
		next)
	for _, group := range []struct {
		nodes []string
		what  string
	}{{own, "alone shows it"}, {copied, "got a full copy, or ran without a binary log, since"}} {
		if len(group.nodes) > 0 {
			why += "; " + strings.Join(group.nodes, ", ") + " " + group.what
		}
	}
	if rest := shown(nil, purged, differ, unknown); rest != "" {
		why += "; " + rest
	}
	return HoleAnswer{Act: Begin, Why: why}
}
