package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Event is one event of a cluster, as kubectl describe prints it.
type Event struct {
	Type    string // corev1.EventTypeNormal | corev1.EventTypeWarning
	Reason  string
	Action  string
	Message string
}

// Actions of events.
const (
	actionObserve  = "Observe"
	actionOperate  = "Operate"
	actionFailover = "MovePrimary"
)

// Events compares two statuses of a cluster and reports the changes.
func Events(before, after v1alpha1.GaleraClusterStatus) []Event {
	var out []Event
	out = append(out, operationEvents(before, after)...)
	if after.ClusterUUID != before.ClusterUUID {
		out = append(out, Event{corev1.EventTypeNormal, "HistoryRecorded", actionObserve, "the cluster's history is " +
			after.ClusterUUID})
	}
	if after.Primary != before.Primary && after.Primary != "" {
		out = append(out, Event{corev1.EventTypeNormal, "PrimaryMoved", actionFailover,
			fmt.Sprintf("the primary is %s (before: %s)", after.Primary, orNone(before.Primary))})
	}
	out = append(out, arbitratorEvents(before.Arbitrator, after.Arbitrator)...)
	out = append(out, certificateEvents(before.TLS, after.TLS)...)
	out = append(out, requestEvents(before.Requests, after.Requests)...)
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionAvailable, v1alpha1.ConditionStalled,
		v1alpha1.ConditionPaused,
		v1alpha1.ConditionEncrypted, v1alpha1.ConditionCertificatesValid, v1alpha1.ConditionQuorumHealthy,
		v1alpha1.ConditionWithinMaxLag} {
		out = append(out, conditionEvents(kind, before.Conditions, after.Conditions)...)
	}
	return append(out, memberEvents(before, after)...)
}

func operationEvents(before, after v1alpha1.GaleraClusterStatus) []Event {
	var out []Event
	if op := after.Operation; op != nil && (before.Operation == nil || before.Operation.ID != op.ID) {
		msg := op.ID + " started"
		if op.BootstrapMember != "" {
			msg += " on " + op.BootstrapMember
		}
		if op.Position != "" {
			msg += " at " + op.Position
		}
		out = append(out, Event{corev1.EventTypeNormal, op.Type + "Begun", actionOperate, msg})
	}
	if op, completed := EndedOperation(before, after); op != nil {
		e := Event{corev1.EventTypeWarning, op.Type + "Abandoned", actionOperate,
			op.ID + " was abandoned; the operator decides again"}
		if completed {
			e = Event{corev1.EventTypeNormal, op.Type + "Completed", actionOperate, op.ID + ": " + after.LastOperation.Message}
		}
		out = append(out, e)
	}
	return out
}

// conditionEvents reports a condition that changed its status, or a bad one that changed its reason.
func conditionEvents(kind string, before, after []metav1.Condition) []Event {
	now := meta.FindStatusCondition(after, kind)
	old := meta.FindStatusCondition(before, kind)
	if now == nil || old == nil {
		return nil
	}
	bad := metav1.ConditionFalse
	switch kind {
	case v1alpha1.ConditionStalled:
		bad = metav1.ConditionTrue
	case v1alpha1.ConditionPaused:
		bad = "" // requested by a user
	}
	turned := now.Status != old.Status
	if !turned && (now.Status != bad || now.Reason == old.Reason) {
		return nil
	}
	switch {
	case now.Status == bad && (kind == v1alpha1.ConditionStalled || turned):
		return []Event{{corev1.EventTypeWarning, now.Reason, actionObserve, kind + " is " + string(now.Status) + ": " +
			now.Message}}
	case turned && now.Status != metav1.ConditionUnknown && kind != v1alpha1.ConditionStalled:
		return []Event{{corev1.EventTypeNormal, now.Reason, actionObserve, kind + " is " + string(now.Status) + ": " +
			now.Message}}
	}
	return nil
}

func memberEvents(before, after v1alpha1.GaleraClusterStatus) []Event {
	old, versions := map[string]string{}, map[string]string{}
	for _, m := range before.Members {
		old[m.Name], versions[m.Name] = m.NodeState, m.Version
	}
	var out []Event
	for _, m := range after.Members {
		if was := versions[m.Name]; was != "" && m.Version != "" && m.Version != was {
			out = append(out, Event{corev1.EventTypeNormal, "MemberVersion", actionObserve,
				fmt.Sprintf("%s has MariaDB %s (before: %s)", m.Name, m.Version, was)})
		}
		if m.NodeState == "Synced" && old[m.Name] != "Synced" {
			out = append(out, Event{corev1.EventTypeNormal, "MemberSynced", actionObserve,
				m.Name + " is Synced" + joinKindSuffix(m.Join)})
		}
	}
	return out
}

func joinKindSuffix(j *v1alpha1.JoinStatus) string {
	if j == nil || j.Kind == "" || j.EndedAt == nil {
		return ""
	}
	return " by " + j.Kind
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
