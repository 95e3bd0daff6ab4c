// Package galerabackupschedule reconciles GaleraBackupSchedules: it makes a GaleraBackup when one is due, and deletes those that the store's
// retention does not keep.
package galerabackupschedule

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/retention"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupschedules,verbs=get;list;watch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupschedules/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupschedules/finalizers,verbs=update
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackups,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupstores;galeraclusters,verbs=get;list;watch

// Reconciler makes backups.
type Reconciler struct {
	client.Client
	// Now is the clock.
	Now func() time.Time
}

// Reconcile makes one pass.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &v1alpha1.GaleraBackupSchedule{}
	if err := r.Get(ctx, req.NamespacedName, s); err != nil || s.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var all v1alpha1.GaleraBackupList
	if err := r.List(ctx, &all, client.InNamespace(s.Namespace)); err != nil {
		return ctrl.Result{}, err
	}
	now := r.Now()
	next := s.DeepCopy()
	d := decide(&next.Status, s, all.Items, now)
	if d.make != "" {
		// The backup first: its name says when it was due, so that it is made once, and the status follows from it.
		if err := r.make(ctx, s, d.make); err != nil {
			return retry.Pass(0, err)
		}
	}
	if !equality.Semantic.DeepEqual(s.Status, next.Status) {
		return retry.Pass(d.again, r.Status().Update(ctx, next))
	}
	return retry.Pass(d.again, r.retain(ctx, s, all.Items, now))
}

func (r *Reconciler) make(ctx context.Context, s *v1alpha1.GaleraBackupSchedule, name string) error {
	b := &v1alpha1.GaleraBackup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Namespace, Labels: map[string]string{v1alpha1.LabelSchedule: s.Name, v1alpha1.LabelCluster: s.Spec.Template.ClusterRef.Name}},
		Spec:       *s.Spec.Template.DeepCopy(),
	}
	return client.IgnoreAlreadyExists(r.Create(ctx, b, client.FieldOwner(apply.FieldOwner)))
}

// retain deletes what the store's retention does not keep of this schedule's cluster. The finalizer of each removes its data.
func (r *Reconciler) retain(ctx context.Context, s *v1alpha1.GaleraBackupSchedule, all []v1alpha1.GaleraBackup, now time.Time) error {
	store := &v1alpha1.GaleraBackupStore{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Template.StoreRef.Name}, store)
	if apierrors.IsNotFound(err) || err == nil && store.Spec.Retention == nil {
		return nil
	}
	if err != nil {
		return err
	}
	c := &v1alpha1.GaleraCluster{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Template.ClusterRef.Name}, c); client.IgnoreNotFound(err) != nil {
		return err
	}
	archived := c.ArchivesBinlog() && c.Spec.Backup.StoreRef == s.Spec.Template.StoreRef
	for _, b := range append(expired(s, all, *store.Spec.Retention, archived, now), failures(s, all)...) {
		log.FromContext(ctx).Info("retention deletes a backup", "backup", b.Name)
		if err := r.Delete(ctx, b, client.Preconditions{UID: &b.UID}); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// expired are the backups that no rule keeps. Only those with deletionPolicy Delete are asked about; the others count as kept.
// archived says that the cluster's binary log is archived beside them.
func expired(s *v1alpha1.GaleraBackupSchedule, all []v1alpha1.GaleraBackup, rules v1alpha1.BackupRetention, archived bool, now time.Time) (out []*v1alpha1.GaleraBackup) {
	t := s.Spec.Template
	var complete []*v1alpha1.GaleraBackup
	for i := range all {
		b := &all[i]
		if b.Spec.ClusterRef == t.ClusterRef && b.Spec.StoreRef == t.StoreRef && counts(b) && b.DeletionTimestamp == nil {
			complete = append(complete, b)
		}
	}
	times := make([]time.Time, len(complete))
	for i, b := range complete {
		times[i] = b.Status.CompletedAt.Time
	}
	policy := retention.Policy{Last: int(rules.KeepLast), Daily: int(rules.KeepDaily), Weekly: int(rules.KeepWeekly), Base: archived}
	if w := rules.KeepWithin; w != nil {
		policy.Within = w.Duration
	}
	for _, i := range retention.Expired(times, policy, now) {
		if complete[i].Spec.DeletionPolicy == v1alpha1.BackupDelete {
			out = append(out, complete[i])
		}
	}
	return out
}

// failuresKept is how many failed backups of a schedule are left for people to look at.
const failuresKept = 3

// failures are the older of a schedule's backups that have failed.
func failures(s *v1alpha1.GaleraBackupSchedule, all []v1alpha1.GaleraBackup) (out []*v1alpha1.GaleraBackup) {
	for i := range all {
		b := &all[i]
		if b.Labels[v1alpha1.LabelSchedule] == s.Name && b.Status.Phase == v1alpha1.BackupFailed && b.Spec.DeletionPolicy == v1alpha1.BackupDelete && b.DeletionTimestamp == nil {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.GaleraBackup) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return out[:max(0, len(out)-failuresKept)]
}

// counts says that retention may rely on a backup: it is not that of a clone, which goes soon, and one that is to be verified has passed.
func counts(b *v1alpha1.GaleraBackup) bool {
	if b.Status.Phase != v1alpha1.BackupCompleted || b.Status.CompletedAt == nil || clone.Owner(b) != nil {
		return false
	}
	return b.Spec.Verify == "" || b.Spec.Verify == v1alpha1.VerifyNone || meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionVerified)
}

// SetupWithManager registers the reconciler: it is woken by the schedule and its backups.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.GaleraBackupSchedule{}).
		WithOptions(controller.Options{RateLimiter: retry.BackOff()}).
		Watches(&v1alpha1.GaleraBackup{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			name := o.GetLabels()[v1alpha1.LabelSchedule]
			if name == "" {
				return nil
			}
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
		})).
		Complete(r)
}
