package model

// Round lets every participant take its next step, with fresh caches and without faults. It reports whether anything
// has happened.
func (w *World) Round(p Planner) bool {
	before := w.truth.steps
	w.elapse()
	for k := range w.wire {
		w.step(w.deliver(k, false))
	}
	w.refreshAll(0)
	acted := w.reconcile(0, p, noCrash)
	w.tick()
	w.step(true)
	return acted || w.truth.steps > before+1
}

// Unreported is a broken promise: nothing serves and nothing happens, and no person is asked to do anything.
const Unreported = "the cluster waits for a person, and does not report it"

// maxIdleRounds is how many Rounds nothing may happen before that has to be reported: first starts wait for agents for
// that long.
const maxIdleRounds = 70

// watch is a Round without faults, after which the operator must report what it waits for.
func (w *World) watch(p Planner) {
	switch {
	case w.Round(p), w.anyServes(), w.api.hibernate && w.api.status.hibernated():
		w.truth.idle = 0
		return
	}
	if w.truth.idle++; w.truth.idle > maxIdleRounds && !w.ops[0].blocked {
		w.violate(Unreported)
	}
}

// elapse lets every member take its next step, while the operators do nothing.
func (w *cluster) elapse() {
	for i := range w.places {
		w.step(w.regroup(i))
	}
	if w.arbitrated() {
		w.step(w.stepDeployment())
		w.nodes[w.n].agent.loaded = w.api.config
		w.step(w.load(w.n))
		w.step(w.stepArbitrator())
	}
	for i := range w.n {
		w.step(w.stepKubelet(i))
		w.nodes[i].agent.loaded = w.api.config
		w.step(w.load(i))
		if !w.step(w.stepAgent(i)) {
			w.step(w.finishTransfer(i))
		}
		w.step(w.applyAll(i))
	}
}

// step counts one thing that happened, and checks the promises after it.
func (w *cluster) step(did bool) bool {
	if did {
		w.truth.steps++
		w.checkAlways()
	}
	return did
}

// calm ends all faults that end by themselves, but for those of the member kept, if there is one.
func (w *faults) calm(keep int) {
	w.partition(0)
	for k := range w.ops {
		w.ops[k].mute = 0
	}
	w.ops[1].clear()
	for i := range w.places {
		w.nodes[i].away, w.nodes[i].agent.positionUnknown = false, false
		w.nodes[i].full = w.nodes[i].full && i == keep
		w.nodes[i].rare.even(i == keep)
		if i != keep {
			w.release(i)
		}
	}
}

// maxRounds is how many Rounds a world without faults may take to arrive.
const maxRounds = 150

// Converge lets the world run without faults, with a user who does what conditions ask for,
// until it is as the spec asks. It returns the number of Rounds, and whether it arrived: all
// Synced with the wanted configuration, or blocked for a reason only a user can remove.
func (w *World) Converge(p Planner) (int, bool) {
	w.calm(-1)
	for round := range maxRounds {
		if w.arrived() || w.truth.violation != "" {
			return round, true
		}
		w.watch(p)
		if round%10 == 9 {
			w.help()
		}
	}
	if w.hopeless() {
		w.truth.reached |= ReachedBlocked
		return maxRounds, true
	}
	w.violate(Stuck)
	return maxRounds, false
}

// help is a user who does what the conditions ask for.
func (w *faults) help() {
	w.approve()
	if i := w.ops[0].deletes; i > 0 {
		w.drain(int(i - 1))
	}
	for i := range w.n {
		w.repair(i)
		if w.nodes[i].agent.failure == failurePosition && !w.nodes[i].rare.forgetful {
			w.killAgent(i)
		}
	}
}

// arrived reports whether the spec is fulfilled.
func (w *World) arrived() bool {
	if w.api.hibernate {
		return w.hibernated()
	}
	for i := range w.n {
		n := &w.nodes[i]
		if i >= w.size() {
			if n.pod.exists {
				return false
			}
			continue
		}
		if !w.ready(i) || !w.serves(i) || n.agent.running != w.api.config || !w.renewed(i) ||
			n.pod.template != w.api.template {
			return false
		}
	}
	w.truth.reached |= ReachedSynced
	return w.api.config.mode == w.api.wanted && w.api.status.size == w.api.replicas && w.settled() && w.writer() &&
		w.met() && !w.api.status.working && w.wireEmpty()
}

func (w *cluster) hibernated() bool {
	for i := range w.places {
		if w.nodes[i].pod.exists {
			return false
		}
	}
	w.truth.reached |= ReachedHibernated
	return w.api.status.hibernated()
}

func (w *cluster) wireEmpty() bool { return w.wire == [maxMessages]message{} }

// writer reports whether NAME-primary leads to a node that serves.
func (w *cluster) writer() bool {
	i := int(w.api.service.target)
	return i < w.size() && w.nodes[i].pod.exists && w.serves(i)
}

// hopeless reports whether the operator rightly waits for a user: no member has data of the cluster's
// history, or the members do not show which history that is.
func (w *World) hopeless() bool {
	if w.anyServes() || !w.ops[0].blocked {
		return false
	}
	var histories [len(uuids)]bool
	count, own, readable, blank := 0, false, false, true
	for i := range w.size() {
		v := &w.nodes[i].vol
		blank = blank && v.data == dataEmpty && !v.book.damaged
		if v.data != dataPresent {
			continue
		}
		if v.voted {
			continue // never gone on from
		}
		u := w.past.uuid(v.head)
		readable = readable || !v.book.damaged
		own = own || u == w.api.status.uuid && !v.book.damaged
		if !histories[u] {
			histories[u] = true
			count++
		}
	}
	if w.api.status.uuid != 0 {
		return !own
	}
	return (count != 1 || !readable) && (!blank || w.api.status.held != 0)
}
