package restoring

import (
	"context"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list

// reseed brings a cluster a step further whose source is copied again. done reports whether that is all for this pass.
func (r *Reconciler) reseed(ctx context.Context, c *v1alpha1.GaleraCluster) (done bool, result ctrl.Result, err error) {
	if !restoration.Reseeds(c) {
		return false, result, nil
	}
	f, err := r.reseedFacts(ctx, c)
	if err != nil {
		return true, result, err
	}
	next := c.DeepCopy()
	act := restoration.Reseed(&next.Status, f)
	if !equality.Semantic.DeepEqual(c.Status, next.Status) {
		result, err = retry.Pass(whileReseeding, r.Status().Update(ctx, next)) // the intent first
		return true, result, err
	}
	if !c.Emptying() && !isChecking(c) {
		return false, result, nil
	}
	switch act {
	case restoration.ReseedWait:
	case restoration.ReseedCheck:
		var j *batchv1.Job
		if j, err = r.check(c, f); err == nil {
			err = ownership.Keep(ctx, r.Client, r.Live, c.UID, j)
		}
	case restoration.ReseedMark:
		err = r.mark(ctx, f.Set)
	case restoration.ReseedRemove:
		if err = apply.Unchanged(ctx, r.Live, c); err != nil {
			break // the annotation may be gone since
		}
		err = client.IgnoreNotFound(r.Delete(ctx, f.Set, client.PropagationPolicy(metav1.DeletePropagationBackground),
			client.Preconditions{UID: &f.Set.UID, ResourceVersion: &f.Set.ResourceVersion}))
	}
	result, err = retry.Pass(whileReseeding, err)
	return true, result, err
}

// check is the Job that looks for what the cluster is to be filled with.
func (r *Reconciler) check(c *v1alpha1.GaleraCluster, f restoration.ReseedFacts) (*batchv1.Job, error) {
	if v1alpha1.Rejoins(c) {
		return job.Refind(c, f.Source.Store, f.Source.Find, r.Jobs)
	}
	return job.Recheck(c, r.Options, r.Jobs)
}

func isChecking(c *v1alpha1.GaleraCluster) bool {
	return c.Status.Reseed != nil && c.Status.Reseed.Phase == v1alpha1.ReseedChecking
}

// checkFacts reads what the check of the source depends on, and what it has found.
func (r *Reconciler) checkFacts(ctx context.Context, c *v1alpha1.GaleraCluster, f *restoration.ReseedFacts) error {
	var err error
	check := job.RecheckName
	switch {
	case v1alpha1.Rejoins(c):
		check = job.RefindName
		f.Source, f.Blocker, err = r.source(ctx, c)
	case isChecking(c) && restoration.IsExternal(c):
		f.Blocker, err = r.credentials(ctx, c)
	default:
		return nil
	}
	if err == nil && isChecking(c) {
		f.Check, err = outcome.Of(ctx, r.Client, c, check(c), f.Now)
	}
	return err
}

func (r *Reconciler) reseedFacts(ctx context.Context, c *v1alpha1.GaleraCluster) (restoration.ReseedFacts, error) {
	f := restoration.ReseedFacts{Cluster: c, Now: r.Now(), Late: r.Late()}
	if err := r.checkFacts(ctx, c, &f); err != nil {
		return f, err
	}
	set := &appsv1.StatefulSet{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: resources.StatefulSetName(c)}, set)
	switch {
	case err == nil && metav1.IsControlledBy(set, c):
		f.Set = set
	case err != nil && !apierrors.IsNotFound(err):
		return f, err
	}
	var claims corev1.PersistentVolumeClaimList
	var pods corev1.PodList
	of := []client.ListOption{client.InNamespace(c.Namespace), client.MatchingLabels(resources.Selector(c))}
	if err := r.Live.List(ctx, &claims, of...); err != nil {
		return f, err
	}
	if err := r.Live.List(ctx, &pods, of...); err != nil {
		return f, err
	}
	f.Claims = claims.Items
	for i := range pods.Items {
		f.Pods = append(f.Pods, pods.Items[i].Name)
	}
	return f, nil
}

// mark has Kubernetes make the StatefulSet an owner of its claims, if it is still as it was read.
func (r *Reconciler) mark(ctx context.Context, set *appsv1.StatefulSet) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": set.UID, "resourceVersion": set.ResourceVersion},
		"spec": map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{
			"whenDeleted": appsv1.DeletePersistentVolumeClaimRetentionPolicyType}}})
	if err != nil {
		return err
	}
	return r.Patch(ctx, set.DeepCopy(), client.RawPatch(client.Merge.Type(), patch))
}
