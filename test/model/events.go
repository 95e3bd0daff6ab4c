package model

import "fmt"

// Event is one thing that happens, to member or operator A (and B).
type Event struct {
	Kind Kind
	A, B uint8
}

// Kind names what happens.
type Kind uint8

// The kinds of events. Those of the first group are life as usual, the others are faults,
// or what users do.
const (
	Round  Kind = iota // every participant takes its next step, with fresh caches
	Elapse             // the same without the operators, messages and caches
	Agent
	Kubelet
	Regroup
	Apply
	ApplyAll
	Write
	Replicate // a write that was not acknowledged to its client
	Transfer
	Deliver
	SeeStatus
	SeePod
	Hear
	SeeSecrets
	LookAround
	Load
	Reconcile
	Tick
	// faults
	KillServer
	KillAgent
	KillPod
	KillAll
	Drain
	MachineAway
	MachineBack
	Partition
	Shatter
	Heal
	Mute
	Unmute
	NotHear // the report is lost, the agent counts as silent
	Duplicate
	DropMessage
	CrashBeforeActing
	CrashBeforeStatus
	CrashOperator
	Wipe
	Save
	RollBack
	Swap
	Blur
	PurgeCache
	LoseStatus
	SaveStatus
	RollBackStatus // the status goes back to what it was when it was saved, as with etcd
	DamageBook
	// people
	Hibernate
	Configure
	Upgrade
	SwitchTLS
	Scale
	Approve
	Repair
	SplitByHand
	Renew
	ReplaceCA
	// members that answer and cannot act
	Hang      // the server does nothing, and can be killed
	HangHard  // the same, and it cannot
	LookHangs // the next examination does not end
	Freeze    // the volume does not answer
	Protect   // the volume is read-only
	Thaw      // all this is over
	FailStart // the agent's attempt to start mariadbd, or to make a database, fails
	CutAlter  // servers end while a statement changes tables: A of them, with a part of it on B
	// people again
	Promote    // another primary is asked for
	AskRestart // a rolling restart of the members A is asked for
	// around the cluster
	NoHost    // Kubernetes finds no host for a new pod of the member
	FindHost  // it does again
	SetClock  // an operator's clock is set an hour ahead, back, or right
	Minute    // a minute passes: who was to answer has had time for it
	RareState // a rare state of the member A begins, or ends: the oddity B
	kinds
)

var kindNames = [kinds]string{"Round", "Elapse", "Agent", "Kubelet", "Regroup", "Apply", "ApplyAll", "Write",
	"Replicate", "Transfer", "Deliver",
	"SeeStatus", "SeePod", "Hear", "SeeSecrets", "LookAround", "Load", "Reconcile", "Tick", "KillServer", "KillAgent",
	"KillPod", "KillAll", "Drain",
	"MachineAway", "MachineBack", "Partition", "Shatter", "Heal", "Mute", "Unmute", "NotHear", "Duplicate", "DropMessage",
	"CrashBeforeActing", "CrashBeforeStatus", "CrashOperator", "Wipe", "Save", "RollBack", "Swap", "Blur", "PurgeCache",
	"LoseStatus",
	"SaveStatus", "RollBackStatus", "DamageBook",
	"Hibernate", "Configure", "Upgrade", "SwitchTLS", "Scale", "Approve", "Repair", "SplitByHand", "Renew", "ReplaceCA",
	"Hang", "HangHard", "LookHangs", "Freeze", "Protect", "Thaw", "FailStart", "CutAlter",
	"Promote", "AskRestart", "NoHost", "FindHost", "SetClock", "Minute", "RareState"}

// String returns the event as Go source.
func (e Event) String() string { return fmt.Sprintf("{%s, %d, %d}", kindNames[e.Kind], e.A, e.B) }

// Step lets one event happen, if it can, and checks the promises. It reports whether it could.
func (w *World) Step(e Event, p Planner) bool {
	did := w.happen(e, p)
	if e.Kind != Round && e.Kind != Elapse { // these count their own
		w.step(did)
	}
	return did
}

func (w *World) happen(e Event, p Planner) bool {
	i, place, k := int(e.A)%w.n, int(e.A)%w.places, int(e.A)%operators
	switch e.Kind {
	case Round:
		_ = w.Round(p)
	case Elapse:
		w.elapse()
	case Agent:
		if place == w.n {
			return w.stepArbitrator()
		}
		return w.stepAgent(place)
	case Kubelet:
		if place == w.n {
			return w.stepDeployment()
		}
		return w.stepKubelet(place)
	case Regroup:
		return w.regroup(place)
	case Apply:
		return w.apply(i)
	case ApplyAll:
		return w.applyAll(i)
	case Write:
		return w.replicate(i, true)
	case Replicate:
		return w.replicate(i, false)
	case Transfer:
		return w.finishTransfer(i)
	case Deliver:
		return w.deliver(int(e.A)%maxMessages, false)
	case SeeStatus:
		w.seeStatus(k)
	case SeePod:
		w.seePod(k, int(e.B)%w.places)
	case Hear:
		w.readReport(k, int(e.B)%w.places)
	case SeeSecrets:
		w.seeSecrets(k)
	case Load:
		return w.load(place)
	case LookAround:
		w.refreshAll(k)
	case Reconcile:
		return w.reconcile(k, p, noCrash)
	case Tick:
		w.tick()
	case Minute:
		for range answerTicks {
			w.tick()
		}
	case CrashBeforeActing:
		return w.reconcile(k, p, crashBeforeActing)
	case CrashBeforeStatus:
		return w.reconcile(k, p, crashBeforeStatus)
	default:
		return w.fault(e)
	}
	return true
}

func (w *World) fault(e Event) bool {
	i, k := int(e.A)%w.places, int(e.A)%operators
	n := &w.nodes[i]
	switch e.Kind {
	case KillServer:
		return w.killServer(i)
	case KillAgent:
		w.killAgent(i)
	case KillPod:
		w.podGone(i)
	case KillAll:
		for j := range w.n {
			w.killAgent(j)
		}
	case Drain:
		return w.drain(i)
	case MachineAway:
		w.podGone(i)
		n.away = true
	case MachineBack:
		n.away = false
	case Partition:
		w.partition(set(e.A) & w.all())
	case Shatter:
		w.shatter()
	case Heal:
		w.partition(0)
	case Mute:
		w.ops[k].mute |= 1 << (int(e.B) % w.places)
	case Unmute:
		w.ops[k].mute = 0
	case NotHear:
		w.ops[k].reports[int(e.B)%w.places] = report{}
	case Duplicate:
		return w.deliver(int(e.A)%maxMessages, true)
	case DropMessage:
		w.wire[int(e.A)%maxMessages] = message{}
	case CrashOperator:
		w.ops[k].clear()
	case NoHost, FindHost:
		n.full = e.Kind == NoHost
	case SetClock:
		w.ops[k].skew = [...]int16{0, 360, -360}[e.B%3]
	default:
		return w.diskOrPerson(e)
	}
	return true
}

func (w *group) killServer(i int) bool {
	if !w.nodes[i].srv.on {
		return false
	}
	w.drop(i)
	return true
}

func (w *World) diskOrPerson(e Event) bool {
	i := int(e.A) % w.n
	n := &w.nodes[i]
	switch e.Kind {
	case Wipe:
		return w.wipe(i)
	case Save:
		return w.save(i)
	case RollBack:
		return w.rollBack(i)
	case Swap:
		return w.swap(i)
	case Blur:
		w.killAgent(i)
		n.agent.positionUnknown = true
	case PurgeCache:
		n.vol.cacheFrom = w.past.seqno(n.vol.head) + 1
	case LoseStatus:
		return w.loseStatus()
	case SaveStatus:
		return w.saveStatus()
	case RollBackStatus:
		return w.rollBackStatus()
	case DamageBook:
		return w.damageBook(i)
	case Hibernate:
		w.api.hibernate = !w.api.hibernate
	case Configure:
		w.api.configure()
	case Upgrade:
		w.api.template = (w.api.template + 1) % 8
	case SwitchTLS:
		w.api.switchTLS(e.B%2 == 1)
	case Scale:
		w.admits(i + 1)
	case Approve:
		return w.approve()
	case Repair:
		return w.repair(i)
	case SplitByHand:
		return w.splitByHand(i)
	case Renew:
		w.api.issue(w.api.certs.issued.ca)
	case ReplaceCA:
		w.api.issue(int8(e.A % authorities))
	case Promote:
		w.api.askPromotion(i)
	case AskRestart:
		w.api.askRestart(set(e.A) & (1<<w.n - 1))
	case Hang, HangHard, LookHangs, Freeze, Protect, Thaw:
		return w.setAgentFault(i, e.Kind)
	case FailStart:
		return w.failStart(i)
	case RareState:
		return w.setRareState(i, rareState(e.B)%rareStates)
	case CutAlter:
		return w.cutAlter(set(e.A)&(1<<w.n-1), set(e.B))
	}
	return true
}

// switchTLS turns the encryption of replication on, or off.
func (w *apiServer) switchTLS(rebootstrap bool) {
	w.wanted, w.rebootstrap = modePlain+modeStrict-w.wanted, rebootstrap
}

// configure publishes a new configuration; the agents read it when they come to it.
func (w *apiServer) configure() {
	w.reconfigure(w.config.mode)
}
