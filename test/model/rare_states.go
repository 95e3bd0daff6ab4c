package model

import (
	"cmp"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// rareState is a rare state of a member. An event begins or ends one.
type rareState uint8

const (
	// voted: the group finds the member's data to differ, and its server aborts. Only a full copy ends that.
	voted rareState = iota
	// noCertificate, laterData and otherCluster keep the agent from starting a server: it has no usable certificate, a
	// later MariaDB has used the data, the volume's record names another cluster.
	noCertificate
	laterData
	otherCluster
	// noTools: the image of the next pod lacks what transfers need.
	noTools
	// cordoned: the host takes no new pods, and may be drained.
	cordoned
	// unsettled: another container of the pod is not ready.
	unsettled
	// copying: the member gives a backup.
	copying
	// upgrading: the member serves with system tables of an earlier version.
	upgrading
	// unnamed: the agent does not know the members of the view, as after a lost notification.
	unnamed
	// impostor: the address of the member leads to another cluster's node, which is Primary.
	impostor
	// flushedLate: the host loses power, and the last write-set was acknowledged and not on the disk yet, as a setting
	// permits (the condition Durable).
	flushedLate
	// forgetful: whenever the member is stopped by order its position cannot be determined, until it is to start again.
	forgetful
	// slowImage: while it lasts, the image of a new pod is being pulled, and its container is not started.
	slowImage
	rareStates
)

// rareFacts are the states of one member.
type rareFacts struct {
	// unfit keeps the agent from starting a server: one of noCertificate, laterData, otherCluster, or 0.
	unfit                        rareState
	noTools, lacks               bool // of the next pod, and of the present one
	cordoned, unsettled, copying bool
	upgrading, unnamed, impostor bool
	forgetful, slowImage         bool
	// before is the last write-set that the disk had not kept: what an agent takes for its position that does not
	// examine the disk (Schedule.Noted).
	before write
}

// Broken promises of these states.
const (
	VotedOutStart = "a component was made of data that the group had voted out"
	UnfitStart    = "a server was started that the agent knows not to start"
	NoDonor       = "a node was initialised that can be no donor"
	ToCordoned    = "the primary was moved to a host that may be drained"
	Unsettling    = "a pod was replaced before the one before it had shown that its template is a good one"
	CutBackup     = "a node that gives a backup is to be restarted, and another is not"
	JoinsAnother  = "a member joins another cluster of its name"
	Repeats       = "an operation is abandoned again and again because of one member, and no person is asked"
)

// setRareState begins or ends a state.
func (w *agents) setRareState(i int, what rareState) bool {
	n := &w.nodes[i]
	o := &n.rare
	switch what {
	case voted:
		if !w.serves(i) || n.srv.donor != 0 || n.srv.view.members.len() < 2 || n.trouble != fit || n.srv.hung {
			return false
		}
		n.vol.voted = true
		w.drop(i)
	case noCertificate, laterData, otherCluster:
		switch {
		case o.unfit != 0:
			what = 0
		case n.agent.phase == phaseStarting || n.agent.phase == phaseInitialising:
			return false // its agent has looked already
		case what != noCertificate && n.vol.data != dataPresent:
			return false
		}
		o.unfit = what
	case noTools:
		o.noTools = !o.noTools
	case cordoned:
		o.cordoned = !o.cordoned
		n.full = o.cordoned
	case unsettled:
		o.unsettled = !o.unsettled
	case copying:
		o.copying = !o.copying && w.serves(i) && w.synced(i)
	case upgrading:
		o.upgrading = !o.upgrading && w.serves(i)
	case unnamed:
		o.unnamed = true
	case flushedLate:
		return loseLast(&w.platform, i)
	case impostor:
		o.impostor = !o.impostor
	case slowImage:
		o.slowImage = !o.slowImage
	case forgetful:
		if o.forgetful = !o.forgetful; !o.forgetful {
			n.agent.positionUnknown = false
		}
	}
	w.truth.reached |= ReachedRareState
	return true
}

// loseLast cuts the power of a member whose disk lacks the last write-set it has applied. What is on no other disk is
// promised no more.
func loseLast(w *platform, i int) bool {
	v := &w.nodes[i].vol
	before := w.past.table[v.head].parent
	if !w.nodes[i].srv.on || w.nodes[i].srv.donor != 0 || v.data != dataPresent || v.head == 0 || before == 0 ||
		w.nodes[i].trouble != fit {
		return false
	}
	if w.killAgent(i); w.noted {
		w.nodes[i].rare.before = v.head
	}
	v.head = before
	for ws := write(1); ws <= w.past.used; ws++ {
		if e := &w.past.table[ws]; e.acked && !w.anyDiskHolds(ws) {
			e.gone = true
		}
	}
	w.truth.reached |= ReachedRareState
	return true
}

// believed is the write-set that the member's agent takes for the last one on the disk.
func (n *node) believed() write { return cmp.Or(n.rare.before, n.vol.head) }

// even ends all such states that end by themselves.
func (o *rareFacts) even(keep bool) {
	before := *o
	if *o = (rareFacts{}); keep {
		o.unfit, o.forgetful, o.slowImage = before.unfit, before.forgetful, before.slowImage
	}
}

var unfitReasons = map[rareState]string{noCertificate: agentapi.FailureCertificate,
	laterData: agentapi.FailureDowngrade, otherCluster: agentapi.FailureOtherCluster}

// freshData ends what is wrong with the data that others take the place of.
func (o *rareFacts) freshData() {
	if o.unfit != noCertificate {
		o.unfit = 0
	}
	o.before = 0
}

// cannotStart is why the agent would start nothing, nil when it would.
func (n *node) cannotStart() *agentapi.Failure {
	if n.rare.unfit == 0 || n.rare.unfit != noCertificate && n.vol.data != dataPresent {
		return nil
	}
	return &agentapi.Failure{Reason: unfitReasons[n.rare.unfit]}
}

// own and another are the identities of this cluster, and of another one of its name whose nodes are Primary.
var (
	own     = agentapi.Identity{Namespace: "world", Cluster: "db", UID: "one"}
	another = agentapi.Identity{Namespace: "world", Cluster: "db", UID: "two"}
)

const anothersHistory = "99999999-0000-4000-8000-000000000000"

// answerOf is what a member hears at the address of another one: an impostor answers for it.
func (w *agents) answerOf(j int) (agentapi.PeerView, bool) {
	p := &w.nodes[j]
	if p.rare.impostor {
		return agentapi.PeerView{Name: names[j], Cluster: another, Component: galera.ComponentPrimary,
			State:       galera.NodeSynced,
			ClusterUUID: anothersHistory, Data: galera.DataPresent}, true
	}
	if !p.agent.up {
		return agentapi.PeerView{}, false
	}
	return w.peerView(j), true
}

// fillRareStates adds these states to what is reported to the operator.
func fillRareStates(m *galera.Member, r report) {
	m.VotedOut = r.voted
	m.LacksTools = r.lacks
	if m.Failure != nil && !r.server {
		switch m.Failure.Reason {
		case agentapi.FailureCertificate:
			if r.phase == phaseFailed || r.phase == phaseStopped {
				m.CannotStart = m.Failure.Message
			}
		case agentapi.FailureDowngrade:
			m.LaterData = m.Data == galera.DataPresent
		case agentapi.FailureOtherCluster:
			m.OtherCluster = m.Data == galera.DataPresent
		}
	}
	if r.server && r.copying {
		m.Backup = "nightly"
	}
	m.Upgrading = r.server && r.upgrading
}

// checkCordoned: the role goes to a node whose host may be drained only when there is no other that serves.
func (w *truth) checkCordoned(s galera.Snapshot, to string) {
	target, _ := s.Member(to)
	for _, m := range s.Members {
		outgoing := m.Pod.Role == roles[rolePrimary] || s.Operation != nil && s.Operation.Target == m.Name
		if target.Pod.Cordoned && !m.Pod.Cordoned && m.Synced() && m.Pod.Ready && !outgoing {
			w.violate(ToCordoned)
		}
	}
}

// checkRareStates judges a decision by these states, as its operator sees them.
func (w *truth) checkRareStates(s galera.Snapshot, d plan.Decision) {
	switch a := d.Action.(type) {
	case plan.DeletePod:
		target, _ := s.Member(a.Member)
		for _, m := range s.Members {
			if m.Name != a.Member && !m.Pod.Outdated && m.Pod.Unsettled != "" && target.Synced() && !target.StuckDonor &&
				target.Pod.Outdated {
				w.violate(Unsettling)
			}
		}
	case plan.Begin:
		target, _ := s.Member(a.Operation.Target)
		if a.Operation.Type == galera.OpRestart && target.Backup != "" && !target.StuckDonor && target.Synced() {
			w.violate(CutBackup)
		}
	}
}
