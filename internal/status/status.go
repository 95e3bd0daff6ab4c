package status

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/conditions"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// Update writes what was observed and decided into status. The journal's fields (clusterUUID,
// epoch, operation, lastOperation) are left alone.
func Update(status *v1alpha1.GaleraClusterStatus, in Input) {
	c := in.cluster()
	problem := firstProblem(in)
	proof := proved(in)
	enc := encrypted(in, proof)
	rdy := ready(in, problem, proof)

	if !c.Paused() {
		status.ObservedGeneration = c.Generation
	}
	status.AppliedGeneration = appliedGeneration(in, problem, status.AppliedGeneration)
	status.Members = members(in)
	status.Primary = primary(in)
	status.Identity, status.Line = cmp.Or(status.Identity, in.Config.UID), line(in)
	status.NoPrimarySince = timeOf(&in.Snapshot.NoPrimarySince)
	status.ReadyReplicas = synced(in)
	if status.Replicas == 0 {
		status.Replicas = int32(len(in.Snapshot.Members)) // from now on the journal owns it
	}
	status.VolumeSize = observe.VolumeSize(in.Facts)
	status.Selector = labels.SelectorFromSet(resources.Selector(c)).String()
	status.Arbitrator = arbitratorStatus(in, status.Arbitrator)
	status.TLS = clusterTLS(in, status.TLS)
	status.TLS.Encrypted = inAWord(enc)
	status.Requests = in.Requests
	status.AtRest = atRestStatus(in, status.AtRest)
	status.EnabledEvents = enabledEvents(in)
	status.Replication = followingStatus(in, status.Replication)
	status.WriteLease = nextLease(in, status.WriteLease)

	if c.Emptying() {
		status.Reseed.Acknowledged = true // this pass has made no pod, and none before it goes on
	}
	unseen := status.ObservedGeneration != c.Generation // changed while the operator is paused
	status.RequiredActions = requiredActions(in, unseen)
	set := func(kind string, v condition) {
		generation := c.Generation
		if kind == v1alpha1.ConditionReady && unseen {
			generation = max(status.ObservedGeneration, 0) // it does not describe the current spec
		}
		conditions.Set(&status.Conditions, metav1.Condition{
			Type: kind, Status: v.status, Reason: v.reason, Message: v.message, ObservedGeneration: generation,
		})
	}
	set(v1alpha1.ConditionReady, rdy)
	set(v1alpha1.ConditionAvailable, available(in))
	set(v1alpha1.ConditionPaused, paused(in))
	set(v1alpha1.ConditionStalled, stalled(status.RequiredActions))
	set(v1alpha1.ConditionReconciling, reconciling(rdy, problem, in))
	setOrRemove(status, in, set)
	set(v1alpha1.ConditionEncrypted, enc)
	setAtRest(status, in, set)
	set(v1alpha1.ConditionCertificatesValid, certificatesValid(in))
	set(v1alpha1.ConditionQuorumHealthy, quorumHealthy(in))
	set(v1alpha1.ConditionUpToDate, upToDate(in))
	set(v1alpha1.ConditionDurable, durable(in))
	set(v1alpha1.ConditionCPUStarved, cpuStarved(in))
}

// setOrRemove sets the conditions that exist only while there is something to report.
func setOrRemove(status *v1alpha1.GaleraClusterStatus, in Input, set func(kind string, v condition)) {
	if v, exist := scheduled(in); exist {
		set(v1alpha1.ConditionEventsScheduled, v)
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionEventsScheduled)
	}
	switch v, failed, known := timeZones(in); {
	case failed:
		set(v1alpha1.ConditionTimeZonesCurrent, v)
	case known:
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionTimeZonesCurrent)
	}
	setFollowing(status, in, set)
	setLag(status, in, set)
	if c := in.cluster(); c.ArchivesBinlog() {
		set(v1alpha1.ConditionPointInTimeRecoverable, recoverable(c))
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionPointInTimeRecoverable)
	}
}

// stalled is True when manual action is required: on a paused cluster, as soon as there is something to do.
func stalled(actions []v1alpha1.RequiredAction) condition {
	a, is := stalls(actions)
	switch {
	case !is:
		return no(v1alpha1.ReasonHealthy, "no manual action is required")
	case a.Command != "":
		return yes(a.Reason, strings.TrimSuffix(a.Message, ".")+". The command is in status.requiredActions")
	}
	return yes(a.Reason, a.Message)
}

// reconciling is True while the operator works, and False when it is done or cannot go on.
func reconciling(rdy condition, problem *validate.Problem, in Input) condition {
	switch {
	case rdy.status == metav1.ConditionTrue && in.Snapshot.Hibernate:
		return no(v1alpha1.ReasonHibernated, "the cluster is hibernated")
	case rdy.status == metav1.ConditionTrue:
		return no(v1alpha1.ReasonDone, "the cluster is as the spec asks for")
	case in.cluster().Paused():
		return no(v1alpha1.ReasonPaused, "the operator does nothing while the cluster is paused")
	case problem != nil && problem.Blocked:
		return no(problem.Reason, brief(problem))
	default:
		return yes(rdy.reason, rdy.message)
	}
}

func primary(in Input) string {
	if asleep(in) {
		return ""
	}
	for _, m := range in.Snapshot.Members {
		if m.Pod.Role == v1alpha1.RolePrimary {
			return m.Name
		}
	}
	// Remembered while its pod is away: of equal members, the last primary is started first.
	return in.cluster().Status.Primary
}

// line is the latest line of history of the Primary component; the last one seen while there is none.
func line(in Input) string {
	id, epoch := in.cluster().Status.Line, int64(0)
	for _, m := range in.Snapshot.Members {
		if m.InPrimary() && m.Line > epoch && len(m.Lines) > 0 && len(m.Lines[0]) <= longestLine {
			id, epoch = m.Lines[0], m.Line
		}
	}
	return id
}

// longestLine is the most that status takes of what an agent reports.
const longestLine = 128

func synced(in Input) int32 {
	var n int32
	for _, m := range in.Snapshot.Members {
		if m.Synced() {
			n++
		}
	}
	return n
}

// renewalTime is when the published certificate is renewed. cert-manager reports the time for the pair it has issued
// last, which the nodes may not have: it was refused.
func renewalTime(in Input) *metav1.Time {
	c := in.Facts.Certificate
	if c == nil || c.Status.NotAfter == nil || c.Status.RenewalTime == nil {
		return nil
	}
	at := in.Published.NotAfter.Add(-c.Status.NotAfter.Sub(c.Status.RenewalTime.Time))
	return timeOf(&at)
}

func clusterTLS(in Input, before *v1alpha1.ClusterTLSStatus) *v1alpha1.ClusterTLSStatus {
	out := &v1alpha1.ClusterTLSStatus{Replication: string(in.Config.TLS.Replication)}
	out.Renewals = in.Renewals
	if in.Published != nil {
		out.Serial, out.Key, out.NotAfter = in.Published.Serial, in.Published.Key, timeOf(&in.Published.NotAfter)
		out.RenewalTime = renewalTime(in)
		out.Step, out.TrustedCAs, out.NewCAServedAfter = trustStep(in), trustedCAs(in), servedAfter(in)
	}
	out.Switch, out.LastSwitch = switches(in, before)
	return out
}
