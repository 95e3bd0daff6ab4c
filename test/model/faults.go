package model

// disturb changes the member's volume while its pod is away. Such a thing takes longer than any
// cache lags or any old leader lives: see docs/model.md.
func (w *faults) disturb(i int, change func(*volume)) {
	w.podGone(i)
	change(&w.nodes[i].vol)
	w.nodes[i].rare.freshData()
	w.excuse(i)
	for k := range w.truth.formed {
		if w.truth.formed[k].member == int8(i) {
			w.truth.formed[k] = formedBy{} // that component is gone with its disk
		}
	}
	w.settleOperators()
}

// settleOperators ends old leaders, and lets caches catch up.
func (w *controllers) settleOperators() {
	w.ops[1].clear()
	if o := &w.ops[0]; o.started {
		w.seeStatus(0)
		w.seeSecrets(0)
		for i := range w.places {
			w.seePod(0, i)
		}
	}
	w.outlive()
	w.wire = [maxMessages]message{}
}

// excuse lifts the promise from acknowledged write-sets that are on no disk any more, if no
// report can show that one is missing: the disk went back to an older state of itself, it had never been
// seen with data, or the cluster's history had not been recorded yet.
func (w *platform) excuse(i int) {
	v := &w.nodes[i].vol
	older := v.data == dataPresent && w.past.uuid(v.head) == w.api.status.uuid
	if !older && w.api.status.held.has(i) && w.api.status.uuid != 0 {
		return
	}
	for ws := write(1); ws <= w.past.used; ws++ {
		if e := &w.past.table[ws]; e.acked && !w.anyDiskHolds(ws) {
			e.gone = true
		}
	}
}

// anyDiskHolds reports whether the write-set is on the disk of some member; what is only received does not count.
func (w *platform) anyDiskHolds(ws write) bool {
	for j := range w.size() {
		if v := &w.nodes[j].vol; v.data == dataPresent && w.past.includes(v.head, ws) {
			return true
		}
	}
	return false
}

func (w *faults) wipe(i int) bool {
	w.disturb(i, func(v *volume) { *v = volume{} })
	return true
}

// rollBack puts an old snapshot of the volume in its place. What was lost does not come back in
// the middle of an operation that was begun without it.
func (w *faults) rollBack(i int) bool {
	n := &w.nodes[i]
	behind := n.vol.data == dataPresent && w.past.includes(n.vol.head, n.saved.head)
	if !n.saved.used || w.api.status.working && !behind {
		return false
	}
	w.disturb(i, func(v *volume) { *v = n.saved })
	return true
}

// damageBook makes the order book unreadable; agents read it when they start.
func (w *platform) damageBook(i int) bool {
	w.killAgent(i)
	w.nodes[i].vol.book.damaged = true
	return true
}

// cutAlter ends servers while a statement that changes tables runs on all members of the Primary component: Galera has
// marked their data, and parts holds those whose data have a part of it. The others finish it.
func (w *group) cutAlter(ends, parts set) bool {
	origin := -1
	for i := range w.n {
		if ends.has(i) && w.serves(i) && w.nodes[i].srv.donor == 0 {
			origin = i
		}
	}
	if origin < 0 {
		return false
	}
	members := w.nodes[origin].srv.view.members
	for j := range w.n { // it begins when all before it is applied
		if ends.has(j) && members.has(j) {
			w.applyAll(j)
		}
	}
	if !w.replicate(origin, false) {
		return false
	}
	for j := range w.n {
		n := &w.nodes[j]
		if !ends.has(j) || !members.has(j) || n.srv.donor != 0 || n.trouble != 0 {
			continue
		}
		n.vol.marked = true
		n.vol.half = n.vol.half != parts.has(j)
		w.drop(j)
		w.truth.reached |= ReachedCutAlter
	}
	return true
}

func (w *database) save(i int) bool {
	n := &w.nodes[i]
	if n.srv.on || n.vol.data != dataPresent || n.vol.book.damaged {
		return false
	}
	n.saved = n.vol
	n.saved.used = true
	return true
}

// swap puts another cluster's volume in place, further on than this one.
func (w *faults) swap(i int) bool {
	if !w.past.hasSpace() {
		return false
	}
	head := w.past.begin(100)
	w.disturb(i, func(v *volume) { *v = volume{data: dataPresent, head: head, cacheFrom: 100} })
	return true
}

// loseStatus wipes the resource's status, as a restore from a manifest does.
func (w *faults) loseStatus() bool {
	// Every volume there ever was is checked again.
	w.api.status = status{version: w.api.status.version + 1, primary: none, lostAt: never, size: int8(w.n)}
	for ws := write(1); ws <= w.past.used; ws++ {
		if e := &w.past.table[ws]; e.acked && !w.anyDiskHolds(ws) {
			e.gone = true
		}
	}
	w.truth.losses++
	w.truth.repeats = abandoned{}
	w.truth.reached |= ReachedLostStatus
	w.settleOperators()
	return true
}

// saveStatus is a backup of etcd, while all is well.
func (w *faults) saveStatus() bool {
	st := &w.api.status
	if st.uuid == 0 || st.lostAt != never || *st == w.api.saved {
		return false
	}
	w.api.saved = *st
	return true
}

// rollBackStatus restores etcd, as far as the planner reads the status back. The number of members has not changed
// since.
func (w *faults) rollBackStatus() bool {
	st, saved := &w.api.status, w.api.saved
	if saved.uuid == 0 || saved.uuid != st.uuid || saved.size != st.size || saved.epoch == st.epoch {
		return false
	}
	saved.version, saved.asked = st.version+1, st.asked
	w.api.status = saved
	for ws := write(1); ws <= w.past.used; ws++ {
		if e := &w.past.table[ws]; e.acked && !w.anyDiskHolds(ws) {
			e.gone = true
		}
	}
	for k := range w.truth.formed {
		if w.truth.formed[k].epoch > saved.epoch {
			w.truth.formed[k] = formedBy{} // the epoch repeats, and with it the bootstrap, when its member is given up
		}
	}
	w.truth.losses++
	w.truth.repeats = abandoned{}
	w.truth.reached |= ReachedStatusBack
	w.settleOperators()
	return true
}

// partition puts the members of the set on the other side of the network.
func (w *database) partition(other set) {
	for i := range w.places {
		w.side[i] = 0
		if other.has(i) {
			w.side[i] = 1
		}
	}
	w.truth.reached |= ReachedPartition
}

// shatter isolates every member.
func (w *topology) shatter() {
	for i := range w.places {
		w.side[i] = int8(i)
	}
}

// splitByHand is a user who makes a minority Primary with pc.bootstrap.
func (w *group) splitByHand(i int) bool {
	n := &w.nodes[i]
	if !n.srv.on || n.srv.view.primary || !w.whole(n.srv.view) || !w.anyServes() {
		return false
	}
	w.truth.split = true
	w.truth.reached |= ReachedSplit
	w.newView(n.srv.view.members, true)
	return true
}
