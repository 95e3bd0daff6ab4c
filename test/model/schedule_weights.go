package model

// scheduleWeights is a bag of kinds of events to draw from: every kind as often as it weighs.
type scheduleWeights []Kind

// allWeights differ in what goes wrong most. One distribution for all would spread every schedule
// over all faults and reach none of the deep ones.
var allWeights = [...]scheduleWeights{anything, fineSteps, oldLeader, oldReports, network, disks, changes, certificates,
	switches, sizes, stuck,
	lateShell, alters, requests,
	clocks, places, rare}

var (
	anything = newWeights(nil)
	// fineSteps: every interleaving of agents, caches and messages.
	fineSteps = newWeights(map[Kind]int{
		Round: 3, Agent: 40, Kubelet: 16, Regroup: 24, Deliver: 30, Hear: 30, SeePod: 14, SeeStatus: 16, Reconcile: 50,
		Duplicate: 6})
	// oldLeader: an operator that does not know yet that there is another.
	oldLeader = newWeights(map[Kind]int{
		Round: 20, LookAround: 20, Reconcile: 60, Deliver: 20, Duplicate: 8, SeeStatus: 3, KillAll: 4, Configure: 6,
		Hibernate: 4})
	// oldReports: members come and go faster than the operator hears of it.
	oldReports = only(map[Kind]int{
		Round: 1, Elapse: 60, Hear: 60, SeePod: 10, SeeStatus: 40, Reconcile: 60, Deliver: 40, Write: 10, Tick: 4,
		KillServer: 20, Drain: 6, Partition: 4, Heal: 4, Configure: 1})
	// network: partitions under load.
	network = newWeights(map[Kind]int{
		Round: 40, Elapse: 10, Partition: 14, Shatter: 6, Heal: 10, Write: 40, KillAgent: 5, Mute: 6, Unmute: 4, Tick: 8})
	// disks: lost, old and foreign volumes, and users.
	disks = newWeights(map[Kind]int{
		Round: 50, Wipe: 3, Save: 4, RollBack: 3, Swap: 3, Blur: 3, DamageBook: 2, LoseStatus: 2,
		SaveStatus: 3, RollBackStatus: 3, KillAll: 6, MachineAway: 5, MachineBack: 4, Approve: 12, Write: 30, Minute: 14})
	// changes of the spec.
	changes = newWeights(map[Kind]int{
		Round: 60, Hibernate: 5, Configure: 8, Upgrade: 6, KillServer: 3, Drain: 3, CrashBeforeStatus: 6, CrashOperator: 4,
		Wipe: 0, Swap: 0, RollBack: 0, Blur: 0, DamageBook: 0, Partition: 1, Shatter: 0})
	// sizes: members come and go by order, and by themselves.
	sizes = newWeights(map[Kind]int{
		Round: 90, Scale: 14, KillServer: 5, KillAgent: 4, KillAll: 3, Write: 40, Hibernate: 1, Configure: 1, Hear: 20,
		Elapse: 10, CrashBeforeStatus: 4})
)

// stuck: members that answer and cannot act, while the others come, go and crash.
var stuck = newWeights(map[Kind]int{
	Round: 90, Hang: 10, HangHard: 4, LookHangs: 4, Freeze: 4, Protect: 4, Thaw: 8, KillAll: 6, KillServer: 10,
	KillAgent: 6, Drain: 6, Write: 30, Approve: 20,
	Mute: 4, Unmute: 4, DamageBook: 2, Wipe: 1, Swap: 0, RollBack: 0, Hibernate: 2, Scale: 2, Configure: 2, Minute: 8})

// alters: statements that change tables, cut off on some members or on all.
var alters = newWeights(map[Kind]int{
	Round: 60, CutAlter: 24, KillAll: 6, KillAgent: 6, KillServer: 6, Write: 40, Apply: 10, Save: 4, RollBack: 3,
	Partition: 5, Heal: 6, Mute: 3, Unmute: 4,
	Approve: 8, MachineAway: 4, MachineBack: 4, Scale: 2, Hibernate: 2})

// lateShell: what an agent has decided is done late, again, or not at all.
var lateShell = newWeights(map[Kind]int{
	Round: 20, Agent: 40, Regroup: 24, Deliver: 30, Duplicate: 10, DropMessage: 4, Hear: 20, Reconcile: 40, FailStart: 30,
	KillAgent: 12, KillServer: 10, KillAll: 6,
	Freeze: 3, Protect: 2, Thaw: 8, Write: 40, Partition: 8, Heal: 8, Wipe: 2, LoseStatus: 2, Approve: 20})

// certificates: renewed and replaced, loaded late, and seen by operators of any age.
var certificates = newWeights(map[Kind]int{
	Round: 30, Elapse: 4, Load: 40, SeeSecrets: 30, Hear: 30, Reconcile: 60, LookAround: 20, Renew: 6, ReplaceCA: 10,
	KillServer: 6, KillAgent: 6, KillPod: 5, Drain: 3, Wipe: 0, Swap: 0, RollBack: 0, Blur: 0, DamageBook: 0})

// switches of the encryption, with everything that can happen meanwhile.
var switches = newWeights(map[Kind]int{
	Round: 90, SwitchTLS: 10, Configure: 3, KillServer: 5, KillAgent: 4, KillAll: 1, CrashBeforeStatus: 6,
	CrashBeforeActing: 4, CrashOperator: 4,
	Hibernate: 2, Wipe: 0, Swap: 0, RollBack: 0, Blur: 0, DamageBook: 0, LoseStatus: 0, Partition: 2, Shatter: 0,
	LookAround: 20, SeeStatus: 12, Hear: 20, Reconcile: 40})

// requests: users name another primary, and want restarts, while nodes come and go and operators die.
var requests = newWeights(map[Kind]int{
	Round: 60, Promote: 12, AskRestart: 10, KillServer: 6, KillAgent: 4, Drain: 4, Configure: 3, Scale: 3, Hibernate: 2,
	LookAround: 20, SeeStatus: 12, Hear: 20,
	Reconcile: 40, Deliver: 20, Duplicate: 6, CrashBeforeStatus: 6, CrashBeforeActing: 4, CrashOperator: 4, LoseStatus: 1,
	Wipe: 0, Swap: 0, RollBack: 0, Blur: 0})

// clocks: operators with clocks of their own take over from each other while nothing serves.
var clocks = newWeights(map[Kind]int{
	Round: 40, SetClock: 20, Tick: 20, KillAll: 6, KillAgent: 6, KillServer: 10, MachineAway: 4, MachineBack: 4,
	LookAround: 30,
	Reconcile:  60, Hear: 20,
	SeeStatus: 12, CrashOperator: 8, Partition: 8, Heal: 8, Approve: 12, Hibernate: 4, Write: 20, Mute: 4, Unmute: 4})

// places: new members and those that come back find no host.
var places = newWeights(map[Kind]int{
	Round: 70, NoHost: 16, FindHost: 8, Scale: 16, Drain: 6, KillPod: 8, KillAll: 8, KillAgent: 4, Write: 30, Approve: 12,
	Tick: 8, Wipe: 2, Hibernate: 3,
	MachineAway: 4, MachineBack: 4, LookAround: 10, LoseStatus: 1})

// rare: members in states that are rare, while nodes come, go, are restarted and recovered.
var rare = newWeights(map[Kind]int{
	Round: 90, RareState: 40, Upgrade: 6, Configure: 4, AskRestart: 4, KillServer: 8, KillAgent: 6, KillAll: 8, Drain: 4,
	Write: 30, Minute: 12, Approve: 12,
	Scale: 3, Hibernate: 2, SwitchTLS: 4, LookAround: 12, Wipe: 1, Swap: 0, RollBack: 0})

// arbitratorWeights are additional ones, for worlds with an arbitrator.
var arbitratorWeights = [...]scheduleWeights{
	// servers that are stopped in good order and come back, and an arbitrator that is not always seen.
	newWeights(map[Kind]int{
		Round: 60, Drain: 14, KillServer: 8, KillAgent: 6, Mute: 8, Unmute: 6, Configure: 6, Upgrade: 4, Renew: 4,
		Hibernate: 3, Scale: 6, SwitchTLS: 3,
		Tick: 6, Wipe: 0, Swap: 0, RollBack: 0, Blur: 0, DamageBook: 0, LoseStatus: 0}),
	leftAlone,
}

// leftAlone: nodes that stop gracefully, and an arbitrator that is cut off before it sees it. Little time passes.
var leftAlone = only(map[Kind]int{
	Round: 2, Elapse: 40, Drain: 20, Partition: 14, Heal: 1, Mute: 6, LookAround: 40, Hear: 10, Reconcile: 60, Deliver: 40,
	Tick: 1})

// weights holds how often each kind of event is drawn.
var weights = [kinds]int{
	Round: 30, Elapse: 4, Agent: 24, Kubelet: 8, Regroup: 16, Apply: 8, ApplyAll: 6, Write: 20, Replicate: 4, Transfer: 6,
	Deliver:   14,
	SeeStatus: 6, SeePod: 8, Hear: 12, SeeSecrets: 6, LookAround: 8, Load: 8, Reconcile: 26, Tick: 3,
	KillServer: 4, KillAgent: 4, KillPod: 2, KillAll: 3, Drain: 1, MachineAway: 2, MachineBack: 3,
	Partition: 5, Shatter: 2, Heal: 5, Mute: 3, Unmute: 3, NotHear: 2, Duplicate: 3, DropMessage: 2,
	CrashBeforeActing: 1, CrashBeforeStatus: 2, CrashOperator: 2,
	Wipe: 1, Save: 1, RollBack: 1, Swap: 1, Blur: 1, PurgeCache: 1, LoseStatus: 1, SaveStatus: 1, RollBackStatus: 1,
	DamageBook: 1,
	Hibernate:  2, Configure: 2, Upgrade: 1, SwitchTLS: 1, Scale: 2, Approve: 2, Repair: 1, SplitByHand: 0, Renew: 1,
	ReplaceCA: 1, CutAlter: 1, Promote: 1, AskRestart: 1,
	NoHost: 1, FindHost: 2, SetClock: 1, Minute: 4,
}

// newWeights is the usual weights with some of them changed.
func newWeights(changed map[Kind]int) scheduleWeights {
	var m scheduleWeights
	for k, weight := range weights {
		if c, ok := changed[Kind(k)]; ok {
			weight = c
		}
		for range weight {
			m = append(m, Kind(k))
		}
	}
	return m
}

// only is nothing but the kinds given.
func only(weights map[Kind]int) scheduleWeights {
	var m scheduleWeights
	for k := range kinds {
		for range weights[k] {
			m = append(m, k)
		}
	}
	return m
}
