package sites

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// past is which lines of history the first cluster has had, and which one each of its transactions is of: one that has
// lost transactions counts their numbers again.
type past struct {
	line     int
	of       []int
	archived []binlog.Line
}

// lineOf is a line of history of the first cluster.
func lineOf(n int) binlog.Line { return binlog.Line{History: history, ID: fmt.Sprintf("line-%d", n)} }

// written is which line each transaction of the first cluster is of: also once that was emptied, as the archive has them.
func (w *world) written() []int {
	if w.sites[0].emptied {
		return w.of
	}
	own := int(w.sites[0].own) //nolint:gosec // some transactions
	w.of = w.of[:min(len(w.of), own)]
	for len(w.of) < own {
		w.of = append(w.of, w.line)
	}
	return w.of
}

// common is up to where a site has the transactions that the first cluster has.
func (w *world) common(s *site) (n int) {
	for of := w.written(); n < min(len(of), len(s.of)) && of[n] == s.of[n]; n++ {
		continue
	}
	return n
}

// lacks is how many transactions of the first cluster a site lacks, nil one that has none.
func (w *world) lacks(s *site) int {
	if s == nil {
		return len(w.written())
	}
	return len(w.written()) - w.common(s)
}

// lacksOfClients is how many of these no account with READ ONLY ADMIN has written.
func (w *world) lacksOfClients(s *site) (n int) {
	for i := w.common(s); i < len(w.written()); i++ {
		n += count(!slices.Contains(w.byReadOnlyAdmin, uint64(i)+1)) //nolint:gosec // some transactions
	}
	return n
}

// recover has the first cluster begin anew after all of its nodes have ended: with everything, or with what is archived.
func (w *world) recover(x int) {
	first := w.sites[0]
	if w.recreated || first.emptied || first.gone || first.c.Spec.ReplicaOf != nil {
		return
	}
	w.written()
	lost := first.own - w.archive[directory(first.c)]
	if x%3 == 0 {
		lost = 0
	}
	first.own -= lost
	w.byReadOnlyAdmin = slices.DeleteFunc(w.byReadOnlyAdmin, func(n uint64) bool { return n > first.own })
	w.written()
	for _, n := range first.nodes {
		n.kill()
	}
	w.line++
	w.say("the first cluster is recovered, and has lost %d", lost)
	w.seen["recovered"]++
}

// archiveLines has the archive go on in the present line of history.
func (w *world) archiveLines(end uint64) {
	for n := len(w.archived); n <= w.line; n++ {
		l := lineOf(n)
		if n > 0 {
			l.After = binlog.GTID{Server: 1, Seq: end}
		}
		w.archived = append(w.archived[:n:n], l)
	}
}

// archivedLine is the line in which the archive has a transaction.
func (w *world) archivedLine(n uint64) binlog.Line {
	return binlog.Head{Lines: w.archived}.LineOf(binlog.GTID{Server: 1, Seq: n})
}

// sourceEnd is up to where a site is sent what the first one has.
func (w *world) sourceEnd(s *site) uint64 {
	src := &s.source
	if !src.up {
		return 0
	}
	end := w.archivedEnd(s)
	if n := w.sites[0].nodes[0]; n.up && !w.cut(stream, s) && src.line == lineOf(w.line).String() &&
		w.common(s) == len(s.of) {
		end = max(end, n.own)
	}
	return end
}

// archivedEnd is up to where NAME-source sends what is archived. A transaction that the archive has in a later line than
// the one that is recorded has to be the one that this process has sent; and nothing of such a line is sent.
func (w *world) archivedEnd(s *site) uint64 {
	src, at := &s.source, s.followed
	src.refused = false
	if at > src.end {
		return 0 // it is waited for
	}
	of := w.archivedLine(at)
	switch within := policy.Within(of, w.archived, src.line); {
	case within && w.common(s) < len(s.of):
		w.broken = s.c.Namespace + " goes on after a transaction that is another one in the archive"
		return 0
	case within:
		src.sent = max(src.sent, at)
	case src.sent < at || w.common(s) < len(s.of):
		src.refused = true
		return 0
	default:
		src.pinned = of.String()
		return 0
	}
	end := src.end
	for i, l := range w.archived[:len(w.archived)-1] {
		if next := w.archived[i+1]; l.String() == src.line {
			if end = min(end, next.After.Seq); at >= end {
				src.pinned = next.String()
			}
		}
	}
	return end
}

// unlike is why a site that has the archive's last transaction, by its number, is not known to have that one.
func (w *world) unlike(s *site) string {
	src, end := &s.source, w.archive[s.source.dir]
	if w.within(w.archivedLine(end), w.archived, src.line) {
		return ""
	}
	if of := w.written(); src.sent < end || end > uint64(min(len(s.of), len(of))) || s.of[end-1] != of[end-1] {
		return "the transaction " + gtid(end) + " is another one in the archive, or not known to be the same"
	}
	return ""
}

// Parts of schedules.
var (
	// streamed has the second site apply a transaction that is not archived, and recovered has the first one lose it.
	streamed = join(write, []event{{doChannel, 0, 0}, {doCatchUp, 1, 0}, {doCatchUp, 3, 0}, {doReport, 1, 0},
		{doReport, 3, 0}, {doServing, 0, 1}, {doCluster, 1, 1}}).events
	recovered = join([]event{{doRecover, 0, 1}}, firstActs, reported, write, []event{{doStart, 0, 0}}).events
)

// TestTheSameNumber: a cluster that was recovered with a loss, and has written as many transactions since, hands over to
// none that has those which were lost.
func TestTheSameNumber(t *testing.T) {
	w := play(t, shipped(), join(streamed, recovered, token, asked, opened))
	second := w.sites[1]
	if w.broken != "" || second.accepts() || second.c.Spec.Cutover == nil || !stalled(second) {
		t.Errorf("%s: accepts %v, stalled %v, %+v\n%s", w.broken, second.accepts(), stalled(second), second.c.Spec.Cutover,
			strings.Join(w.trace, "\n"))
	}
}

// TestRecoveredWithout: one that was recovered, and has lost nothing that the other one has, hands over.
func TestRecoveredWithout(t *testing.T) {
	rounds := []event{{doRound, 0, 0}, {doRound, 0, 0}, {doRound, 0, 0}}
	for name, of := range map[string]schedule{
		"what was sent is archived later": join(streamed, []event{{doRecover, 0, 0}}, firstActs, reported, token, asked,
			opened),
		"nothing was sent":     join([]event{{doRecover, 0, 1}}, firstActs, reported, token, asked, opened),
		"it has written since": join([]event{{doRecover, 0, 1}}, firstActs, reported, write, rounds, token, asked, opened),
	} {
		w := play(t, shipped(), of)
		if second := w.sites[1]; w.broken != "" || !second.accepts() || !w.planned {
			t.Errorf("%s: %s: %+v\n%s", name, w.broken, second.c.Status.Replication, strings.Join(w.trace, "\n"))
		}
	}
}

// TestLacksOfClients: what accounts with READ ONLY ADMIN have written excuses the loss of no other transaction.
func TestLacksOfClients(t *testing.T) {
	w := newWorld(t, shipped(), 2)
	first, second := w.sites[0], w.sites[1]
	w.opened = []*site{second}
	first.own++
	w.byRoot(first.nodes[0])
	if w.lacks(second) != 2 || w.lacksOfClients(second) != 1 {
		t.Errorf("lacks %d, of clients %d", w.lacks(second), w.lacksOfClients(second))
	}
	w.recover(1) // up to what is archived: the numbers are counted again, by clients
	first.own += 2
	if w.lacksOfClients(second) != 2 {
		t.Errorf("recovered: lacks %d, of clients %d", w.lacks(second), w.lacksOfClients(second))
	}
}
