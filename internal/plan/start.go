package plan

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// mergeTime is how long separated nodes are left to find each other by themselves before
// quorum is rebuilt by order.
const mergeTime = 20 * time.Second

// catchUpTime is how long a node without quorum may apply what it has received before a person is told of it.
const catchUpTime = 15 * time.Minute

// startWithoutPrimary is asked when nobody is Primary. It acts only when the position of
// every member is known, or a person has vouched for one.
func startWithoutPrimary(s galera.Snapshot) (Decision, bool) {
	if anyPrimary(s) || s.Hibernate {
		return Decision{}, false
	}
	v := judge(s)
	if len(v.busy) > 0 {
		return wait(ReasonWaitingForMembers, "waiting for "+list(v.busy)+", still starting or stopping")
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
	if len(v.missing()) > 0 && !approved(s, v, best, ok) {
		return explain(s, v, best, ok)
	}
	if !ok {
		return blocked(ReasonDataLost, "no member holds data of this cluster's history "+s.ClusterUUID+
			"; restore a backup into a new cluster, or bring back a volume; nothing empty will be started in its place")
	}
	return startAt(s, v, best)
}

// verdict sorts the members by what they can contribute when nobody is Primary.
type verdict struct {
	candidates []galera.Member // data of this history, position known
	silent     []string        // agent does not answer
	unknown    []string        // data there, position cannot be told
	damaged    []string        // order book cannot be read
	later      []string        // data that a later MariaDB has used than the one that would start
	lost       []string        // held data once, empty now
	foreign    []string        // data of another history
	beyond     []string        // write-sets that the latest line of history does not have
	hung       []string        // mariadbd runs and does not answer
	killed     []string        // mariadbd was killed and has not ended
	slow       []string        // the examination takes too long
	frozen     []string        // the volume does not answer
	readOnly   []string        // the volume refuses writes
	unable     []string        // the most advanced, and mariadbd cannot be started there
	busy       []string        // starting or stopping right now
	empty      int             // never held data, or were being filled
	blank      int             // of those, data directory really empty
}

// missing are the members that may know more than the candidates do.
func (v verdict) missing() []string {
	var all []string
	for _, group := range [][]string{v.silent, v.hung, v.killed, v.slow, v.frozen, v.readOnly, v.unknown, v.damaged, v.later, v.lost, v.foreign, v.beyond, v.unable} {
		all = append(all, group...)
	}
	return all
}

func judge(s galera.Snapshot) verdict {
	var v verdict
	for _, m := range s.Members {
		switch {
		case !m.Known:
			v.silent = append(v.silent, m.Name)
		case m.BookDamaged:
			// Whatever its position says: nobody knows whether its data were given up, and it would
			// not obey.
			v.damaged = append(v.damaged, m.Name)
		case m.LaterData:
			// Whatever its position, nothing can be started from it.
			v.later = append(v.later, m.Name)
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
			// Its own data was wiped by a transfer from a Primary component; whatever was
			// acknowledged then is on the donor's side of the members counted here.
			v.empty++
		case !m.Position.Known():
			v.unknown = append(v.unknown, m.Name)
		case s.ClusterUUID != "" && m.Position.UUID != s.ClusterUUID:
			v.foreign = append(v.foreign, m.Name)
		default:
			v.candidates = append(v.candidates, m)
		}
	}
	v.setApart(s)
	v.setUnable(s)
	return v
}

// setApart takes out the candidates of earlier lines that have higher seqnos than the latest
// line: a person gave up what they hold, or they had not heard of the line yet. Nobody can tell.
func (v *verdict) setApart(s galera.Snapshot) {
	best, _ := v.best(s)
	kept := v.candidates[:0]
	for _, m := range v.candidates {
		if m.Line < best.Line && m.Position.Seqno > best.Position.Seqno {
			v.beyond = append(v.beyond, m.Name)
		} else {
			kept = append(kept, m)
		}
	}
	v.candidates = kept
}

func withoutQuorum(m galera.Member) bool {
	return m.Server != nil && m.Server.Component == galera.ComponentNonPrimary && m.Phase == galera.PhaseRunning
}

func neverStarted(s galera.Snapshot, v verdict) bool {
	return s.ClusterUUID == "" && len(s.Members) > 0 && v.blank == len(s.Members)
}

// readyForFirst looks after what could not be mended once a node was initialised and others have to get their data from it:
// pods of an earlier template, which are replaced one after the other, and images that cannot give.
func readyForFirst(s galera.Snapshot) (Decision, bool) {
	for _, m := range s.Members {
		if m.Pod.Exists && !m.Pod.Terminating && m.Pod.Outdated {
			return replace(m, "nothing has been started yet, and its pod is of an earlier template")
		}
	}
	for _, m := range s.Members {
		if m.CannotStart != "" && m.Ordinal == 0 {
			return blocked(ReasonMemberFailed, m.Name+" is to be initialised, and cannot start: "+m.CannotStart)
		}
		if m.LacksTools && len(s.Members) > 1 {
			return blocked(ReasonTransferTools, m.Name+": the image lacks programs of a state transfer: what is started with it could not give its data to the others")
		}
	}
	return Decision{}, false
}

// best is the most advanced candidate of the latest line of history; ties go to the member a person
// vouches for, then safe_to_bootstrap, then a node that still runs, then the last primary, then
// the lowest ordinal.
func (v verdict) best(s galera.Snapshot) (galera.Member, bool) {
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
	vouched := func(m galera.Member) bool { return s.Trust != nil && s.Trust.Member == m.Name }
	switch {
	case ahead(a, b):
		return true
	case ahead(b, a):
		return false
	case vouched(a) != vouched(b):
		return vouched(a)
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

// ahead says that a comes before b: by the line of history, then by the seqno.
func ahead(a, b galera.Member) bool {
	if a.Line != b.Line {
		return a.Line > b.Line
	}
	return a.Position.Seqno > b.Position.Seqno
}

// adoptHistory finds the UUID again when the status was lost, or when volumes of an earlier
// cluster were found: all data must be of one history.
func adoptHistory(s galera.Snapshot, v verdict) (Decision, bool) {
	if len(v.silent) > 0 {
		return wait(ReasonWaitingForMembers, "waiting for the agents of "+list(v.silent))
	}
	uuid := ""
	for _, m := range s.Members {
		switch {
		case m.Data != galera.DataPresent || m.Position.UUID == "" || m.Position.UUID == galera.ZeroUUID:
			continue // of those that cannot be started now, too: theirs may be the cluster's history
		case uuid != "" && m.Position.UUID != uuid:
			return blocked(ReasonForeignData, "the volumes hold data of different histories: "+positions(s)+
				"; remove the volumes that do not belong to this cluster")
		}
		uuid = m.Position.UUID
	}
	if len(v.candidates) == 0 && len(v.damaged) > 0 {
		return blocked(ReasonOrderBook, "nobody else has data, and the order book on the volume cannot be read: "+list(v.damaged)+
			"; bring back an earlier state of the volume, or remove it to start anew. Positions: "+positions(s))
	}
	if stuck := stuckOf(s, v); len(v.candidates) == 0 && stuck != "" {
		return blocked(ReasonMemberFailed, "no history can be found: "+stuck+"Positions: "+positions(s))
	}
	if len(v.candidates) == 0 && len(v.later) > 0 {
		return blocked(ReasonDowngrade, "the data were used by a later MariaDB than the image's: "+list(v.later)+
			"; put the later image back. Positions: "+positions(s))
	}
	if len(v.candidates) == 0 {
		return blocked(ReasonPositionUnknown, "the data directories are not empty, yet none has a position: "+positions(s)+
			"; remove the volumes to start anew, or restore them")
	}
	return Decision{Action: recordAnew(s, uuid), Reason: ReasonRecovering,
		Message: "found data of the history " + uuid}, true
}

// startAt begins the operation that makes best the start of the component.
func startAt(s galera.Snapshot, v verdict, best galera.Member) (Decision, bool) {
	op := galera.Operation{Type: galera.OpRecover, BootstrapMember: best.Name, Position: best.Position}
	if d, waiting := letRunningCatchUp(s, v, best); waiting {
		return d, true
	}
	if !withoutQuorum(best) {
		return begin(s, op, ReasonRecovering, fmt.Sprintf("all positions are known; %s is the most advanced at %s", best.Name, best.Position))
	}
	if separated(v, best) && s.NoPrimaryFor < mergeTime {
		return wait(ReasonQuorumLost, "quorum is lost; leaving the running nodes some time to find each other")
	}
	op.Type = galera.OpRebuildQuorum
	return begin(s, op, ReasonQuorumLost, fmt.Sprintf("quorum is lost; %s is the most advanced at %s and becomes Primary again", best.Name, best.Position))
}

// letRunningCatchUp waits while a running node still applies what it has received: it may
// turn out to be more advanced than best. One that does not get on is a person's business: what it has received is in its memory.
func letRunningCatchUp(s galera.Snapshot, v verdict, best galera.Member) (Decision, bool) {
	for _, m := range v.candidates {
		switch {
		case !withoutQuorum(m) || m.Server.ReceiveQueue == 0:
		case s.NoPrimaryFor > catchUpTime:
			return blocked(ReasonQuorumLost, fmt.Sprintf("%s has not applied what it received for %s, and may reach %s. Should it not get on, delete the pod: "+
				"it goes on from what is on its disk", m.Name, catchUpTime, best.Position))
		default:
			return wait(ReasonQuorumLost, fmt.Sprintf("%s is still applying what it has received, and may reach %s", m.Name, best.Position))
		}
	}
	return Decision{}, false
}

// separated says that running nodes exist outside best's component: they may merge by themselves.
func separated(v verdict, best galera.Member) bool {
	running := 0
	for _, m := range v.candidates {
		if withoutQuorum(m) {
			running++
		}
	}
	return running != best.Server.Size
}
