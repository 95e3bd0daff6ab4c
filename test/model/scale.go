package model

import "github.com/galera-operator/galera-operator/internal/galera"

// resized judges another number of members at the moment it is recorded.
func (w *database) resized(from, to int) {
	if to > from {
		w.truth.reached |= ReachedLarger
	}
	for i := to; i < from; i++ {
		w.truth.reached |= ReachedSmaller
		w.checkRemoved(i, to)
	}
}

// checkRemoved: a removed member does not run, and holds no acknowledged write-set that the others lack.
func (w *database) checkRemoved(i, size int) {
	n := &w.nodes[i]
	if w.truth.split {
		return
	}
	if n.srv.on && !n.srv.killed {
		w.violate(RemovedRunning)
	}
	if n.vol.data != dataPresent {
		return
	}
	for ws := write(1); ws <= w.past.used; ws++ {
		if e := &w.past.table[ws]; e.acked && !e.gone && w.past.includes(n.vol.head, ws) && !w.heldBelow(size, ws) {
			w.violate(RemovedAhead)
		}
	}
}

func (w *database) heldBelow(size int, ws write) bool {
	for j := range size {
		if v := &w.nodes[j].vol; v.data == dataPresent && w.past.includes(v.head, ws) {
			return true
		}
	}
	return false
}

// checkLeave judges the order to leave: all others are in the component, and the writer has moved.
func (w *truth) checkLeave(s galera.Snapshot, target galera.Member) {
	for _, m := range s.Members {
		if m.Name != target.Name && !m.InPrimary() {
			w.violate(TakenWhileWeak)
		}
	}
	if target.Pod.Role == roles[rolePrimary] {
		w.violate(WriterTaken)
	}
}
