package model

type role int8

const (
	rolePrimary role = iota
	roleReplica
)

var roles = [...]string{"primary", "replica"}

// service is NAME-primary: it leads to the pod of a name, be it there or not.
type service struct {
	target  int8
	version int16
}

func (s service) role(i int) role {
	if int(s.target) == i {
		return rolePrimary
	}
	return roleReplica
}

// pod is the API object.
type pod struct {
	exists      bool
	terminating bool
	// unplaced reports whether it has no host yet.
	unplaced bool
	// creating reports whether its container was never started: its image is pulled.
	creating bool
	template int8
	uid      int16
	// version is the resource version.
	version int16
}

// apiServer holds the resource.
type apiServer struct {
	// the spec, and what is rendered from it
	hibernate bool
	// saved is the status in the last backup of etcd, without a history while there is none.
	saved    status
	replicas int8
	config   published
	// wanted is the mode the spec asks for, rebootstrap its strategy of getting there.
	wanted      mode
	rebootstrap bool
	template    int8
	// arbitrator reports whether the spec asks for one.
	arbitrator bool
	deployment deployment
	service    service
	trust      trust
	requests   userRequests
	certs      secrets
	// serials counts issued leaves.
	serials int16
	status  status
}

type trust struct {
	member int8 // plus one; 0 is no approval
	head   write
	epoch  int64
	// without are the members that may be missing.
	without set
	// running are given up though their servers run, and are ended first; unable though they are ahead.
	running, unable set
}

// ready is the pod's Ready condition.
func (w *platform) ready(i int) bool {
	n := &w.nodes[i]
	return n.pod.exists && !n.pod.terminating && n.agent.up && n.agent.phase == phaseRunning && !n.srv.hung && w.synced(i)
}

// beingCreated reports whether the container is still to be started, as observe.pod sees it.
func (p pod) beingCreated() bool { return p.creating && !p.terminating }

// stepKubelet lets the StatefulSet controller and the kubelet take their next step for the member.
func (w *platform) stepKubelet(i int) bool {
	n := &w.nodes[i]
	asleep := w.api.hibernate && w.api.status.hibernated()
	wanted := !asleep && i < w.size()
	switch {
	case n.away, n.srv.killed && !n.agent.up:
		return false // a container is over when all its processes are
	case !n.pod.exists && wanted:
		w.uids++
		n.pod = pod{exists: true, unplaced: true, template: w.api.template, uid: w.uids}
		if !n.full {
			w.place(i)
		}
	case n.pod.exists && !wanted && !n.pod.terminating:
		if asleep {
			w.checkAsleep()
		}
		w.drain(i)
	case n.pod.unplaced && !n.pod.terminating:
		if n.full {
			return false
		}
		w.place(i)
	case n.pod.creating && !n.pod.terminating:
		if n.rare.slowImage {
			return false
		}
		n.pod.creating = false
		n.pod.version++
		w.boot(i)
	case n.pod.exists && n.pod.terminating && !n.agent.up:
		w.podGone(i)
	case n.pod.exists && !n.agent.up:
		w.boot(i)
	default:
		return false
	}
	return true
}

// place gives a pod a host, and its claim a volume.
func (w *platform) place(i int) {
	n := &w.nodes[i]
	n.pod.unplaced, n.vol.bound = false, true
	n.rare.lacks = n.rare.noTools
	n.pod.version++
	n.agent.pair = w.api.certs.published // kubelet mounts what is published now
	if n.pod.creating = n.rare.slowImage; !n.pod.creating {
		w.boot(i)
	}
}

// drain deletes the pod gracefully.
func (w *platform) drain(i int) bool {
	n := &w.nodes[i]
	if !n.pod.exists || n.pod.terminating {
		return false
	}
	n.pod.terminating = true
	n.pod.version++
	if n.agent.up {
		n.agent.phase, n.agent.alone = phaseStopping, false
	}
	return true
}

// podGone removes the pod; the volume stays.
func (w *platform) podGone(i int) {
	w.killAgent(i)
	w.nodes[i].srv = server{} // what could not be killed goes with its host
	w.nodes[i].pod = pod{version: w.nodes[i].pod.version + 1}
}
