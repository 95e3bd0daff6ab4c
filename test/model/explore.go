package model

import (
	"hash/maphash"
	"slices"
)

// Explorer tries every schedule of some events up to a depth, once for each state.
type Explorer struct {
	Planner Planner
	// Events are all that may happen.
	Events []Event
	// Converge lets every so-many-th state converge; 0 for none.
	Converge uint64
	// MaxStates bounds the number of states.
	MaxStates int

	// States and Steps count what was explored; Found is the first schedule that broke a promise.
	States, Steps int
	Found         []Event
	Violation     string

	seed maphash.Seed
	seen map[uint64]int8
	path []Event
	// next has a world for each depth: one for each step would be six kilobytes to allocate and to clear.
	next []World
}

// Explore searches from a world. It reports whether it has seen everything up to the depth.
func (x *Explorer) Explore(w World, depth int) bool {
	x.seed, x.seen, x.next = maphash.MakeSeed(), map[uint64]int8{}, make([]World, depth)
	return x.visit(&w, depth)
}

func (x *Explorer) visit(w *World, depth int) bool {
	if depth == 0 || x.Found != nil {
		return true
	}
	next := &x.next[depth-1]
	for _, e := range x.Events {
		*next = *w
		if !next.Step(e, x.Planner) {
			continue
		}
		x.Steps++
		x.path = append(x.path, e)
		x.judge(next)
		h := maphash.Comparable(x.seed, next.canonical())
		if best, ok := x.seen[h]; !ok || int(best) < depth-1 {
			x.seen[h] = int8(depth - 1)
			if !ok {
				x.States++
				x.settle(*next, h)
			}
			if x.States >= x.MaxStates {
				return false
			}
			if !x.visit(next, depth-1) {
				return false
			}
		}
		x.path = x.path[:len(x.path)-1]
		if x.Found != nil {
			return true
		}
	}
	return true
}

// judge keeps the schedule that has led to a broken promise.
func (x *Explorer) judge(w *World) {
	if v := w.Violation(); v != "" && x.Found == nil {
		x.Violation, x.Found = v, append([]Event(nil), x.path...)
	}
}

// settle lets some of the states converge.
func (x *Explorer) settle(w World, h uint64) {
	if x.Converge == 0 || h%x.Converge != 0 || w.Violation() != "" {
		return
	}
	before := w.truth.steps
	w.Converge(x.Planner)
	x.Steps += int(w.truth.steps - before)
	x.judge(&w)
}

// canonical is the world without what makes equal states different: counters, and names that
// only have to be equal or not.
func (w World) canonical() World {
	w.truth.steps, w.truth.reached, w.truth.servedAt, w.truth.idle = 0, 0, 0, 0
	views := renamer{}
	for i := range w.places {
		views.add(w.nodes[i].srv.view.id)
		views.add(w.nodes[i].srv.last.id)
	}
	slices.Sort(views.ids[:views.n])
	for i := range w.places {
		n := &w.nodes[i]
		n.srv.view.id, n.srv.last.id = views.renumber(n.srv.view.id), views.renumber(n.srv.last.id)
	}
	for k := range w.ops {
		o := &w.ops[k]
		for i := range w.places {
			o.reports[i].view.id = 0 // the planner does not see it
			o.reports[i].boot = 0
			o.pods[i].version = same(o.pods[i].version, w.nodes[i].pod.version)
			o.pods[i].uid = same(o.pods[i].uid, w.nodes[i].pod.uid)
		}
		o.status.abandoned = o.status.abandoned.plain(&w)
		o.status.version = same(o.status.version, w.api.status.version)
		o.service.version = same(o.service.version, w.api.service.version)
		o.status.lostAt = since(w.clock+o.skew, o.status.lostAt, 3)
		o.lost, o.record = since(w.clock, o.lost, 3), since(w.clock+o.skew, o.record, 3)
		for i := range o.silent {
			o.silent[i], o.since[i] = since(w.clock, o.silent[i], answerTicks), since(w.clock, o.since[i], answerTicks)
		}
	}
	for k := range w.wire {
		if m := &w.wire[k]; m.used {
			m.boot = same(m.boot, w.nodes[m.to].agent.boot)
		}
	}
	if w.arbitrated() {
		w.garbd.counted = min(w.clock-w.garbd.counted, 4)
	}
	w.api.status.abandoned, w.api.saved.abandoned = w.api.status.abandoned.plain(&w), w.api.saved.abandoned.plain(&w)
	w.truth.repeats = w.truth.repeats.plain(&w)
	for i := range w.places {
		w.nodes[i].pod.version, w.nodes[i].pod.uid, w.nodes[i].agent.boot = 0, 0, 0
	}
	w.api.status.lostAt = since(w.clock, w.api.status.lostAt, 3)
	w.runs = 0
	if w.api.requests.restarts == 0 { // then the planner sees no run
		for i := range w.places {
			w.nodes[i].srv.run = 0
		}
		for k := range w.ops {
			for i := range w.places {
				w.ops[k].reports[i].run = 0
			}
		}
	}
	w.api.status.version, w.api.service.version, w.viewIDs, w.uids, w.clock = 0, 0, 0, 0, 0
	return w
}

// since is how many Ticks have passed, up to a number that makes no difference.
func since(now, tick, limit int16) int16 {
	if tick == never {
		return -1
	}
	return max(min(now-tick, limit), -1)
}

func same(a, b int16) int16 {
	if a == b {
		return 1
	}
	return 0
}

// renamer gives views numbers that depend on their order alone: the later is the greater.
type renamer struct {
	ids [2 * maxNodes]int16
	n   int
}

func (r *renamer) add(id int16) {
	if id != 0 && !slices.Contains(r.ids[:r.n], id) {
		r.ids[r.n] = id
		r.n++
	}
}

func (r *renamer) renumber(id int16) int16 {
	return int16(slices.Index(r.ids[:r.n], id) + 1)
}
