package plan

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// After the status has gone back to an earlier state (a restore of etcd), epochs repeat: a member may have gone on, in
// lines of history that the status does not know, under the same epochs as the cluster has since, or later ones. Only
// the names of lines distinguish them.

// ahead reports whether a is more advanced than b: by the line of history, then by the seqno. Data of the line that the
// status names come first.
func ahead(s galera.Snapshot, a, b galera.Member) bool {
	if x, y := inLine(s, a), inLine(s, b); x != y {
		return x
	}
	if a.Line != b.Line {
		return a.Line > b.Line
	}
	return a.Position.Seqno > b.Position.Seqno
}

// inLine reports whether the member's data come from the line of history that the status names, or from the one that
// the operation in progress begins.
func inLine(s galera.Snapshot, m galera.Member) bool {
	return s.Line != "" && slices.Contains(m.Lines, s.Line) || s.Operation != nil && slices.Contains(m.Lines,
		s.Operation.ID)
}

// linesDiverged reports whether the data of m and best went on in two lines, and whether their epochs do not show which
// of them the cluster is in.
func linesDiverged(s galera.Snapshot, m, best galera.Member) bool {
	if len(m.Lines) == 0 || len(best.Lines) == 0 || slices.Contains(best.Lines, m.Lines[0]) ||
		slices.Contains(m.Lines, best.Lines[0]) {
		return false
	}
	mine, theirs := inLine(s, m), inLine(s, best)
	return m.Line == best.Line || mine && theirs || theirs && m.Line > best.Line
}
