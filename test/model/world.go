package model

import "math/bits"

const (
	maxNodes     = 5
	maxWrites    = 120
	maxHistories = 24
	reserve      = 18
	maxMessages  = 4
	operators    = 2
)

// set is a set of members, by bit.
type set uint8

func (s set) has(i int) bool { return s&(1<<i) != 0 }
func (s set) len() int       { return bits.OnesCount8(uint8(s)) }

// World is the whole state. It is a value: a copy is a snapshot, and two equal worlds behave the same.
//
// It is built in layers. Each layer is a struct that owns its part of the state and embeds the layer below: it uses
// what is below it, and cannot reach what is above. The receiver is called w in all of them.
//
//	truth, topology   the promises; which node reaches which
//	database          the nodes and the write-sets they hold
//	group             Galera: views, quorum, transfers, evictions
//	platform          the API server, kubelet and pods
//	agents            the agents, which run the shipped decisions
//	cluster           the arbitrator, orders in progress, the clock
//	controllers       the operator's processes
//	faults            what breaks disks, and what users do
//	World             events, rounds and convergence
type World struct {
	faults
}

// topology is how many places there are, and the network between them.
type topology struct {
	// n is the number of members there is space for; how many there are is in the status.
	n int
	// places is n, or one more where there may be an arbitrator: the last place is its own.
	places int
	// side is the part of the network each member is on: equal numbers reach each other.
	side [maxNodes]int8
}

// database is the nodes, the write-sets they hold and the network between them.
type database struct {
	topology
	truth
	nodes [maxNodes]node
	past  history
	// runs is the number of servers there were.
	runs int16
}

// group is Galera's group communication: views, quorum, evictions and state transfers.
type group struct {
	database
	// viewIDs is the number of views there were.
	viewIDs int16
	garbd   garbd
	// eager: see quorum.
	eager bool
	// unmarked: see Schedule.
	unmarked bool
	// careless: see Schedule.
	careless bool
	// patient: see Schedule.
	patient bool
}

// platform is Kubernetes: the API server, the StatefulSet's controller and kubelet.
type platform struct {
	group
	api apiServer
	// uids is the number of pods there were.
	uids int16
	// noted: see Schedule.
	noted bool
}

// agents are the members' agents. What they hold is in their nodes.
type agents struct {
	platform
	// hears: see Schedule.
	hears bool
	// gullible: see Schedule.
	gullible bool
}

// cluster is all that goes on without an operator: the members, the arbitrator, orders in progress, and time.
type cluster struct {
	agents
	wire [maxMessages]message
	// clock counts Ticks, of ten seconds each.
	clock int16
}

// controllers are the processes of the operator.
type controllers struct {
	cluster
	ops [operators]operator
	// publisher is one of publishers.
	publisher int8
	// miscounts: see Schedule.
	miscounts counting
}

// faults breaks disks and networks, and does what users do. It keeps nothing: the damage is in the layers below.
type faults struct {
	controllers
}

// node is one member: its machine, pod, volume, agent and mariadbd.
type node struct {
	vol   volume
	saved volume // an old snapshot of the volume
	pod   pod
	agent agent
	srv   server
	// away reports whether the machine is gone: no pod runs here until it is back. full reports whether there is no host
	// for a new pod.
	away, full bool
	// trouble is the fault of the member's storage.
	trouble trouble
	rare    rareFacts
}

// truth is kept for the promises alone: no agent and no operator can see it.
type truth struct {
	violation string
	// losses is how often the status was lost.
	losses int16
	// approved reports whether the approval in the spec was given for the present outage; approvals has that outage's
	// last ones by their epoch, because an order of an earlier one may still be carried out.
	approved  bool
	approvals [4]trust
	// taken are the members an operator has taken down and that are not back yet.
	taken set
	// formed remembers which order bootstrapped in the last epochs.
	formed [4]formedBy
	// split reports whether a user made a second Primary component by hand.
	split bool
	// reached has a bit for every situation the run has come through.
	reached Reached
	steps   int32
	// servedAt is the Tick at which an operator with the last status has seen a Primary component last.
	servedAt int16
	// idle counts the Rounds in which nothing has happened though nothing serves.
	idle int16
	// repeats counts the switches that were abandoned because of a member.
	repeats abandoned
}

// counting is a way to measure how long nothing was Primary, or an agent silent: the shipped one, or one with a bug.
type counting int8

const (
	_ counting = iota
	// countsMajority goes on through a Primary component of a minority.
	countsMajority
	// countsRecorded takes over what another process has recorded, by another clock.
	countsRecorded
	// countsByClock takes the difference of two times of its own clock, though the clock may have been set between them.
	countsByClock
)

type formedBy struct {
	epoch  int64
	member int8
}

// New returns a world of n members in which nothing has been started yet; with arbiter, for fewer than five, an
// even number of them has an arbitrator.
func New(n int, eager, arbiter bool) World {
	var w World
	w.n, w.places, w.eager = n, n, eager
	if arbiter {
		w.places++
	}
	w.api.wanted, w.api.config.mode = modeStrict, modeStrict
	w.api.status.primary = none
	w.api.status.size = int8(n)
	w.admits(n)
	w.api.status.lostAt = never
	w.api.issue(0)
	w.api.certs.published = w.api.certs.issued
	for i := range operators {
		w.ops[i].clear()
	}
	return w
}

// none is an index that names no member.
const none = int8(-1)

// size is the recorded number of members.
func (w *platform) size() int { return int(w.api.status.size) }

// all is the set of all places.
func (w *topology) all() set { return set(1<<w.places - 1) }

// connected reports whether two members can talk to each other.
func (w *topology) connected(i, j int) bool { return w.side[i] == w.side[j] }

// Violation is the first broken promise, "" while all are kept.
func (w *truth) Violation() string { return w.violation }

func (w *truth) violate(what string) {
	if w.violation == "" {
		w.violation = what
	}
}
