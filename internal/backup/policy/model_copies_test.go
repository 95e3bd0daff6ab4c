package policy_test

import "slices"

// copyTo has a node get a full copy of another one's data. With them it gets the position in that one's binary log, and
// none of its transactions, or those of its last file.
func (w *world) copyTo(i, donor int, counts, file bool) {
	n, d := &w.nodes[i], &w.nodes[donor]
	if i == donor || n.away || d.away {
		return
	}
	n.log, n.ahead, n.since = slices.Clone(d.log), d.ahead, w.seqno
	n.purged = len(n.log)
	for file && n.purged > d.purged && n.log[n.purged-1].file == n.log[len(n.log)-1].file {
		n.purged--
	}
	n.file = max(n.file, d.file) + 1
	if counts && len(n.log) > 0 {
		n.ahead = w.counted(n)
	}
	w.skewed = w.skewed || n.ahead != 0
	w.view++
	for k := range w.archivers { // the view has changed
		w.archivers[k].drop()
	}
	w.say("node %d has a copy of node %d", i, donor)
}

// logs begins binary logs, after a time without them.
func (w *world) logs() {
	for i := range w.nodes {
		w.nodes[i].file++
		w.nodes[i].since = w.seqno
	}
}
