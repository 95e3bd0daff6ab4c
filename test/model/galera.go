package model

// view is a membership of Galera's group as one of its members knows it.
type view struct {
	id      int16
	members set
	primary bool
	// garbd is the process of the arbitrator among them, 0 without one.
	garbd int16
}

// server is a mariadbd that is part of the group, or was started to become it.
type server struct {
	on   bool
	view view
	// last is the last Primary view this mariadbd was in.
	last view
	// evicted are those of the last Primary view whose servers are known to have ended.
	evicted set
	// received is the last write-set that was delivered; vol.head is the last that was applied
	// and is durable.
	received write
	// pair was loaded last; trusts are all CAs it was ever given.
	pair   publication
	trusts cas
	// donor is the member a full transfer comes from, plus one; 0 when there is none.
	donor int8
	// stuck reports whether the transfer it gave ended while it had no quorum: its group does not know of the end, and
	// takes it for a donor until its server ends.
	stuck bool
	// hung reports whether the process does nothing: it answers no client and no other member. killed reports whether it
	// was sent SIGKILL, and runs no further instruction.
	hung, killed bool
	// run distinguishes it from every other one.
	run int16
}

// whole reports whether a view is in force: all of its members run, know it and reach each other.
// Only a whole Primary view can replicate.
func (w *database) whole(v view) bool {
	if v.id == 0 {
		return false
	}
	first := -1
	for i := range w.places {
		if !v.members.has(i) {
			continue
		}
		if first < 0 {
			first = i
		}
		if !w.nodes[i].srv.on || w.nodes[i].srv.hung || w.nodes[i].srv.view.id != v.id || !w.connected(first, i) {
			return false
		}
	}
	return true
}

// serves reports whether the member is in a whole Primary view.
func (w *database) serves(i int) bool {
	s := &w.nodes[i].srv
	return s.on && s.view.primary && w.whole(s.view)
}

func (w *database) anyServes() bool {
	for i := range w.n {
		if w.serves(i) {
			return true
		}
	}
	return false
}

// donates reports whether a full transfer from the member is going on.
func (w *database) donates(i int) bool {
	for j := range w.n {
		s := &w.nodes[j].srv
		if s.on && !s.killed && int(s.donor) == i+1 {
			return true
		}
	}
	return false
}

func (w *database) synced(i int) bool {
	n := &w.nodes[i]
	return n.srv.on && n.srv.view.primary && n.srv.donor == 0 && n.vol.head == n.srv.received && !w.donates(i) &&
		!n.srv.stuck
}

// newView gives the members a common view.
func (w *group) newView(members set, primary bool) {
	w.viewIDs++
	v := view{id: w.viewIDs, members: members, primary: primary}
	if w.arbitrated() && members.has(w.n) {
		v.garbd = w.garbd.process
		if primary && members == 1<<w.n {
			w.truth.reached |= ReachedLoneArbitrator
		}
	}
	for i := range w.places {
		if members.has(i) {
			s := &w.nodes[i].srv
			s.view, w.nodes[i].rare.unnamed = v, false
			if primary {
				s.last, s.evicted = v, 0
			}
		}
	}
}

// regroup lets all servers on the member's side of the network find each other: Galera's
// membership protocol and its quorum rule.
func (w *group) regroup(i int) bool {
	if !w.nodes[i].srv.on || w.nodes[i].srv.hung {
		return false
	}
	var present set
	for j := range w.places {
		if w.nodes[j].srv.on && w.linked(i, j) {
			present |= 1 << j
		}
	}
	w.checkMixed(present)
	if v := w.nodes[i].srv.view; v.id != 0 && v.members == present && w.whole(v) {
		// All of them were split already; a non-Primary group may still be complete again.
		return false
	}
	carriers, last, still := w.carriers(present)
	primary := w.complete(carriers) != 0 && (w.quorum(carriers, last.members, still) ||
		carriers == last.members&^w.evicted(carriers))
	w.newView(present, primary)
	if primary {
		w.transfer(carriers, present)
		w.checkFormed(carriers)
	}
	return true
}

// complete returns the members that hold their component's state: all but the joiners during an SST. Without one
// of them there is no quorum (Galera's state_quorum_inherit).
func (w *group) complete(members set) (c set) {
	for j := range w.places {
		if members.has(j) && w.nodes[j].srv.donor == 0 {
			c |= 1 << j
		}
	}
	return c
}

// carriers are the members present that were in the latest Primary view; still reports whether one
// of them has not lost it.
func (w *group) carriers(present set) (c set, last view, still bool) {
	for j := range w.places {
		if s := &w.nodes[j].srv; present.has(j) && s.last.id > last.id {
			last = s.last
		}
	}
	if last.id == 0 {
		return 0, last, false
	}
	for j := range w.places {
		if s := &w.nodes[j].srv; present.has(j) && s.last.id == last.id {
			c |= 1 << j
			still = still || s.view.primary
		}
	}
	return c, last, still
}

// evict asks the member to evict another one's terminated server from its own view. It accepts one eviction in
// each view.
func (w *group) evict(i, gone int, view int16) bool {
	n := &w.nodes[i]
	if !n.agent.up || !n.srv.on || n.srv.hung || !n.srv.view.primary {
		return false
	}
	if !w.careless && (n.srv.view.id != view || n.srv.evicted != 0) {
		return false
	}
	if s := &w.nodes[gone].srv; s.on && s.view.id == view {
		w.violate(EvictedAlive)
	}
	before := n.srv.evicted
	n.srv.evicted |= 1 << gone
	w.truth.reached |= ReachedEviction
	return n.srv.evicted != before
}

// evicted are those that one of the members knows of.
func (w *group) evicted(members set) set {
	var out set
	for j := range w.n {
		if members.has(j) {
			out |= w.nodes[j].srv.evicted
		}
	}
	return out
}

// quorum: a component that never lost quorum continues with a majority of its last view; parts
// that did lose it merge by themselves when the last view is complete again. In an eager world a
// majority is enough for that, too: less friendly than Galera, as parts may come back to life
// behind the operator's back.
func (w *group) quorum(carriers, last set, still bool) bool {
	if still || w.eager {
		return 2*carriers.len() > last.len()
	}
	return carriers == last
}

// leave takes the member out of its group gracefully: it applies all it received, and the
// others continue without it, whatever their number.
func (w *group) leave(i int) {
	n := &w.nodes[i]
	v := n.srv.view
	reported := w.whole(v)
	if n.srv.donor == 0 {
		n.vol.head = n.srv.received
		n.vol.safe = reported && v.primary && v.members == 1<<i
	}
	w.transferEnds(i)
	n.srv, n.agent.ended = server{}, 0
	if rest := v.members &^ (1 << i); reported && rest != 0 {
		w.newView(rest, v.primary)
	}
	w.endTransfers(i)
}

// crash ends the member's mariadbd at once: write-sets received and not applied are lost.
func (w *group) crash(i int) {
	w.transferEnds(i)
	n := &w.nodes[i]
	if n.srv.on && n.srv.view.primary {
		n.agent.ended = n.srv.view.id
	}
	if n.srv.on && !n.trouble.dies() {
		n.srv.hung, n.srv.killed, n.agent.ended = true, true, 0
		return
	}
	n.srv = server{}
}

// replicate makes a new write-set on a member that may write. With commit it is durable there and
// acknowledged to the client; without, the member had no time for either.
func (w *group) replicate(i int, commit bool) bool {
	n := &w.nodes[i]
	if !w.serves(i) || n.srv.donor != 0 || n.trouble == frozen || !w.past.hasSpace() {
		return false
	}
	if n.srv.received != n.vol.head && !w.applyAll(i) {
		return false
	}
	ws := w.past.after(n.srv.received)
	for j := range w.places {
		if n.srv.view.members.has(j) {
			w.nodes[j].srv.received = ws
		}
	}
	if commit {
		n.vol.head = ws
		w.past.table[ws].acked = true
	}
	return true
}

// apply makes the next received write-set durable on the member.
func (w *database) apply(i int) bool {
	n := &w.nodes[i]
	if !n.srv.on || n.srv.hung || n.trouble == frozen || n.srv.donor != 0 || n.srv.received == n.vol.head {
		return false
	}
	if ws := w.past.next(n.vol.head, n.srv.received); ws != 0 {
		n.vol.head = ws
		return true
	}
	return false
}

func (w *database) applyAll(i int) bool {
	did := false
	for w.apply(i) {
		did = true
	}
	return did
}
