package serving

import (
	"fmt"
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

// differs is why the transaction of a follower's position is not known to be the archive's, "" where it is: sent is the
// mark with which it was sent, is that of the archive, which has it in the line of history of; beyond reports whether
// that is a later one than the follower's.
func differs(at binlog.GTID, sent, is mark, beyond bool, of binlog.Line) string {
	switch {
	case sent.known() && is.known() && (sent.sum != is.sum || beyond && sent != is):
		return fmt.Sprintf("the transaction %s of this cluster is another one in the archive: the cluster that is followed "+
			"has lost transactions that this one has", at)
	case beyond && (!sent.known() || !is.known()):
		return fmt.Sprintf("what this cluster has up to %s may have been lost by the cluster that it follows, which has "+
			"gone on in the line of history %s; nothing shows that both have the same", at, of)
	}
	return ""
}

// after reports whether a segment is of a later line of history than line.
func after(h binlog.Head, line string) bool {
	return h.Line().String() != line &&
		slices.ContainsFunc(h.Lines, func(l binlog.Line) bool { return l.String() == line })
}
