// Package galerabackup reconciles GaleraBackups: it chooses a node, admits one Job to its data, and takes in what the
// Job reports.
package galerabackup

import (
	"context"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackups,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackups/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackups/finalizers,verbs=update
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupstores;galerarestores,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete

// Finalizer holds a GaleraBackup with deletionPolicy Delete until its data are removed from the store.
const Finalizer = "galera-operator.io/remove-backup"

// Agents are those of the clusters.
type Agents interface {
	Seen(key types.NamespacedName) map[string]observe.Seen
	Target(key types.NamespacedName, pod string) (observe.Target, bool)
}

// Reconciler brings one GaleraBackup a step further, every time it is asked.
type Reconciler struct {
	client.Client
	// Live reads past the cache.
	Live   client.Reader
	Agents Agents
	// Sources are the clusters that may be backed up.
	Sources clone.Sources
	// Calls let the holder of a key take a backup of an agent.
	Calls *calls.Calls[observe.Target, agentapi.BackupAdmission, struct{}]
	Jobs  job.Options
	// Options render the pod that a test restores into.
	Options resources.Options
	// Events records events for users.
	Events events.EventRecorder
	// Now is the clock, and Today the earliest of those that are known.
	Now, Today func() time.Time

	// Refusals are the changes that the API server refuses.
	Refusals retry.Refusals

	starts starts
}

// Reconcile makes one pass: get, observe, decide, act or write the status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	defer r.Calls.EndPass(req.NamespacedName)
	b := &v1alpha1.GaleraBackup{}
	defer func() {
		o := b.DeepCopy()
		result, err = r.Refusals.Report(ctx, r.Client, req.NamespacedName, o, &o.Status.Conditions, result, err)
	}()
	if err := r.Get(ctx, req.NamespacedName, b); err != nil {
		if apierrors.IsNotFound(err) {
			r.starts.gone(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.starts.seen(b)
	if b.DeletionTimestamp != nil {
		return retry.Pass(r.remove(ctx, b))
	}
	if changed, err := r.keepFinalizer(ctx, b); changed || err != nil {
		return retry.Pass(taking.PollInterval, err)
	}
	if isFinished(b) {
		if err := r.tidy(ctx, b); err != nil {
			return retry.Pass(0, err)
		}
		if restated, err := restate(ctx, r, b); restated || err != nil || b.Status.Phase == v1alpha1.BackupFailed {
			return retry.Pass(0, err)
		}
		if located, err := locate(ctx, r.Client, b); located || err != nil {
			return retry.Pass(time.Second, err)
		}
		return retry.Pass(r.verify(ctx, b))
	}
	if b.Spec.Import != nil {
		return retry.Pass(takeOver(ctx, r, b))
	}
	f, err := r.observe(ctx, b)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := b.DeepCopy()
	d := taking.Decide(&next.Status, f)
	r.Refusals.Apply(next, &next.Status.Conditions)
	if !equality.Semantic.DeepEqual(b.Status, next.Status) {
		return retry.Pass(r.record(ctx, f, next, d))
	}
	if d.Run {
		return retry.Pass(d.RequeueAfter, r.run(ctx, f))
	}
	return retry.Pass(d.RequeueAfter, nil)
}

// record writes the status, the intent of an attempt among it, unless another backup of the cluster begins now.
func (r *Reconciler) record(ctx context.Context, f taking.Facts, next *v1alpha1.GaleraBackup, d taking.Decision) (
	time.Duration, error) {
	before := f.Backup.Status
	begins := next.Status.Attempts > before.Attempts
	if begins && !r.starts.claim(client.ObjectKeyFromObject(f.Cluster), next) {
		return time.Second, nil
	}
	err := r.Status().Update(ctx, next)
	switch {
	case err == nil:
		r.announce(before.Phase, next)
	case begins:
		r.starts.release(next)
	}
	return d.RequeueAfter, err
}

// announce makes an event of a new phase.
func (r *Reconciler) announce(before string, b *v1alpha1.GaleraBackup) {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete)
	if b.Status.Phase == before || c == nil || before == "" && b.Status.Phase == v1alpha1.BackupPending {
		return
	}
	kind := corev1.EventTypeNormal
	if b.Status.Phase == v1alpha1.BackupFailed || b.Status.Phase == v1alpha1.BackupPending {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(b, nil, kind, c.Reason, "Backup", "%s", c.Message)
}

// announceVerification makes an event of what a test has found.
func (r *Reconciler) announceVerification(before, b *v1alpha1.GaleraBackup) {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	v := before.Status.Verification
	if c == nil || b.Status.Verification.Phase == v1alpha1.VerifyRunning || v != nil &&
		v.Phase == b.Status.Verification.Phase {
		return
	}
	kind := corev1.EventTypeNormal
	if c.Status != metav1.ConditionTrue {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(b, nil, kind, c.Reason, "Verify", "%s", c.Message)
}

// isFinished reports whether nothing is left to do.
func isFinished(b *v1alpha1.GaleraBackup) bool {
	return b.Status.Phase == v1alpha1.BackupCompleted || b.Status.Phase == v1alpha1.BackupFailed
}

// keepFinalizer has the finalizer there while the stored data go with the object.
func (r *Reconciler) keepFinalizer(ctx context.Context, b *v1alpha1.GaleraBackup) (changed bool, err error) {
	wanted := b.Spec.DeletionPolicy == v1alpha1.BackupDelete
	if wanted == controllerutil.ContainsFinalizer(b, Finalizer) {
		return false, nil
	}
	change := controllerutil.RemoveFinalizer
	if wanted {
		change = controllerutil.AddFinalizer
	}
	return true, patchFinalizers(ctx, r.Client, b, change)
}

func patchFinalizers(ctx context.Context, kube client.Client, b *v1alpha1.GaleraBackup,
	change func(client.Object, string) bool) error {
	before := b.DeepCopy()
	change(b, Finalizer)
	return kube.Patch(ctx, b, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// tidy removes the key once no Job uses it: a backup that has failed for another reason than its Job's end may have one
// at work.
func (r *Reconciler) tidy(ctx context.Context, b *v1alpha1.GaleraBackup) error {
	if _, err := r.stop(ctx, b); err != nil {
		return err
	}
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: job.KeyName(b)}}
	return ownership.Remove(ctx, r.Client, r.Live, b.UID, key)
}

// restate sets again, once no change is refused any more, the conditions that a refusal has replaced: how the backup,
// or its test, has ended.
func restate(ctx context.Context, r *Reconciler, b *v1alpha1.GaleraBackup) (changed bool, err error) {
	next := b.DeepCopy()
	r.Refusals.Apply(next, &next.Status.Conditions)
	if meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled) == nil ||
		meta.FindStatusCondition(next.Status.Conditions, v1alpha1.ConditionStalled) != nil {
		return false, nil
	}
	taking.SetEnd(&next.Status, b.Generation)
	return true, r.Status().Update(ctx, next)
}

// locate records where a backup of an earlier release lies, once it is seen there.
func locate(ctx context.Context, c client.Client, b *v1alpha1.GaleraBackup) (changed bool, err error) {
	if b.Status.Store != nil {
		return false, nil
	}
	s, err := storeOf(ctx, c, b)
	if err != nil {
		return false, err
	}
	next := b.DeepCopy()
	if taking.Locate(&next.Status, s); next.Status.Store == nil {
		return false, nil
	}
	return true, c.Status().Update(ctx, next)
}

func (r *Reconciler) observe(ctx context.Context, b *v1alpha1.GaleraBackup) (taking.Facts, error) {
	f := taking.Facts{Backup: b, Now: r.Now()}
	var err error
	if f.Clone, err = r.cloneOf(ctx, b); err != nil {
		return f, err
	}
	// A cluster of another namespace is read only for a clone.
	if namespace, name := b.Source(); namespace == b.Namespace || f.Clone != nil {
		if f.Cluster, err = r.Sources.Find(ctx, namespace, name); err != nil {
			return f, err
		}
	}
	if f.Cluster != nil {
		f.Agents = r.Agents.Seen(client.ObjectKeyFromObject(f.Cluster))
	}
	if f.Store, err = storeOf(ctx, r.Client, b); err != nil {
		return f, err
	}
	if f.Other, err = r.other(ctx, b); err != nil {
		return f, err
	}
	if b.Spec.Incremental != nil {
		var all v1alpha1.GaleraBackupList
		if err := r.List(ctx, &all, client.InNamespace(b.Namespace)); err != nil {
			return f, err
		}
		f.Backups = all.Items
	}
	if b.Status.Attempts > 0 {
		f.Job, err = outcome.Of(ctx, r.Client, b, job.Name(b, b.Status.Attempts), f.Now)
	}
	return f, err
}

// storeOf returns the store of a backup, nil when there is none.
func storeOf(ctx context.Context, r client.Reader, b *v1alpha1.GaleraBackup) (*v1alpha1.GaleraBackupStore, error) {
	s := &v1alpha1.GaleraBackupStore{}
	err := r.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.StoreRef.Name}, s)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return s, err
}

// run has the Job of the present attempt there, and the node's agent admit it.
func (r *Reconciler) run(ctx context.Context, f taking.Facts) error {
	b := f.Backup
	hash, err := r.key(ctx, f)
	if err != nil {
		return err
	}
	target, followed := r.Agents.Target(client.ObjectKeyFromObject(f.Cluster), b.Status.Node)
	if !followed {
		return nil // the Job fails, and another node is chosen
	}
	by := calls.By{Cluster: client.ObjectKeyFromObject(f.Cluster), Object: client.ObjectKeyFromObject(b)}
	admission := agentapi.BackupAdmission{ID: b.Status.ID, KeySHA256: hash}
	// The Job waits for its admission, so it can start before the answer arrives.
	if _, err := r.Calls.Ask(ctx, by, target, admission); err != nil && !calls.Quiet(err) {
		log.FromContext(ctx).Info("the agent does not admit the backup", "node", b.Status.Node, "why", err.Error())
	}
	if f.Job.Exists {
		return nil
	}
	t := task.Backup{
		Address: agentAddress(f.Cluster, b.Status.Node), ServerName: resources.ServerName(f.Cluster, b.Status.Node),
		Dir: b.Status.Directory, Level: b.Spec.CompressionLevel,
		Manifest: manifest.Manifest{ID: b.Status.ID, Namespace: f.Cluster.Namespace, Cluster: f.Cluster.Name,
			ClusterUID: string(f.Cluster.UID),
			Node:       b.Status.Node, Compression: b.Spec.Compression, Recipients: b.Status.Recipients},
	}
	t.Manifest.Base = base(f)
	if a := f.Cluster.Status.Backup; a != nil {
		t.Manifest.Session = a.Session
	}
	if limit := b.Spec.RateLimit; limit != nil {
		t.Rate = limit.Value()
	}
	j, err := job.Backup(b, scheduledAs(f), f.Store, t, b.Status.Attempts, r.Jobs)
	if err != nil {
		return err
	}
	return ownership.Keep(ctx, r.Client, r.Live, b.UID, j)
}

// base is what the Job's manifest says of the backup that the present attempt adds to, nil for a full one. One that is
// gone by now is left out: the copy is a full one then.
func base(f taking.Facts) *manifest.Base {
	chain := f.Backup.Status.Incremental
	if chain == nil || chain.Base == "" {
		return nil
	}
	i := slices.IndexFunc(f.Backups, func(o v1alpha1.GaleraBackup) bool { return o.Status.ID == chain.Base })
	if i < 0 {
		return nil
	}
	of := f.Backups[i].Status
	return &manifest.Base{ID: of.ID, Checksum: of.Checksum, LSN: uint64(max(of.LSN, 0)), Depth: int(chain.Depth)}
}

// SetupWithManager registers the reconciler: it is woken by the backup, its Jobs, its cluster and its store.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.GaleraBackup{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: retry.Workers, RateLimiter: retry.BackOff()}).
		Owns(&batchv1.Job{}).
		Watches(&v1alpha1.GaleraBackupStore{}, handler.EnqueueRequestsFromMapFunc(
			func(ctx context.Context, o client.Object) []reconcile.Request {
				return r.waiting(ctx, o.GetNamespace(),
					func(b *v1alpha1.GaleraBackup) bool { return b.Spec.StoreRef.Name == o.GetName() })
			})).
		WatchesRawSource(r.Calls.Source()).
		Complete(r)
}

// waiting finds the backups of a namespace that are not over.
func (r *Reconciler) waiting(ctx context.Context, namespace string, of func(*v1alpha1.GaleraBackup) bool) (
	out []reconcile.Request) {
	var all v1alpha1.GaleraBackupList
	if r.List(ctx, &all, client.InNamespace(namespace)) != nil {
		return nil // asked again shortly
	}
	for i := range all.Items {
		if b := &all.Items[i]; !isFinished(b) && of(b) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		}
	}
	return out
}
