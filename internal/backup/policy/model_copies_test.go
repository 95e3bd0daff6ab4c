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
	w.viewChanges()
	w.say("node %d has a copy of node %d", i, donor)
}

// viewChanges has the group change its view, as each start of a server does. Streams are not gone on with in another
// one.
func (w *world) viewChanges() {
	w.view++
	for k := range w.archivers {
		if !w.steadfast {
			w.archivers[k].drop()
		}
	}
}

// logs begins binary logs, after a time without them.
func (w *world) logs() {
	for i := range w.nodes {
		w.nodes[i].file++
		w.nodes[i].since = w.seqno
	}
}

func init() {
	mutants["a stream goes on in another view of the group"] = func(d *decisions) { d.steadfast = true }
	known["a stream goes on in another view of the group"] = restarted
}

// restarted is a schedule in which all nodes are started again while one is followed, without a binary log at first. A
// backup holds what was written then, and names the number of the transaction before.
var restarted = []event{
	{29, 510, 84}, {26, 641, 570}, {2, 290, 197}, {5, 359, 611}, {2, 60, 210}, {6, 325, 945}, {8, 629, 18},
	{17, 779, 385}, {9, 283, 378}, {12, 24, 605}}
