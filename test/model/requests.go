package model

import "github.com/galera-operator/galera-operator/internal/galera"

// userRequests is what users request by annotation: the member (plus one) that is to be the primary, and the members to
// restart. A new number is a new request.
type userRequests struct {
	promote, promotes int8
	restart           set
	restarts          int8
}

// asked is the record of it in the status: what is pending, and the numbers of the last requests.
type asked struct {
	userRequests
	// runs are the servers to be ended, 0 where that is not known yet.
	runs [maxNodes]int16
}

// follow is controllers/galeracluster.requests in this world.
func (a *asked) follow(o *operator, s galera.Snapshot) {
	if o.requests.promotes != a.promotes {
		a.promote, a.promotes = o.requests.promote, o.requests.promotes
		if o.status.uuid == 0 {
			a.promote = 0
		}
	}
	if o.requests.restarts != a.restarts {
		a.restart, a.restarts, a.runs = o.requests.restart, o.requests.restarts, [maxNodes]int16{}
		if o.status.uuid == 0 {
			a.restart = 0
		}
	}
	a.restart &= 1<<len(s.Members) - 1
	for i, m := range s.Members {
		if int8(i+1) == a.promote && m.Pod.Role == roles[rolePrimary] {
			a.promote = 0
		}
		switch run := o.reports[i].run; {
		case !a.restart.has(i) || run == 0:
		case a.runs[i] == 0:
			a.runs[i] = run
		case a.runs[i] != run:
			a.restart &^= 1 << i
		}
	}
	for i := range a.runs {
		if !a.restart.has(i) {
			a.runs[i] = 0
		}
	}
}

// show puts the record before the planner.
func (a *asked) show(s *galera.Snapshot, o *operator) {
	if a.promote > 0 {
		s.Promote = names[a.promote-1]
	}
	for i := range s.Members {
		run := o.reports[i].run
		s.Members[i].RestartAsked = a.restart.has(i) && run != 0 && run == a.runs[i]
	}
}

// met reports whether all was done that users have asked for; the member to be promoted may have left.
func (w *platform) met() bool {
	a := &w.api.status.asked
	return a.restarts == w.api.requests.restarts && a.promotes == w.api.requests.promotes && a.restart == 0 &&
		(a.promote == 0 || int(a.promote) > w.size())
}

// askPromotion is a user who names another primary.
func (w *apiServer) askPromotion(i int) {
	w.requests.promote, w.requests.promotes = int8(i+1), w.requests.promotes%100+1
}

// askRestart is a user who wants members to be restarted.
func (w *apiServer) askRestart(who set) {
	w.requests.restart, w.requests.restarts = who, w.requests.restarts%100+1
}

// noteMet notes the requests that were met.
func (w *truth) noteMet(before, after asked) {
	if before.promote != 0 && after.promote == 0 && before.promotes == after.promotes {
		w.reached |= ReachedPromotion
	}
	if before.restart != 0 && after.restart == 0 && before.restarts == after.restarts {
		w.reached |= ReachedAskedRestart
	}
}
