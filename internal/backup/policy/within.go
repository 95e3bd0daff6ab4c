package policy

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Within reports whether what a follower has up to a transaction is the archive's, which has that transaction in the
// line of history of. lines are those of the archive, and line, as HISTORY/ID, is the one in which the follower may have
// been sent what the archive did not have yet: its transaction may be one that was lost, where the archive has the
// number in a later line. "" is a follower that was sent the archive alone: it has nothing else.
func Within(of binlog.Line, lines []binlog.Line, line string) bool {
	if line == "" || of.String() == line {
		return true
	}
	index := func(name string) int {
		return slices.IndexFunc(lines, func(l binlog.Line) bool { return l.String() == name })
	}
	at, own := index(line), index(of.String())
	return at >= 0 && own >= 0 && own <= at
}
