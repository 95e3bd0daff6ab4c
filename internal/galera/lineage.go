package galera

import "slices"

// RememberedLines is how many lines of history a member remembers: one begins with every
// bootstrap and every rebuilt quorum.
const RememberedLines = 8

// Line is a stretch of a cluster's history between one bootstrap (or rebuilt quorum) and the next.
type Line struct {
	// ID of the operation that began the line. It is random: two lines never share it, although epochs repeat when the
	// status goes back.
	ID string `json:"id,omitempty"`
	// Epoch of the order that began the line; 0 when there is none.
	Epoch int64 `json:"epoch,omitempty"`
	// Start is the position the line went on from.
	Start Position `json:"start,omitzero"`
	// Copied reports whether the line began with marked data (Member.Marked): members that do not come from it get a full
	// copy.
	Copied bool `json:"copied,omitempty"`
}

// same reports whether both are one line. An earlier book may not know that it is Copied.
func (l Line) same(other Line) bool { return l.begunBy(other) && l.Start == other.Start }

// begunBy reports whether the same operation began both.
func (l Line) begunBy(other Line) bool { return l.ID == other.ID && l.Epoch == other.Epoch }

// Lineage is the history that a member's data come from: the line they belong to and those before
// it, at most RememberedLines in all. The zero value means that nothing is known.
type Lineage struct {
	Line
	// Earlier are the lines before, the latest first. It is nil when they are not known (the book was
	// lost), and empty when there are none.
	Earlier []Line `json:"earlier"`
}

// FirstLine is the lineage of a history that begins with l.
func FirstLine(l Line) Lineage { return Lineage{Line: l, Earlier: []Line{}} }

// Then returns the lineage of data that went on in line l. A line that is begun again, by an order
// of the same operation, is one line.
func (l Lineage) Then(next Line) Lineage {
	if l.Epoch == 0 {
		return Lineage{Line: next}
	}
	if l.begunBy(next) {
		next.Copied = next.Copied || l.Copied
		return Lineage{Line: next, Earlier: slices.Clone(l.Earlier)}
	}
	return Lineage{Line: next, Earlier: Forget(append([]Line{l.Line}, l.Earlier...), RememberedLines-1)}
}

// Forget keeps the latest lines, so many. Who does not come from a Copied one that is forgotten does not come from the
// last one kept.
func Forget(lines []Line, keep int) []Line {
	if len(lines) <= keep {
		return lines
	}
	kept := slices.Clone(lines[:keep])
	if slices.ContainsFunc(lines[keep:], func(l Line) bool { return l.Copied }) {
		kept[keep-1].Copied = true
	}
	return kept
}

// Copies reports whether a member of the lineage own gets a full copy in l, whatever its position: since the last line
// that both come from, one of them has gone on from marked data.
func (l Lineage) Copies(own Lineage) bool {
	common := int64(0)
	if i := slices.IndexFunc(own.Lines(), func(line Line) bool {
		return slices.ContainsFunc(l.Lines(),
			line.same)
	}); i >= 0 {
		common = own.Lines()[i].Epoch
	}
	since := func(line Line) bool { return line.Copied && line.Epoch > common }
	return slices.ContainsFunc(l.Lines(), since) || slices.ContainsFunc(own.Lines(), since)
}

// Lines returns all lines that are known, the latest first.
func (l Lineage) Lines() []Line {
	if l.Epoch == 0 {
		return nil
	}
	return append([]Line{l.Line}, l.Earlier...)
}

// IDs returns the IDs of all lines that are known, the latest first.
func (l Lineage) IDs() []string {
	var ids []string
	for _, line := range l.Lines() {
		ids = append(ids, line.ID)
	}
	return ids
}

// Equal reports whether both know the same lines.
func (l Lineage) Equal(other Lineage) bool {
	return l.Line == other.Line && slices.Equal(l.Earlier, other.Earlier)
}

// Forgotten reports whether the lines that own knows are all older than those that l remembers: whether its data parted
// from l's cannot be known. beyond reports whether they reach beyond the start of a line that l remembers. Otherwise a
// copy of l's data loses nothing that was not given up: each of those bootstraps was approved without this member.
func (l Lineage) Forgotten(own Lineage, p Position) (forgotten, beyond bool) {
	lines := l.Lines()
	if own.Epoch == 0 || l.Earlier == nil || len(lines) == 0 {
		return false, false
	}
	if oldest := lines[len(lines)-1]; oldest.Start.Seqno == 0 || own.Epoch >= oldest.Epoch {
		return false, false
	}
	return true, slices.ContainsFunc(lines, func(line Line) bool {
		return line.Start.UUID == p.UUID &&
			p.Seqno > line.Start.Seqno
	})
}

// Diverged reports whether data of the lineage own that reach to p hold write-sets that l never had, and
// returns the position up to which they are certainly the same. They do when they went on beyond the
// start of a line of theirs that l does not know, or beyond the start of one of l's that is later than the
// last line both have.
func (l Lineage) Diverged(own Lineage, p Position) (from Position, diverged bool) {
	common := int64(0)
	for _, line := range own.Lines() {
		if line.Start.UUID != p.UUID {
			continue // of other data
		}
		if slices.ContainsFunc(l.Lines(), line.same) || l.Epoch != 0 && l.Earlier == nil && line.Epoch < l.Epoch {
			common = line.Epoch
			break
		}
		if p.Seqno > line.Start.Seqno {
			return line.Start, true
		}
		// Nothing was written in that line.
	}
	for _, line := range l.Lines() {
		if line.Epoch > common && line.Start.UUID == p.UUID && p.Seqno > line.Start.Seqno {
			return line.Start, true
		}
	}
	return Position{}, false
}
