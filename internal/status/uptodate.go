package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// upToDate is True when nothing that runs is to be replaced: no node for what the spec or this operator asks for, and
// no agent.
func upToDate(in Input) condition {
	var pending, now []string
	for _, m := range in.Snapshot.Members {
		switch outdated := plan.Outdated(m); {
		case outdated && plan.Deferred(in.Snapshot, m):
			pending = append(pending, m.Name+" is to be restarted: "+in.Snapshot.RestartsWait)
		case outdated:
			now = append(now, m.Name+" is to be restarted")
		case m.Known && m.Pod.Exists && m.ConfigLoaded != in.Config.Revision: // it may need a restart then
			now = append(now, m.Name+" has not read the new configuration yet")
		}
	}
	if in.Facts.StatefulSet != nil && !templateApplied(in.Facts) {
		now = append(now, "the pods' new template is not written yet")
	}
	for _, name := range slices.Sorted(maps.Keys(in.OutdatedAgents)) {
		switch why := in.OutdatedAgents[name]; {
		case why != "" && !strings.Contains(why, agentapi.NotNow):
			pending = append(pending, fmt.Sprintf("the agent of %s is to be replaced: %s", name, why))
		default:
			now = append(now, "the agent of "+name+" is to be replaced")
		}
	}
	switch {
	case len(now) > 0:
		return no(v1alpha1.ReasonUpdating, strings.Join(append(now, pending...), "; "))
	case len(pending) > 0:
		return no(v1alpha1.ReasonMaintenancePending, strings.Join(pending, "; "))
	}
	return yes(v1alpha1.ReasonUpToDate, "all nodes and agents are as the spec and this operator ask for")
}

// appliedGeneration is the generation every node runs with, or the one before while they do not.
func appliedGeneration(in Input, problem *validate.Problem, before int64) int64 {
	c := in.cluster()
	switch {
	case problem != nil, in.Snapshot.Operation != nil, len(in.Snapshot.Members) != in.Snapshot.Replicas,
		!templateApplied(in.Facts):
		return before
	}
	if a := in.Snapshot.Arbitrator; a != nil && (a.Outdated || a.Pod.Outdated) {
		return before
	}
	for _, m := range in.Snapshot.Members {
		if !m.Known || !m.Pod.Exists || m.ConfigLoaded != in.Config.Revision || m.Server == nil || plan.Outdated(m) {
			return before
		}
	}
	return c.Generation
}

// templateApplied reports whether Kubernetes knows the present template of the pods, so that a pod of an earlier one is
// outdated.
func templateApplied(f observe.Facts) bool {
	s := f.StatefulSet
	return s != nil && s.Status.ObservedGeneration >= s.Generation &&
		s.Spec.Template.Annotations[v1alpha1.AnnotationPodTemplate] == f.PodTemplate
}
