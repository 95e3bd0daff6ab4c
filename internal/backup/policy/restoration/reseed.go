package restoration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// ReseedFacts are what there is of a cluster whose source may have to be copied again.
type ReseedFacts struct {
	Cluster *v1alpha1.GaleraCluster
	// Set is the cluster's StatefulSet, nil for none, Claims and Pods are those of its nodes.
	Set    *appsv1.StatefulSet
	Claims []corev1.PersistentVolumeClaim
	Pods   []string
	// Check is the check of the source that was made last, Blocker why none can be made; the zero value for nothing.
	Check   outcome.Outcome
	Blocker Problem
	// Source is where the backup lies of a cluster that is to be followed.
	Source Source
	// Now is the clock, Late the latest of those that are known, the zero time for Now.
	Now, Late time.Time
}

// ReseedAct is what is done next.
type ReseedAct int

const (
	// ReseedWait does nothing.
	ReseedWait ReseedAct = iota
	// ReseedCheck has the source checked.
	ReseedCheck
	// ReseedMark lets the claims of the StatefulSet end with it.
	ReseedMark
	// ReseedRemove removes the StatefulSet, with its pods and claims.
	ReseedRemove
)

// Reseeds reports whether a cluster is copied again, or that is asked for.
func Reseeds(c *v1alpha1.GaleraCluster) bool {
	r, asked := c.Status.Reseed, asks(c)
	return r != nil && (r.Phase == v1alpha1.ReseedChecking || c.Reseeding()) || isNew(asked, r)
}

// asks is what a person asks for: to follow the cluster that has taken over, or what the annotation has; "" for
// nothing.
func asks(c *v1alpha1.GaleraCluster) string {
	switch {
	case v1alpha1.Rejoins(c):
		return c.Spec.ReplicaOf.Replaces
	case v1alpha1.Replaced(c) != "": // an annotation is from before
		return ""
	}
	return strings.TrimSpace(c.Annotations[v1alpha1.AnnotationReseed])
}

// isNew reports whether a value is asked for since the last one was met, refused or cancelled. What puts a value back
// that is not later than the one that was met, as an older manifest does, asks for nothing.
func isNew(asked string, last *v1alpha1.ReseedStatus) bool {
	if asked == "" || last == nil {
		return asked != ""
	}
	at, ok := requestedAt(asked)
	before, known := requestedAt(last.Request)
	return !ok && last.Phase == v1alpha1.ReseedCancelled || shortRequest(asked) != last.Request &&
		(last.Phase == v1alpha1.ReseedRefused || last.Phase == v1alpha1.ReseedCancelled || !ok || !known || at.After(before))
}

// requestedAt is the time that a value of the annotation names; ok is false for one that names none.
func requestedAt(asked string) (at time.Time, ok bool) {
	_, token, _ := strings.Cut(asked, "@")
	seconds, err := strconv.ParseInt(token, 10, 64)
	return time.Unix(seconds, 0), err == nil
}

// Reseed brings status.reseed a step further. It is pure. What is removed is recorded first, by its UID; what is done
// depends on that record and on what there is, so that any pass may be the last of an operator.
func Reseed(to *v1alpha1.GaleraClusterStatus, f ReseedFacts) ReseedAct {
	r, asked := to.Reseed, asks(f.Cluster)
	switch {
	case r != nil && shortRequest(asked) != r.Request && revocable(r, f):
		*r = v1alpha1.ReseedStatus{Request: r.Request, Phase: v1alpha1.ReseedCancelled, StartedAt: r.StartedAt,
			Message: "the request was removed, or changed: the nodes and their volumes are as they were"}
		return ReseedWait
	case r != nil && v1alpha1.Rejoins(f.Cluster) && revocable(r, f):
		if r.Phase == v1alpha1.ReseedChecking || notRejoined(f) != "" { // also of one that was about to be emptied
			return rejoining(r, f)
		}
		return emptying(to, f)
	case r != nil && r.Phase == v1alpha1.ReseedChecking:
		return checking(r, f, asked)
	case r != nil && r.Phase == v1alpha1.ReseedEmptying:
		return emptying(to, f)
	case r != nil && r.Phase == v1alpha1.ReseedCopying:
		if to.Restore != nil && to.Restore.Phase == v1alpha1.RestoreCompleted {
			r.Phase, r.Message, r.CompletedAt = v1alpha1.ReseedCompleted, "the source is copied again",
				new(metav1.NewTime(f.Now))
		}
		return ReseedWait
	case !isNew(asked, r):
		return ReseedWait
	}
	to.Reseed = &v1alpha1.ReseedStatus{Request: shortRequest(asked), Phase: v1alpha1.ReseedChecking,
		StartedAt: metav1.NewTime(f.Now), Message: checkingSource(f.Cluster)}
	if v1alpha1.Rejoins(f.Cluster) {
		return ReseedWait // the next pass goes on
	}
	if why := notReseeded(asked, f); why != "" {
		to.Reseed.Phase, to.Reseed.Message = v1alpha1.ReseedRefused, why
	}
	return ReseedWait
}

// revocable reports whether nothing was removed yet: pods and claims end with the StatefulSet only.
func revocable(r *v1alpha1.ReseedStatus, f ReseedFacts) bool {
	return r.Phase == v1alpha1.ReseedChecking ||
		r.Phase == v1alpha1.ReseedEmptying && f.Set != nil && f.Set.DeletionTimestamp == nil
}

// checking has the source checked, again and again until nothing keeps it from being copied: only then the nodes are
// about to be removed. A request that has become old meanwhile is refused, as is one whose reason is gone.
func checking(r *v1alpha1.ReseedStatus, f ReseedFacts, asked string) ReseedAct {
	if why := notReseeded(asked, f); why != "" {
		if r.AttemptedAt != nil {
			why += ". The last check of the source: " + r.Message
		}
		r.Phase, r.Message = v1alpha1.ReseedRefused, shortMessage(why)
		return ReseedWait
	}
	o := f.Check
	switch {
	case f.Blocker.Reason != "":
		r.Message, r.AttemptedAt = shortMessage(f.Blocker.Message), nil
		return ReseedWait
	case o.Done && o.Result.Error == "" && o.Result.Source != nil && len(o.Result.Source.Findings) == 0:
		empty(r, f)
		return ReseedWait
	case o.Done:
		r.Attempts++
		r.AttemptedAt, r.Message = new(metav1.NewTime(f.Now)), shortMessage(foundAtCheck(f.Cluster, o))
		return ReseedWait
	case o.Waits != "":
		r.Message, r.AttemptedAt = shortMessage(o.Waits), nil
	case r.AttemptedAt == nil:
		r.Message = checkingSource(f.Cluster)
	}
	if !o.Exists && pauseAfter(int(r.Attempts), r.AttemptedAt, f.Now) <= 0 {
		return ReseedCheck
	}
	return ReseedWait
}

// empty begins to remove the nodes.
func empty(r *v1alpha1.ReseedStatus, f ReseedFacts) {
	r.Phase, r.Message, r.AttemptedAt = v1alpha1.ReseedEmptying, "the nodes are about to be removed", nil
	for i := range f.Claims {
		if p := &f.Claims[i]; isMembers(f.Cluster, p.Name) {
			r.Claims = append(r.Claims, v1alpha1.ReseededClaim{Name: p.Name, UID: string(p.UID)})
		}
	}
}

func checkingSource(c *v1alpha1.GaleraCluster) string {
	return firstMessage(c) + ": nothing is removed before"
}

// foundAtCheck is why a check of the source was not passed.
func foundAtCheck(c *v1alpha1.GaleraCluster, o outcome.Outcome) string {
	switch {
	case o.Result.Error != "":
		return o.Result.Error + "; it is tried again"
	case o.Result.Source == nil:
		return "the check of the source has reported nothing; it is tried again"
	}
	return Unsuitable(externalStatus(c, *o.Result.Source).Findings)
}

// shortMessage cuts a message to what status.reseed.message takes.
func shortMessage(s string) string {
	const most = 1024
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-3], "") + "..."
}

const (
	// maxRequest bounds a value of the annotation, in bytes.
	maxRequest = 100
	// maxRequestAge is how old a request may be. status.reseed, which has the one that was met, is lost with the status,
	// and by a rollback of the operator; the annotation stays in manifests, and in copies of them.
	maxRequestAge = time.Hour
	// maxSkew is how far the clocks of who asks and of the operator may be apart.
	maxSkew = 10 * time.Minute
)

func shortRequest(asked string) string {
	return strings.ToValidUTF8(asked[:min(len(asked), maxRequest)], "?")
}

// isMembers reports whether a claim is of a node that the cluster has now.
func isMembers(c *v1alpha1.GaleraCluster, claim string) bool {
	for i := range int(max(c.Status.Replicas, c.Spec.Replicas)) {
		if claim == resources.ClaimName(c, i) {
			return true
		}
	}
	return false
}

// notReseeded is why a request is refused, "" if it is met. Only a cluster is emptied that no client has written to:
// one that follows, without a cutover. The record is written only while the cluster is as it was read, and from then on
// no cutover reaches a node.
func notReseeded(asked string, f ReseedFacts) string {
	c := f.Cluster
	kind, _, _ := strings.Cut(asked, "@")
	at, timed := requestedAt(asked)
	role := ""
	if r := c.Status.Replication; r != nil {
		role = r.Role
	}
	switch {
	case kind != v1alpha1.ReseedPurged && kind != v1alpha1.ReseedAlways, !timed:
		return "write purged@TIME or always@TIME; TIME is the present one in seconds, as date +%s prints it"
	case f.Now.Sub(at) > maxRequestAge, at.Sub(f.Now) > maxSkew:
		return fmt.Sprintf("the request is of %s, and takes effect within %s only: if the cluster is to be emptied, ask "+
			"again, with the present time", at.UTC().Format(time.RFC3339), maxRequestAge)
	case c.Source() == nil || !IsExternal(c): // a cluster that follows an archive is created anew
		return "the cluster follows no server (spec.bootstrapFrom.external.follow)"
	case c.FromBackup() != nil:
		return "the cluster began with a backup of the server (method: Backup), which would be at the same position again: " +
			"create the cluster anew with a later backup"
	case c.TakesOver(), v1alpha1.HoldsAtCutover(c), role == v1alpha1.RoleIndependent:
		return "the cluster is cut over, or being cut over: clients may have written to it"
	case c.Spec.Cutover != nil: // it cannot be removed
		return "spec.cutover is not obeyed, and cannot be removed: create the cluster anew, without it"
	case c.Status.ClusterUUID == "", role != v1alpha1.RoleFollower:
		return "the cluster has not followed its source yet"
	case c.Spec.Hibernate:
		return "the cluster is hibernated: set spec.hibernate to false first"
	case kind == v1alpha1.ReseedPurged && !slices.ContainsFunc(c.Status.RequiredActions,
		func(a v1alpha1.RequiredAction) bool { return a.Reason == v1alpha1.ReasonSourcePurged }):
		return "the source has not deleted what the cluster needs next (SourcePurged): write always@TIME to copy it again " +
			"anyway"
	case f.Set == nil:
		return "the cluster has no StatefulSet"
	}
	return ""
}

// emptying removes the nodes: their claims end with the StatefulSet, by its UID.
func emptying(to *v1alpha1.GaleraClusterStatus, f ReseedFacts) ReseedAct {
	r := to.Reseed
	left := map[types.UID]*corev1.PersistentVolumeClaim{}
	for i := range f.Claims {
		p := &f.Claims[i]
		if slices.Contains(r.Claims, v1alpha1.ReseededClaim{Name: p.Name, UID: string(p.UID)}) {
			left[p.UID] = p
		}
	}
	switch {
	case !r.Acknowledged:
		r.Message = "waiting until the nodes are left alone"
	case f.Set != nil && f.Set.DeletionTimestamp != nil:
		r.Message = "waiting until the StatefulSet is gone. The source is copied then, also without the annotation"
	case f.Set != nil:
		return removing(r, f.Set, left)
	case len(f.Pods) > 0:
		r.Message = "waiting until the pods are gone: " + strings.Join(f.Pods, ", ") + ". If the host of one is gone for " +
			"good, delete the pod by force"
	case len(left) > 0:
		var names []string
		for _, p := range left {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		r.Message = "waiting until the claims are gone: " + strings.Join(names, ", ") + ". If that takes longer than a few " +
			"minutes, delete them with kubectl delete pvc"
	default:
		copyAgain(to, f)
	}
	return ReseedWait
}

// removing has the StatefulSet removed once each claim that is to go ends with it.
func removing(r *v1alpha1.ReseedStatus, set *appsv1.StatefulSet,
	left map[types.UID]*corev1.PersistentVolumeClaim) ReseedAct {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil || policy.WhenDeleted != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		r.Message = "the claims are about to end with the StatefulSet"
		return ReseedMark
	}
	for _, claim := range r.Claims { // the same one is named in each pass
		p := left[types.UID(claim.UID)]
		if p == nil || p.DeletionTimestamp != nil || slices.ContainsFunc(p.OwnerReferences,
			func(o metav1.OwnerReference) bool { return o.UID == set.UID }) {
			continue
		}
		r.Message = "waiting until the claim " + p.Name + " belongs to the StatefulSet, so that it ends with it. If it has " +
			"no pod, delete it with kubectl delete pvc"
		return ReseedWait
	}
	r.Message = "removing the nodes and their volumes"
	return ReseedRemove
}

// copyAgain makes the cluster one that has not been started: its source is checked and copied as at first. Epochs go
// on.
func copyAgain(to *v1alpha1.GaleraClusterStatus, f ReseedFacts) {
	attempts := int32(0)
	if to.Restore != nil {
		attempts = to.Restore.Attempts + 1 // Jobs of the first copy may still be there
	}
	to.Reseed.Phase, to.Reseed.Claims = v1alpha1.ReseedCopying, nil
	to.Reseed.Message = "the source is copied: status.restore has how far"
	to.ClusterUUID, to.Line, to.Primary, to.Operation, to.Abandoned, to.Replication = "", "", "", nil, nil, nil
	to.Members, to.NoPrimarySince = nil, nil       // their positions are of the data that were removed
	if !strings.Contains(to.Reseed.Request, "@") { // that is a person's annotation
		forget(to, f.Cluster, slices.MaxFunc([]time.Time{f.Now, f.Late}, time.Time.Compare))
	}
	to.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreFinding, ObservedGeneration: f.Cluster.Generation,
		Attempts: attempts, StartedAt: new(metav1.NewTime(f.Now)), Message: firstMessage(f.Cluster)}
}

// externalID names one copy of a source: a history is that of one copy.
func externalID(c *v1alpha1.GaleraCluster) string {
	id := fmt.Sprintf("external-%d", c.Generation)
	if r := c.Status.Reseed; r != nil && r.Phase == v1alpha1.ReseedCopying {
		id += fmt.Sprintf("-%d", r.StartedAt.Unix())
	}
	return id
}
