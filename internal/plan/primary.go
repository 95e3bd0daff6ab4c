package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

func list(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
}

func firstPrimary(s galera.Snapshot) (galera.Member, bool) {
	for _, m := range s.Members {
		if m.InPrimary() {
			return m, true
		}
	}
	return galera.Member{}, false
}

func anyPrimary(s galera.Snapshot) bool {
	_, ok := firstPrimary(s)
	return ok
}

// refuseTwoPrimaries stops all work when two components serve at once: any action could make
// the data diverge further.
func refuseTwoPrimaries(s galera.Snapshot) (Decision, bool) {
	for i, a := range s.Members {
		if !a.InPrimary() {
			continue
		}
		if s.ClusterUUID != "" && a.Server.ClusterUUID != s.ClusterUUID {
			return blocked(ReasonForeignData, fmt.Sprintf(
				"%s is Primary with the history %s, but this cluster's history is %s; the operator does nothing. Bring back the "+
					"right volume; or, if its data are not needed, delete its claim and its pod: the node then joins by SST",
				a.Name, a.Server.ClusterUUID, s.ClusterUUID))
		}
		for _, b := range s.Members[i+1:] {
			if b.InPrimary() && inDifferentComponents(a, b) {
				return blocked(ReasonTwoPrimaryComponents, fmt.Sprintf(
					"%s and %s are Primary in two different components: the data diverges; the operator does nothing. Stop the "+
						"clients, keep both volumes, and decide manually which component is right",
					a.Name, b.Name))
			}
		}
	}
	return Decision{}, false
}

// inDifferentComponents reports whether two Primary members are certainly in different components: their histories
// differ, or their views have no member in common. Any common member shows that one of them has not reported its latest
// view yet: the views of a true split never overlap.
func inDifferentComponents(a, b galera.Member) bool {
	if a.Server.ClusterUUID != b.Server.ClusterUUID {
		return true
	}
	return len(a.Server.Members) > 0 && len(b.Server.Members) > 0 &&
		!slices.ContainsFunc(a.Server.Members, func(name string) bool { return slices.Contains(b.Server.Members, name) })
}

// recordUUID stores the history's UUID as soon as there is a component; after a loss of the status, as
// soon as all data are of one history. The epoch of the journal is restored in the same way.
func recordUUID(s galera.Snapshot) (Decision, bool) {
	epoch := highestEpoch(s)
	m, ok := firstPrimary(s)
	switch {
	case ok && s.ClusterUUID == "":
		return Decision{Action: recordMissingUUID(s, m.Server.ClusterUUID), Reason: ReasonJoining,
			Message: "the cluster's history is " + m.Server.ClusterUUID}, true
	case s.ClusterUUID != "" && s.Approval != nil && s.Approval.Epoch == epoch+1 && (ok || noneMissing(s)):
		// Recording its epoch makes the approval void: it must not be valid when a member is missing the next time.
		return record(s.ClusterUUID, s.Approval.Epoch,
			"the approval to start without missing members is no longer needed, and void now")
	case s.ClusterUUID != "" && s.Operation == nil && epoch > s.Epoch:
		// No order is sent before its epoch is recorded: the status was set back. Others may remember still later epochs.
		return Decision{Action: RecordUUID{UUID: s.ClusterUUID, Epoch: epoch, Leap: true}, Reason: ReasonJoining,
			Message: fmt.Sprintf("members remember epoch %d, and the status %d: it was set back to an earlier state", epoch,
				s.Epoch)}, true
	}
	return Decision{}, false
}

func record(uuid string, epoch int64, message string) (Decision, bool) {
	return Decision{Action: RecordUUID{UUID: uuid, Epoch: epoch}, Reason: ReasonJoining, Message: message}, true
}

// followWriter keeps NAME-primary on a node that can write.
func followWriter(s galera.Snapshot) (Decision, bool) {
	target := chooseWriter(s)
	if target == "" {
		return Decision{}, false
	}
	for _, m := range s.Members {
		if m.Pod.Role == rolePrimary && m.Synced() && isLeaving(s, target) {
			return Decision{}, false // it took over from the node that is taken down next
		}
	}
	for _, m := range s.Members {
		if m.Pod.Exists && !m.Pod.Terminating && (m.Name == target) != (m.Pod.Role == rolePrimary) {
			return assign(target)
		}
	}
	return Decision{}, false
}

// isLeaving reports whether the operation in progress takes the node down next.
func isLeaving(s galera.Snapshot, name string) bool {
	m, _ := s.Member(name)
	switch op := s.Operation; {
	case op == nil || op.Target != name:
		return false
	case op.Type == galera.OpScaleDown:
		return true
	}
	restarts := s.Operation.Type == galera.OpRestart || s.Operation.Type == galera.OpSwitchTLS &&
		!rebootstrapping(*s.Operation)
	return restarts && outdated(m)
}

func assign(target string) (Decision, bool) {
	return Decision{Action: AssignRoles{target}, Reason: ReasonJoining, Message: target + " becomes the primary"}, true
}

// rolePrimary is the role of the pod behind NAME-primary (api/v1alpha1.RolePrimary).
const rolePrimary = "primary"

// chooseWriter chooses the primary: it prefers the present one, then Synced nodes, then the lowest ordinal.
func chooseWriter(s galera.Snapshot) string {
	best, bestScore := "", 0
	for _, m := range s.Members {
		if score := writerScore(m, s.Primary); score > bestScore {
			best, bestScore = m.Name, score
		}
	}
	return best
}

// Scores of a node that can write. The present primary is worth more than any other, unless it is about to stop or
// blocked: then it is worth a little more than others of its kind.
const (
	scoreBlocked  = 2
	scoreDonor    = 4
	scoreLeaving  = 6
	scoreSynced   = 8
	scorePresent  = 10
	scoreRecorded = 1
)

func writerScore(m galera.Member, recorded string) int {
	if !canWrite(m) {
		return 0
	}
	present := m.Pod.Role == rolePrimary
	score := scoreSynced
	switch {
	case blockedDonor(m), m.Leaseless:
		score = scoreBlocked
	case m.Server.State == galera.NodeDonor:
		score = scoreDonor
	case m.Pod.Cordoned:
		// Its host may be drained: the role goes before its pod is evicted, to a node that is Synced.
		score = scoreLeaving
	case present:
		return scoreSynced + scorePresent
	}
	switch {
	case present && score == scoreDonor:
		return scoreDonor + scorePresent
	case present, m.Name == recorded && score >= scoreDonor:
		score += scoreRecorded
	}
	return score
}

// blockedDonor reports whether a node is a donor that cannot write meanwhile (method Rsync). Its agent reports it not
// ready, so NAME-primary would have no endpoint during the SST.
func blockedDonor(m galera.Member) bool {
	return m.Server.State == galera.NodeDonor && !m.Pod.Ready
}

// canWrite includes donors: a donor of a MariaBackup SST continues to serve.
func canWrite(m galera.Member) bool {
	return m.InPrimary() && m.Data != galera.DataIncomplete && !m.Draining && !m.Pod.Terminating &&
		(m.Server.State == galera.NodeSynced || m.Server.State == galera.NodeDonor)
}
