package serving

import (
	"slices"
	"sync"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// mark is what tells a transaction from another one with the same number: its content, and when its last statement
// began, to the second. A cluster that has lost transactions and counts on needs more than a second for that, so that
// the later one has another time even where an application has repeated the statement. All nodes log both alike.
type mark struct {
	sum  string
	time int64
}

// known reports whether it is the mark of a transaction.
func (m mark) known() bool { return m.sum != "" }

// marker takes the events of transactions.
type marker struct{ time int64 }

// see takes an event. At binlog.End it returns the mark. The times of the first and of the last event are those of the
// commit, which the node that has executed the transaction logs and others do not know.
func (m *marker) see(kind int, e binlog.Event, t binlog.Transaction) mark {
	switch {
	case kind == binlog.Begin:
		m.time = 0
	case kind == binlog.Inside, kind == binlog.End && m.time == 0: // one statement alone
		m.time = e.Time().Unix()
	}
	if kind != binlog.End {
		return mark{}
	}
	return mark{t.Sum, m.time}
}

// remembered is how many of the transactions that were sent last are remembered.
const remembered = 1 << 16

// memory has the marks of what was sent to replicas. It goes with the process: what was sent before is judged by the
// lines of history.
type memory struct {
	mu    sync.Mutex
	marks map[binlog.GTID]mark
	order []binlog.GTID
	next  int
}

// add remembers a transaction. It returns false if one with the same number and another content was before: a replica
// may have a part of that.
func (m *memory) add(g binlog.GTID, is mark) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, there := m.marks[g]; there {
		m.marks[g] = is
		return before.sum == is.sum
	}
	if m.marks == nil {
		m.marks = map[binlog.GTID]mark{}
	}
	if len(m.order) < remembered {
		m.order = append(m.order, g)
	} else {
		delete(m.marks, m.order[m.next])
		m.order[m.next] = g
		m.next = (m.next + 1) % remembered
	}
	m.marks[g] = is
	return true
}

func (m *memory) of(g binlog.GTID) mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.marks[g]
}

// standing is how a position stands to the line of history in which a follower may have been sent what the archive did
// not have yet.
type standing int

const (
	// within: the transaction is of that line, or of one before it, and so is everything that was sent up to it.
	within standing = iota
	// beyond: the archive has the transaction in a later line. The follower's may be one that was lost.
	beyond
)

// stands compares the segment with a follower's position with the follower's line, which is HISTORY/ID, "" for none: of
// a follower that was sent the archive alone everything is the archive's. last is the archive's last segment.
func stands(at, last binlog.Head, line string) standing {
	if line == "" || at.Line().String() == line {
		return within
	}
	index := func(lines []binlog.Line, name string) int {
		return slices.IndexFunc(lines, func(l binlog.Line) bool { return l.String() == name })
	}
	of, own := index(last.Lines, line), index(last.Lines, at.Line().String())
	if of < 0 || own < 0 || own > of {
		return beyond
	}
	return within
}

// after reports whether a segment is of a later line of history than line.
func after(h binlog.Head, line string) bool {
	return h.Line().String() != line &&
		slices.ContainsFunc(h.Lines, func(l binlog.Line) bool { return l.String() == line })
}
