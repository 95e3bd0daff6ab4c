package plan

import (
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// promote moves the primary to the node that a user has named, as soon as it can take the role and no operation is in
// progress, which may move the primary, too. While it waits it decides nothing: no other work waits for a request.
func promote(s galera.Snapshot) (Decision, bool) {
	if s.Promote == "" || PromotionWaits(s) != "" {
		return Decision{}, false
	}
	if m, ok := s.Member(s.Promote); !ok || m.Pod.Role == rolePrimary {
		return Decision{}, false
	}
	return assign(s.Promote)
}

// PromotionWaits returns the reason why the primary is not moved now to the node that a user has named, "" when it is
// moved, or there already.
func PromotionWaits(s galera.Snapshot) string {
	m, ok := s.Member(s.Promote)
	switch {
	case s.Promote == "", ok && m.Pod.Role == rolePrimary:
		return ""
	case !ok:
		return s.Promote + " is not a node of this cluster: " + list(names(s.Members))
	case s.Hibernate:
		return "the cluster is to hibernate"
	case m.Ordinal >= s.Replicas && s.Replicas > 0:
		return m.Name + " is to be removed"
	case !anyPrimary(s):
		return "there is no Primary component"
	}
	if why := unfit(m); why != "" {
		return m.Name + " " + why
	}
	switch {
	case s.Operation != nil:
		return "the operation " + s.Operation.ID + " is in progress"
	case outdated(m) && !Deferred(s, m):
		return m.Name + " is to be restarted first"
	}
	return ""
}

// unfit returns the reason why a member cannot be made the primary, "" when it can. A donor could, but is out of step
// with the others.
func unfit(m galera.Member) string {
	switch {
	case !m.Pod.Exists:
		return "has no pod"
	case m.Pod.Terminating, m.Draining:
		return "is being stopped"
	case m.Pod.Cordoned:
		return "is on a host that is cordoned, from which the primary moves away"
	case memberProblem(m) != "":
		return memberProblem(m)
	case m.Server == nil:
		return "is " + strings.ToLower(string(m.Phase))
	case m.Backup != "":
		return "gives the backup " + m.Backup
	case !m.InPrimary():
		return "is not in the Primary component"
	case !m.Synced():
		return "is not Synced: " + string(m.Server.State)
	case !m.Pod.Ready:
		return "is Synced, but its pod is not ready"
	}
	return ""
}
