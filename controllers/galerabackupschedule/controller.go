// Package galerabackupschedule reconciles GaleraBackupSchedules: it makes a GaleraBackup when one is due, and deletes
// those that the store's retention does not keep.
package galerabackupschedule

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/policy/schedule"
	"github.com/galera-operator/galera-operator/internal/ownership"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupschedules,verbs=get;list;watch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupschedules/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupschedules/finalizers,verbs=update
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackups,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupstores;galeraclusters,verbs=get;list;watch

// Reconciler makes backups.
type Reconciler struct {
	client.Client
	// Refusals are the changes that the API server refuses.
	Refusals retry.Refusals
	// Events records events for users.
	Events events.EventRecorder
	// Now is the clock, and Today the earliest of those that are known: what is removed grows old by it.
	Now, Today func() time.Time
}

// Reconcile makes one pass: get, observe, decide, write the status, act.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	s := &v1alpha1.GaleraBackupSchedule{}
	defer func() {
		o := s.DeepCopy()
		result, err = r.Refusals.Report(ctx, r.Client, req.NamespacedName, o, &o.Status.Conditions, result, err)
	}()
	if err := r.Get(ctx, req.NamespacedName, s); err != nil || s.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	f, err := r.observe(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := s.DeepCopy()
	d := schedule.Decide(&next.Status, s, f.Backups, f.Now)
	remove := schedule.Retain(&next.Status, f)
	r.Refusals.Apply(next, &next.Status.Conditions)
	if until := schedule.UntilRemoval(next.Status.Retention, f.Today); d.RequeueAfter == 0 || until < d.RequeueAfter {
		d.RequeueAfter = until
	}
	if d.Make != "" {
		// The backup first: its name contains when it was due, so that it is made once, and the status follows from it.
		if err := r.make(ctx, s, d.Make); err != nil {
			return retry.Pass(0, err)
		}
	}
	if !equality.Semantic.DeepEqual(s.Status, next.Status) {
		err := r.Status().Update(ctx, next)
		if err == nil {
			r.announce(s.Status.Retention, f, next.Status.Retention)
		}
		return retry.Pass(d.RequeueAfter, err)
	}
	return retry.Pass(d.RequeueAfter, r.remove(ctx, remove))
}

func (r *Reconciler) observe(ctx context.Context, s *v1alpha1.GaleraBackupSchedule) (schedule.Facts, error) {
	f := schedule.Facts{Schedule: s, Now: r.Now(), Today: r.Today()}
	var all v1alpha1.GaleraBackupList
	if err := r.List(ctx, &all, client.InNamespace(s.Namespace)); err != nil {
		return f, err
	}
	f.Backups = all.Items
	store, cluster := &v1alpha1.GaleraBackupStore{}, &v1alpha1.GaleraCluster{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Template.StoreRef.Name}, store)
	if err == nil {
		f.Store = store
	} else if !apierrors.IsNotFound(err) {
		return f, err
	}
	err = r.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Template.ClusterRef.Name}, cluster)
	if err == nil {
		f.Cluster = cluster
	}
	if f.Store != nil && f.Cluster != nil {
		f.Window = archival.Window(cluster, store)
	}
	return f, client.IgnoreNotFound(err)
}

func (r *Reconciler) make(ctx context.Context, s *v1alpha1.GaleraBackupSchedule, name string) error {
	b := &v1alpha1.GaleraBackup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Namespace,
			Labels: map[string]string{v1alpha1.LabelSchedule: s.Name, v1alpha1.LabelCluster: s.Spec.Template.ClusterRef.Name}},
		Spec: *s.Spec.Template.DeepCopy(),
	}
	return client.IgnoreAlreadyExists(r.Create(ctx, b, client.FieldOwner(ownership.FieldOwner)))
}

// remove deletes backups. The finalizer of each removes its data.
func (r *Reconciler) remove(ctx context.Context, backups []*v1alpha1.GaleraBackup) error {
	for _, b := range backups {
		log.FromContext(ctx).Info("retention deletes a backup", "backup", b.Name)
		if err := r.Delete(ctx, b, client.Preconditions{UID: &b.UID}); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// announce makes an event of each backup that has been added to those that are removed next.
func (r *Reconciler) announce(before *v1alpha1.ScheduleRetention, f schedule.Facts, now *v1alpha1.ScheduleRetention) {
	if now == nil || r.Events == nil {
		return
	}
	for _, e := range now.Expiring {
		if _, known := schedule.Expiring(before, e.UID); known {
			continue
		}
		for i := range f.Backups {
			if b := &f.Backups[i]; b.UID == e.UID {
				r.Events.Eventf(b, nil, corev1.EventTypeNormal, v1alpha1.ReasonExpiring, "Retain",
					"the store's retention removes this backup and its data at %s; to keep it, set deletionPolicy to Retain",
					e.RemoveAt.UTC().Format(time.RFC3339))
			}
		}
	}
}

// SetupWithManager registers the reconciler: it is woken by the schedule and its backups.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.GaleraBackupSchedule{}).
		WithOptions(controller.Options{RateLimiter: retry.BackOff()}).
		Watches(&v1alpha1.GaleraBackup{}, handler.EnqueueRequestsFromMapFunc(
			func(_ context.Context, o client.Object) []reconcile.Request {
				name := o.GetLabels()[v1alpha1.LabelSchedule]
				if name == "" {
					return nil
				}
				return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
			})).
		Complete(r)
}
