package policy

import (
	"fmt"
	"slices"
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
	// Lacks reports that the two transactions on both sides are neighbours in one of its binary logs, or that nothing
	// follows the first of them there.
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
// by binary logs of their own is no transaction: a copy lacks what its donor does. Where that cannot be shown,
// transactions may be missing: waited states that those that are away were waited for.
func JudgeHole(after, next binlog.GTID, nodes []Asked, waited bool) HoleAnswer {
	for _, n := range nodes {
		switch n.Answer {
		case Has:
			return HoleAnswer{Act: Refuse, Prefer: n.Node, Why: "it lacks a transaction after " + after.String() + ", which " +
				n.Node + " has"}
		case HasAndRefused:
			return HoleAnswer{Act: Refuse, Why: fmt.Sprintf(
				"it lacks a transaction after %s, which %s has; that one does not go on either: %s", after, n.Node, n.Why)}
		}
	}
	all := sorted(nodes)
	numbers := fmt.Sprintf("between %s and %s", after, next)
	switch size := next.Seq - after.Seq - 1; {
	case size > MaxHole:
		return HoleAnswer{Act: Begin, Why: fmt.Sprintf("%d transactions %s are on no node", size, numbers)}
	case len(all.own) >= 2:
		return HoleAnswer{Act: Follow, Why: "no transaction: " + strings.Join(all.own, " and ") + " have nothing there"}
	case len(all.unknown) > 0 && !waited:
		return HoleAnswer{Act: Wait, Why: "what is " + numbers + " is not known: waiting for " +
			strings.Join(all.unknown, ", ")}
	}
	return HoleAnswer{Act: Begin, Why: fmt.Sprintf("what is %s cannot be shown to be no transaction: %s", numbers,
		all.why("lacks it"))}
}

// answers are the nodes that show something by a binary log of their own, or by another one's, and those that do not.
type answers struct{ own, copied, purged, differ, unknown []string }

func sorted(nodes []Asked) (all answers) {
	for _, n := range nodes {
		switch {
		case n.Answer == Lacks && n.Own:
			all.own = append(all.own, n.Node)
		case n.Answer == Lacks:
			all.copied = append(all.copied, n.Node)
		case n.Answer == Purged:
			all.purged = append(all.purged, n.Node)
		case n.Answer == Differs:
			all.differ = append(all.differ, n.Node)
		case n.Answer == Unknown:
			all.unknown = append(all.unknown, n.Node+" ("+n.Why+")")
		}
	}
	return all
}

// why is what each node answers. own describes one that shows it.
func (all answers) why(own string) string {
	var out []string
	for _, group := range []struct {
		nodes []string
		what  string
	}{{all.own, own}, {all.copied, "got a full copy, or ran without a binary log, since"},
		{all.purged, "was started, or has purged its binary log, in between"},
		{all.differ, "numbers transactions differently"}, {all.unknown, "does not answer"}} {
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
	for _, n := range nodes {
		if n.Answer == Has || n.Answer == HasAndRefused {
			return HoleAnswer{Act: Refuse, Why: fmt.Sprintf("after %s, %s is another transaction here than on %s", last, next,
				n.Node)}
		}
	}
	if slices.ContainsFunc(nodes, func(n Asked) bool { return n.Near && n.Answer == Lacks }) {
		return HoleAnswer{Act: Follow}
	}
	return judgeOwn(fmt.Sprintf("%s follows %s", next, last), nodes, waited)
}

// JudgeLast decides whether the last transaction that is archived is the last one that was committed: what was made
// with sql_log_bin=0 is in no binary log any more once all others have a copy of that node's. nodes are all, the one
// that is followed included: Lacks of one reports that nothing comes next there. One that Has what the followed one
// lacks, or does not give yet, is waited for: that is read before anything is called complete.
func JudgeLast(last binlog.GTID, nodes []Asked, waited bool) HoleAnswer {
	for _, n := range nodes {
		if n.Answer == Has || n.Answer == HasAndRefused {
			return HoleAnswer{Act: Wait, Prefer: n.Node, Why: fmt.Sprintf("%s has a transaction after %s", n.Node, last)}
		}
	}
	return judgeOwn(fmt.Sprintf("nothing follows %s", last), nodes, waited)
}

// judgeOwn decides whether two nodes show something by binary logs of their own.
func judgeOwn(what string, nodes []Asked, waited bool) HoleAnswer {
	all := sorted(nodes)
	switch {
	case len(all.own) >= min(2, len(nodes)): // of one node there is no other one to ask
		return HoleAnswer{Act: Follow}
	case len(all.unknown) > 0 && !waited:
		return HoleAnswer{Act: Wait, Why: fmt.Sprintf("whether %s is not known: waiting for %s", what,
			strings.Join(all.unknown, ", "))}
	}
	return HoleAnswer{Act: Begin, Why: fmt.Sprintf("the binary logs of two nodes do not show that %s: %s", what,
		all.why("alone shows it"))}
}
