package status

import (
	"fmt"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// quorumHealthy is True when there is one Primary component with a majority of the nodes.
func quorumHealthy(in Input) condition {
	switch in.Decision.Reason {
	case plan.ReasonTwoPrimaryComponents, plan.ReasonForeignData:
		if p := decision(in); p != nil {
			return no(p.Reason, brief(p))
		}
	}
	if p := strangers(in); p != nil && p.Reason == v1alpha1.ReasonForeignMembers {
		return no(p.Reason, brief(p))
	}
	present, all, names := votes(in)
	switch {
	case present == all:
		return yes(v1alpha1.ReasonHealthy, fmt.Sprintf("all %d %s form one Primary component", present, names))
	case present*2 > all:
		return yes(v1alpha1.ReasonHealthy, fmt.Sprintf("%d of %d %s form the Primary component", present, all, names))
	case present > 0:
		return no(v1alpha1.ReasonNoMajority, fmt.Sprintf("only %d of %d %s are in the Primary component", present, all,
			names))
	case decision(in) != nil:
		return no(in.Decision.Reason, brief(decision(in)))
	case in.Decision.Reason != plan.ReasonHealthy && in.Decision.Message != "":
		return no(in.Decision.Reason, in.Decision.Message)
	}
	return no(v1alpha1.ReasonQuorumLost, "there is no Primary component")
}

// ready is True when everything the spec asks for was observed.
func ready(in Input, problem *validate.Problem, enc condition) condition {
	if in.Snapshot.Hibernate && !asleep(in) && !in.Withheld {
		return no(v1alpha1.ReasonHibernating, in.Decision.Message)
	}
	if keepsFromReady(in, problem) {
		if problem.Blocked {
			return no(problem.Reason, brief(problem))
		}
		return no(problem.Reason, problem.Message)
	}
	if in.Withheld {
		return no(v1alpha1.ReasonPaused, withheld(in))
	}
	if asleep(in) {
		return yes(v1alpha1.ReasonHibernated,
			"all nodes are stopped, as spec.hibernate asks; the data is kept. Set it to false to start the cluster again")
	}
	if in.Decision.Action != nil || in.Snapshot.Operation != nil {
		return no(in.Decision.Reason, in.Decision.Message+runningJoins(in))
	}
	if len(in.Snapshot.Members) != in.Snapshot.Replicas {
		return no(v1alpha1.ReasonScaling, scaling(in)+runningJoins(in))
	}
	for _, m := range in.Snapshot.Members {
		if !m.Synced() && !m.Copying() {
			return no(notSyncedReason(m), in.Decision.Message+detail(in, m))
		}
		if !m.Pod.Ready && !m.Copying() {
			return no(v1alpha1.ReasonJoining, m.Name+" is Synced, but its pod is not ready yet")
		}
		if p := in.Facts.Pods[m.Name]; p != nil && !observe.PodReady(p) && m.Pod.Unsettled != "" && !m.Copying() {
			return no(v1alpha1.ReasonJoining, m.Name+" serves, but its pod is not ready: "+m.Pod.Unsettled)
		}
		if m.Upgrading {
			return no(v1alpha1.ReasonUpgrading, m.Name+" serves while mariadb-upgrade upgrades its system tables")
		}
		if m.ConfigLoaded != in.Config.Revision {
			return no(v1alpha1.ReasonConfigurationStale, m.Name+" has not read the new configuration yet")
		}
	}
	if v, ok := arbitratorReady(in); !ok {
		return v
	}
	if len(RequiredChannels(in.Config.TLS)) > 0 && enc.status != yes("", "").status {
		return no(enc.reason, enc.message)
	}
	return yes(v1alpha1.ReasonReady, galera.AllNodes(len(in.Snapshot.Members))+" Synced")
}

// asleep reports whether the cluster is hibernated, and nothing is left to do for it.
func asleep(in Input) bool {
	return in.Snapshot.Hibernate && in.Snapshot.Hibernated && in.Decision.Action == nil && !in.Withheld
}

// keepsFromReady reports whether a problem keeps the cluster from what the spec asks for. A refused new pair does not:
// the old one stays in use. Nor does what a hibernated cluster waits for: it comes when the cluster is started.
func keepsFromReady(in Input, problem *validate.Problem) bool {
	switch {
	case problem == nil, problem == in.RenewalRefused, problem == in.RequestRefused, asleep(in) && !problem.Blocked:
		return false
	case problem == in.Refused, problem == in.CertManager:
		return in.Published == nil
	}
	return true
}

func notSyncedReason(m galera.Member) string {
	switch {
	case !m.Known && m.Pod.Exists && m.Pod.Ready:
		return v1alpha1.ReasonAgentUnreachable
	case m.Failure != nil:
		return v1alpha1.ReasonMemberFailed
	default:
		return v1alpha1.ReasonJoining
	}
}

// scaling names both sizes once: a decision about a node that joins for the scaling names them, too.
func scaling(in Input) string {
	if in.Decision.Reason == plan.ReasonScaling {
		return in.Decision.Message
	}
	return fmt.Sprintf("scaling from %d to %s; %s", len(in.Snapshot.Members), galera.Count(in.Snapshot.Replicas, "node"),
		in.Decision.Message)
}

// runningJoins describes the progress of all running joins.
func runningJoins(in Input) string {
	var b strings.Builder
	for _, m := range in.Snapshot.Members {
		if r := in.report(m.Name); r != nil && r.Join != nil && r.Join.EndedAt == nil && !m.Synced() {
			b.WriteString("; " + m.Name + " joins: " + joinMessage(r.Join))
		}
	}
	return b.String()
}

func detail(in Input, m galera.Member) string {
	if running := runningJoins(in); running != "" && m.Pod.Exists && m.Known {
		return running
	}
	switch {
	case !m.Pod.Exists:
		return "; " + m.Name + " has no pod yet"
	case !m.Known:
		return "; the agent of " + m.Name + " does not answer"
	case silent(in, m):
		return "; mariadbd of " + m.Name + " does not answer"
	default:
		return fmt.Sprintf("; %s is %s", m.Name, strings.ToLower(string(m.Phase)))
	}
}

// silent reports whether a member's server answered before, and does not now: its agent reports a phase as if it were
// starting.
func silent(in Input, m galera.Member) bool {
	r := in.report(m.Name)
	return r != nil && m.Phase == galera.PhaseStarting && r.Waiting != ""
}

func list(names []string) string { return strings.Join(names, ", ") }
