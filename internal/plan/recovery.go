package plan

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// mergeTimeout is how long separated nodes may take to merge by themselves before quorum is rebuilt
// by order.
const mergeTimeout = 20 * time.Second

// catchUpTimeout is how long a node without quorum may apply received write-sets before manual action is required.
const catchUpTimeout = 15 * time.Minute

// startWithoutPrimary decides when there is no Primary component. It acts only when the position of
// every member is known, or with an approval.
func startWithoutPrimary(s galera.Snapshot) (Decision, bool) {
	if anyPrimary(s) || s.Hibernate {
		return Decision{}, false
	}
	v := sortMembers(s)
	if len(v.busy) > 0 {
		return waitForBusy(s, v)
	}
	if neverStarted(s, v) {
		if d, waiting := readyForFirst(s); waiting {
			return d, true
		}
		return begin(s, galera.Operation{Type: galera.OpFirstStart, BootstrapMember: s.Members[0].Name},
			ReasonFirstStart, "all data directories are empty: initialising "+s.Members[0].Name)
	}
	if s.ClusterUUID == "" {
		return adoptHistory(s, v)
	}
	best, ok := v.best(s)
	switch {
	case !ok && len(v.missing()) == len(v.lost):
		return adviseAllEmpty(s)
	case len(v.missing()) > 0 && !approved(s, v, best, ok):
		return explain(s, v, best, ok)
	}
	return startAt(s, v, best)
}

// waitForBusy waits for members that are starting or stopping. One that receives a copy goes on while its donor sends,
// also when neither has quorum any more, so a user is needed before its transfer counts as stalled.
func waitForBusy(s galera.Snapshot, v memberClasses) (Decision, bool) {
	if s.NoPrimaryFor <= catchUpTimeout {
		return wait(ReasonWaitingForMembers, "waiting for "+list(v.busy)+" to finish starting or stopping")
	}
	return blocked(ReasonWaitingForMembers, fmt.Sprintf("no node has served for %s, and %s did not finish starting or "+
		"stopping. Check the progress of its state transfer in status.members, its log and its storage; if it makes no "+
		"progress, delete the pod", catchUpTimeout, list(v.busy)))
}

// adviseAllEmpty is the advice for a cluster whose members all answer, and none has data.
func adviseAllEmpty(s galera.Snapshot) (Decision, bool) {
	return blocked(ReasonDataLost, "no member holds data of this cluster's history "+s.ClusterUUID+": "+positions(s)+
		". The cluster does not start empty by itself. Bring back a volume that was in use last; or restore a backup into "+
		"a new cluster; "+
		"or, if no data are to be kept, delete this cluster and create it again")
}

// memberClasses sorts the members by what is known of their data while there is no Primary component.
type memberClasses struct {
	candidates   []galera.Member // data of this history, position known
	silent       []string        // agent does not answer
	unknown      []string        // data there, position cannot be determined
	damaged      []string        // order book cannot be read
	laterMariaDB []string        // data used by a later MariaDB than the image's
	lost         []string        // held data once, empty now
	foreign      []string        // data of another history
	votedOut     []galera.Member // found to differ by the group
	differing    []string        // of those, further on than the best candidate
	beyond       []string        // write-sets that the latest line of history does not contain
	hung         []string        // mariadbd runs and does not answer
	killed       []string        // mariadbd was killed and has not ended
	slow         []string        // the examination takes too long
	frozen       []string        // the volume does not answer
	readOnly     []string        // the volume refuses writes
	unable       []string        // the most advanced, but mariadbd cannot start there
	busy         []string        // starting or stopping right now
	empty        int             // never held data, or interrupted during SST
	blank        int             // of those, with an empty data directory
}

// missing are the members that may hold write-sets the candidates lack.
func (v memberClasses) missing() []string {
	var all []string
	for _, group := range [][]string{v.silent, v.hung, v.killed, v.slow, v.frozen, v.readOnly, v.unknown, v.differing,
		v.damaged, v.laterMariaDB, v.lost, v.foreign, v.beyond, v.unable} {
		all = append(all, group...)
	}
	return all
}

// sortMembers sorts the members into classes.
func sortMembers(s galera.Snapshot) memberClasses {
	var v memberClasses
	for _, m := range s.Members {
		switch {
		case neverRan(s, m):
			v.empty++
		case !m.Known:
			v.silent = append(v.silent, m.Name)
		case m.BookDamaged:
			// Whatever its position: its data may have been given up before, and it refuses orders.
			v.damaged = append(v.damaged, m.Name)
		case m.LaterData:
			// Whatever its position: its server cannot be started.
			v.laterMariaDB = append(v.laterMariaDB, m.Name)
		case m.CannotAct != galera.Able:
			v.addStuck(m)
		case !m.Down() && !withoutQuorum(m):
			v.busy = append(v.busy, m.Name)
		case m.Data == galera.DataEmpty && m.HeldData:
			v.lost = append(v.lost, m.Name)
		case m.Data == galera.DataEmpty:
			v.empty++
			v.blank++
		case m.Data == galera.DataIncomplete:
			// An SST from a Primary component had replaced its data; every write acknowledged until
			// then is on other members, which are counted here.
			v.empty++
		case !m.Position.Known():
			v.unknown = append(v.unknown, m.Name)
		case m.OtherCluster, s.ClusterUUID != "" && m.Position.UUID != s.ClusterUUID:
			v.foreign = append(v.foreign, m.Name)
		case m.VotedOut:
			v.votedOut = append(v.votedOut, m)
		default:
			v.candidates = append(v.candidates, m)
		}
	}
	v.setUnable(s)
	v.separateBeyond(s) // these two from what remains to be chosen: its agent compares itself with all that answer
	v.separateDiffering(s)
	return v
}

// separateBeyond moves the candidates of earlier lines that have higher seqnos than the latest line to beyond: an
// approval gave up their write-sets, or they have not recorded the new line yet. The facts do not distinguish these
// two. So do those of a line of its own, of which the status does not show whether it is the cluster's.
func (v *memberClasses) separateBeyond(s galera.Snapshot) {
	best, _ := v.best(s)
	kept := v.candidates[:0]
	for _, m := range v.candidates {
		if beyond(s, m, best) {
			v.beyond = append(v.beyond, m.Name)
		} else {
			kept = append(kept, m)
		}
	}
	v.candidates = kept
}

// beyond reports whether a member of an earlier line, or of one of its own, may hold write-sets that best lacks. Its
// agent would refuse to go on from less, unless it is given up.
func beyond(s galera.Snapshot, m, best galera.Member) bool {
	return m.Line < best.Line && m.Position.Seqno > best.Position.Seqno || linesDiverged(s, m, best)
}

// separateDiffering finds the voted-out members that are ahead of all candidates: recovery waits for an approval,
// because what they hold beyond the inconsistency may be acknowledged, and nowhere else.
func (v *memberClasses) separateDiffering(s galera.Snapshot) {
	best, ok := v.best(s)
	for _, m := range v.votedOut {
		if !ok || ahead(s, m, best) || beyond(s, m, best) {
			v.differing = append(v.differing, m.Name)
		}
	}
}

// neverRan returns whether a member has no data because it was never started: it is to be added to a cluster with a
// history, and found no host yet. One that was seen with data once has lost its volume.
func neverRan(s galera.Snapshot, m galera.Member) bool {
	return !m.Known && m.Unplaced && !m.HeldData && s.ClusterUUID != ""
}

func withoutQuorum(m galera.Member) bool {
	return m.Server != nil && m.Server.Component == galera.ComponentNonPrimary && m.Phase == galera.PhaseRunning
}

func neverStarted(s galera.Snapshot, v memberClasses) bool {
	return s.ClusterUUID == "" && len(s.Members) > 0 && v.blank == len(s.Members)
}

// readyForFirst checks what could not be repaired after a node was initialised, when the others need it as donor: it
// replaces pods of an earlier template, one after another, and refuses images that cannot be a donor.
func readyForFirst(s galera.Snapshot) (Decision, bool) {
	for _, m := range s.Members {
		if m.Pod.Exists && !m.Pod.Terminating && m.Pod.Outdated {
			return replace(m, "no node has been started yet, and its pod template has changed")
		}
	}
	for _, m := range s.Members {
		if m.CannotStart != "" && m.Ordinal == 0 {
			return blocked(ReasonMemberFailed, m.Name+" is to be initialised, but cannot start: "+m.CannotStart)
		}
		if m.LacksTools && len(s.Members) > 1 {
			return blocked(ReasonTransferToolsMissing, m.Name+
				": the image lacks programs that state transfers need: a node started with it could not be a donor for the others")
		}
	}
	return Decision{}, false
}

// best is the most advanced candidate of the latest line of history. Ties go to one that Galera has not marked, then
// the member that the approval names, then one that can start, then safe_to_bootstrap, then a node that still runs,
// then the last primary, then the lowest ordinal.
func (v memberClasses) best(s galera.Snapshot) (galera.Member, bool) {
	if len(v.candidates) == 0 {
		return galera.Member{}, false
	}
	best := v.candidates[0]
	for _, m := range v.candidates[1:] {
		if better(m, best, s) {
			best = m
		}
	}
	return best, true
}

func better(a, b galera.Member, s galera.Snapshot) bool {
	approvedFor := func(m galera.Member) bool { return s.Approval != nil && s.Approval.Member == m.Name }
	switch {
	case ahead(s, a, b):
		return true
	case ahead(s, b, a):
		return false
	case a.Marked != b.Marked:
		return b.Marked
	case approvedFor(a) != approvedFor(b):
		return approvedFor(a)
	case (a.CannotStart == "") != (b.CannotStart == ""):
		return a.CannotStart == ""
	case a.SafeToBootstrap != b.SafeToBootstrap:
		return a.SafeToBootstrap
	case withoutQuorum(a) != withoutQuorum(b):
		return withoutQuorum(a)
	case (a.Name == s.Primary) != (b.Name == s.Primary):
		return a.Name == s.Primary
	default:
		return a.Ordinal < b.Ordinal
	}
}

// adoptHistory finds the history's UUID after a loss of the status, or with volumes of an earlier
// cluster: all data must be of one history.
func adoptHistory(s galera.Snapshot, v memberClasses) (Decision, bool) {
	if len(v.silent) > 0 {
		return waitForAgents(s, v)
	}
	uuid := ""
	for _, m := range s.Members {
		switch {
		case m.OtherCluster && m.Failure != nil:
			return blocked(ReasonForeignData, m.Name+": "+m.Failure.Message)
		case m.Data != galera.DataPresent || m.Position.UUID == "" || m.Position.UUID == galera.ZeroUUID:
			continue // members that cannot start count, too: theirs may be the cluster's history
		case uuid != "" && m.Position.UUID != uuid:
			return blocked(ReasonForeignData, "the volumes hold data of different histories: "+positions(s)+
				"; remove the volumes that do not belong to this cluster")
		}
		uuid = m.Position.UUID
	}
	if len(v.candidates) == 0 && len(v.damaged) > 0 {
		return blocked(ReasonOrderBookDamaged,
			"no other member has data to start from, and these cannot read the order book on their volume: "+list(v.damaged)+
				"; bring back an earlier state of the volume, or delete it to start with an empty cluster. Positions: "+
				positions(s))
	}
	if stuck := describeStuck(s, v); len(v.candidates) == 0 && stuck != "" {
		return blocked(ReasonMemberFailed, "no history can be found: "+stuck+"Positions: "+positions(s))
	}
	if len(v.candidates) == 0 && len(v.laterMariaDB) > 0 {
		return blocked(ReasonDowngradeRefused, "the data were used by a later MariaDB than the image's: "+
			list(v.laterMariaDB)+
			"; set spec.image back to the later image. Positions: "+positions(s))
	}
	if len(v.candidates) == 0 && len(v.votedOut) > 0 {
		return blocked(ReasonPositionUnknown,
			"the only data are those that the group found to differ from the other members', and no cluster starts from them "+
				"by itself: "+
				list(names(v.votedOut))+
				"; bring back the volumes of the other members, or restore a backup into a new cluster. Positions: "+positions(s))
	}
	if len(v.candidates) == 0 {
		return blocked(ReasonPositionUnknown, "the data directories are not empty, but none has a position: "+positions(s)+
			"; restore the volumes, or delete them to start with an empty cluster")
	}
	return Decision{Action: recordMissingUUID(s, uuid), Reason: ReasonRecovering,
		Message: "found data of the history " + uuid}, true
}

// startAt begins the operation that bootstraps best.
func startAt(s galera.Snapshot, v memberClasses, best galera.Member) (Decision, bool) {
	op := galera.Operation{Type: galera.OpRecover, BootstrapMember: best.Name, Position: best.Position}
	if d, waiting := letRunningCatchUp(s, v, best); waiting {
		return d, true
	}
	if !withoutQuorum(best) {
		message := fmt.Sprintf("all positions are known; %s is the most advanced at %s", best.Name, best.Position)
		if best.Marked {
			message += "; it may hold a part of a statement that was in progress: the other nodes join by SST"
		}
		return begin(s, op, ReasonRecovering, message)
	}
	if separated(v, best) && s.NoPrimaryFor < mergeTimeout {
		return wait(ReasonQuorumLost, "quorum is lost; giving the running nodes time to merge by themselves")
	}
	op.Type = galera.OpRebuildQuorum
	return begin(s, op, ReasonQuorumLost, fmt.Sprintf(
		"quorum is lost; %s is the most advanced at %s and becomes Primary again", best.Name, best.Position))
}

// letRunningCatchUp waits while a running node still applies received write-sets: it may become more advanced than
// best. A node without progress requires manual action: its received write-sets are in memory only.
func letRunningCatchUp(s galera.Snapshot, v memberClasses, best galera.Member) (Decision, bool) {
	for _, m := range v.candidates {
		switch {
		case !withoutQuorum(m) || m.Server.ReceiveQueue == 0:
		case s.NoPrimaryFor > catchUpTimeout:
			return blocked(ReasonQuorumLost, fmt.Sprintf(
				"%s has not applied its received write-sets for %s, and may reach %s. If it makes no progress, delete the pod: "+
					"it then starts from the data on its volume", m.Name, catchUpTimeout, best.Position))
		default:
			return wait(ReasonQuorumLost, fmt.Sprintf("%s is still applying received write-sets, and may reach %s", m.Name,
				best.Position))
		}
	}
	return Decision{}, false
}

// separated reports whether nodes run outside best's component: they may merge by themselves.
func separated(v memberClasses, best galera.Member) bool {
	running := 0
	for _, m := range v.candidates {
		if withoutQuorum(m) {
			running++
		}
	}
	return running != best.Server.Size
}
