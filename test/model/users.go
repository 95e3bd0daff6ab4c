package model

// approve is a user who runs the command that the condition of a blocked recovery prints, after
// having made sure that the members the operator misses are certainly not running.
func (w *faults) approve() bool {
	t := w.ops[0].advice
	if t.member == 0 || w.api.trust == t && w.truth.approved {
		return false
	}
	for i := range w.n {
		if w.nodes[i].srv.killed || t.running.has(i) && !w.serves(i) {
			continue // its server runs no further instruction, or is ended first
		}
		if w.nodes[i].srv.on && (!w.ops[0].reports[i].known || w.nodes[i].srv.view.primary) {
			return false
		}
		if !w.nodes[i].srv.on && w.nodes[i].agent.up && w.nodes[i].agent.phase == phaseStarting {
			return false
		}
	}
	w.api.trust, w.truth.approved = t, true
	w.truth.approvals[t.epoch%int64(len(w.truth.approvals))] = t
	w.truth.reached |= ReachedApproval
	w.settleOperators()
	return true
}

// repair is a user who gives a member that cannot join an empty volume.
func (w *faults) repair(i int) bool {
	n := &w.nodes[i]
	if !w.anyServes() || n.srv.on {
		return false
	}
	switch n.agent.failure {
	case failureForeign, failureDiverged, failureBook:
		return w.wipe(i)
	}
	return false
}
