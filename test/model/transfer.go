package model

// transfer brings the joiners of a new Primary view to the group's state: by IST where the donor's
// gcache holds all they missed, else by SST.
func (w *group) transfer(carriers, present set) {
	donor := w.donorOf(carriers)
	if donor < 0 {
		w.turnAway(carriers, present)
		if w.complete(carriers) == 1<<w.n {
			w.meetArbitrator(present)
		}
		return
	}
	group := w.nodes[donor].srv.received
	if w.arbitrated() && present.has(w.n) {
		w.nodes[w.n].srv.received = group
	}
	for j := range w.n {
		if present.has(j) && !carriers.has(j) {
			w.receive(j, donor, group)
		}
	}
}

// turnAway ends the joiners of a group whose only member with data is a stuck donor, or frozen: Galera lets a
// joiner repeat its request until it is stopped.
func (w *group) turnAway(carriers, present set) {
	for d := range w.n {
		if !carriers.has(d) || !w.nodes[d].srv.stuck && w.nodes[d].trouble != frozen {
			continue
		}
		for j := range w.n {
			if present.has(j) && !carriers.has(j) {
				w.leave(j)
				w.nodes[j].agent.serverGone()
			}
		}
		return
	}
}

// transferEnds ends the SST to the member, for its donor.
func (w *group) transferEnds(j int) {
	if from := w.nodes[j].srv.donor; from != 0 && !w.nodes[j].srv.killed {
		d := &w.nodes[from-1].srv
		if d.on && !d.view.primary {
			d.stuck = true
			w.truth.reached |= ReachedStuckDonor
		}
	}
}

// donorOf prefers a Synced member; a joiner during its own SST, or a stuck donor, cannot
// be one.
func (w *group) donorOf(carriers set) int {
	best := -1
	for j := range w.n {
		s := &w.nodes[j].srv
		if !carriers.has(j) || s.donor != 0 || s.stuck || w.nodes[j].trouble == frozen {
			continue
		}
		if best < 0 || w.nodes[best].vol.head != w.nodes[best].srv.received && w.nodes[j].vol.head == s.received {
			best = j
		}
	}
	return best
}

// receive gives a joiner the write-sets it lacks. A donor has made all durable that the group had sent before the
// request (Galera drains its monitors in process_state_req).
func (w *group) receive(j, donor int, group write) {
	n, h := &w.nodes[j], &w.past
	w.applyAll(donor)
	same := n.vol.data == dataPresent && h.uuid(n.vol.head) == h.uuid(group)
	switch {
	case same && h.seqno(n.vol.head) > h.seqno(group):
		// Galera: "Local state seqno is greater than group seqno": the server aborts.
		w.drop(j)
		return
	case same && !n.vol.marked && !n.vol.voted && h.seqno(n.vol.head)+1 >= w.nodes[donor].vol.cacheFrom:
		if !h.includes(group, n.vol.head) {
			w.violate("a member with other write-sets of the same numbers joined unnoticed")
		}
		if n.vol.half != w.nodes[donor].vol.half {
			w.violate(HalfStatement)
		}
		n.srv.received = group
		w.truth.reached |= ReachedIST
	default:
		n.vol.data, n.vol.head, n.vol.safe, n.vol.marked, n.vol.half, n.vol.voted = dataIncomplete, 0, false, false, false,
			false
		n.rare.freshData()
		n.srv.received = group
		n.srv.donor = int8(donor + 1)
		w.truth.reached |= ReachedSST
	}
	if d := &w.nodes[donor].vol.book.lines; d[0].epoch > n.vol.book.lines[0].epoch {
		n.vol.book.lines = *d
	}
}

// finishTransfer completes the full transfer to the member.
func (w *group) finishTransfer(j int) bool {
	n := &w.nodes[j]
	if !n.srv.on || n.srv.donor == 0 || n.srv.hung {
		return false
	}
	d := &w.nodes[n.srv.donor-1]
	if !d.srv.on || d.srv.hung || d.trouble == frozen || d.srv.view.id != n.srv.view.id ||
		!w.connected(j, int(n.srv.donor-1)) {
		w.drop(j)
		return true
	}
	if n.trouble == frozen { // its donor ends what it cannot take (lifecycle.JoinerWatch)
		if w.patient || !d.srv.view.primary {
			return false
		}
		w.drop(j)
		return true
	}
	n.vol.data, n.vol.head, n.vol.half = dataPresent, d.vol.head, d.vol.half
	n.vol.cacheFrom = w.past.seqno(d.vol.head) + 1
	n.srv.donor = 0
	if w.past.includes(n.vol.head, n.srv.received) {
		n.srv.received = n.vol.head // the donor was a little further than when it was asked
	}
	return true
}

// endTransfers aborts the joiners that were copying from the member.
func (w *group) endTransfers(donor int) {
	for j := range w.n {
		if s := &w.nodes[j].srv; s.on && int(s.donor) == donor+1 {
			w.drop(j)
		}
	}
}

// drop is a mariadbd that aborts; its agent notices.
func (w *group) drop(j int) {
	w.crash(j)
	if n := &w.nodes[j]; n.srv.on { // killed, and not ended
		n.agent.phase, n.agent.alone = phaseStopping, false
		return
	}
	w.nodes[j].agent.serverGone()
}
