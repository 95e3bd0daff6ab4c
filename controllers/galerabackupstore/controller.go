// Package galerabackupstore reconciles GaleraBackupStores: now and then a Job shows that the store can be written, read
// and cleaned up.
package galerabackupstore

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/status"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupstores,verbs=get;list;watch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupstores/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupstores/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;list;watch;create
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete

const (
	// checkInterval is the interval between checks of a store that can be used; one that failed is checked again after
	// initialFailedInterval, twice that, and so on up to maxFailedInterval.
	checkInterval         = time.Hour
	initialFailedInterval = 20 * time.Second
	maxFailedInterval     = 10 * time.Minute
	whileJob              = 10 * time.Second
)

// Reconciler checks stores.
type Reconciler struct {
	client.Client
	// Live reads past the cache.
	Live client.Reader
	Jobs job.Options
	// Refusals are the changes that the API server refuses.
	Refusals retry.Refusals
	// Now is the clock.
	Now func() time.Time
}

// Reconcile makes one pass.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	s := &v1alpha1.GaleraBackupStore{}
	defer func() {
		o := s.DeepCopy()
		result, err = r.Refusals.Report(ctx, r.Client, req.NamespacedName, o, &o.Status.Conditions, result, err)
	}()
	if err := r.Get(ctx, req.NamespacedName, s); err != nil || s.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	now := r.Now()
	name := job.CheckName(s)
	seen, err := outcome.Of(ctx, r.Client, s, name, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !s.Status.Checking && seen.Exists && !seen.Foreign {
		old := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
		return retry.Pass(time.Second, ownership.Remove(ctx, r.Client, r.Live, s.UID, old,
			client.PropagationPolicy(metav1.DeletePropagationBackground)))
	}
	refused := ""
	if !s.Status.Checking && untilNextCheck(s, now) <= 0 {
		if refused, err = r.refused(ctx, s); err != nil {
			return ctrl.Result{}, err
		}
	} else if _, err := r.account(ctx, s); err != nil {
		return ctrl.Result{}, err // one that was deleted is back before the next Job
	}
	next := s.DeepCopy()
	again := step(&next.Status, s, refused, seen, now)
	r.Refusals.Apply(next, &next.Status.Conditions)
	if !equality.Semantic.DeepEqual(s.Status, next.Status) {
		// The intent first: what follows from it is done by the next pass, which this change wakes.
		return retry.Pass(again, r.Status().Update(ctx, next))
	}
	if s.Status.Checking && !seen.Exists {
		j, err := job.Check(s, r.Jobs)
		if err == nil {
			err = ownership.Keep(ctx, r.Client, r.Live, s.UID, j)
		}
		return retry.Pass(again, err)
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// step decides the next status, and when to reconcile again. It is pure.
func step(to *v1alpha1.GaleraBackupStoreStatus, s *v1alpha1.GaleraBackupStore, refused string, seen outcome.Outcome,
	now time.Time) time.Duration {
	switch {
	case s.Status.Checking && s.Status.ObservedGeneration != s.Generation:
		// The check is of an earlier spec, and proves nothing about what this one names: neither about its Secrets, which
		// Jobs mount, nor about its endpoint.
		to.Checking = false
		setConditions(to, s, false, v1alpha1.ReasonChecking, "the store is being checked")
		return time.Second
	case s.Status.Checking && seen.Done:
		to.Checking = false
		end(to, s, seen.Result, now)
	case s.Status.Checking:
		if seen.Waits != "" {
			setConditions(to, s, false, v1alpha1.ReasonChecking, seen.Waits)
		}
		return whileJob
	case untilNextCheck(s, now) <= 0 && refused != "":
		if to.ObservedGeneration != s.Generation {
			to.ObservedGeneration, to.Failures = s.Generation, 0
		}
		to.AttemptedAt = new(metav1.NewTime(now))
		end(to, s, task.Result{Error: refused, Reason: v1alpha1.ReasonStoreRefused}, now)
	case untilNextCheck(s, now) <= 0:
		to.Checking = true
		to.Checks++
		to.AttemptedAt = new(metav1.NewTime(now))
		if to.ObservedGeneration != s.Generation || len(to.Conditions) == 0 {
			to.ObservedGeneration, to.Failures = s.Generation, 0
			setConditions(to, s, false, v1alpha1.ReasonChecking, "the store is being checked")
		}
		return whileJob
	}
	next := *s
	next.Status = *to
	return max(time.Second, untilNextCheck(&next, now))
}

// untilNextCheck is how long it is to the next check.
func untilNextCheck(s *v1alpha1.GaleraBackupStore, now time.Time) time.Duration {
	if s.Status.AttemptedAt == nil || s.Status.ObservedGeneration != s.Generation {
		return 0
	}
	every := checkInterval
	if n := s.Status.Failures; n > 0 {
		every = min(initialFailedInterval<<min(n-1, 10), maxFailedInterval)
	}
	return every - now.Sub(s.Status.AttemptedAt.Time)
}

// end takes over the result of a check.
func end(to *v1alpha1.GaleraBackupStoreStatus, s *v1alpha1.GaleraBackupStore, r task.Result, now time.Time) {
	if r.Error != "" || r.Checked == nil {
		to.Failures++
		reason := r.Reason
		if reason == "" || reason == task.ReasonToolFailed {
			reason = v1alpha1.ReasonStoreUnreachable
		}
		setConditions(to, s, false, reason, r.Error)
		return
	}
	to.Failures, to.CheckedAt = 0, new(metav1.NewTime(now))
	to.Backups = new(int32(min(r.Checked.Backups, 1<<30))) //nolint:gosec // bounded
	to.Latest = nil
	for _, b := range r.Checked.Latest {
		to.Latest = append(to.Latest, v1alpha1.StoredBackup{ID: b.ID, Directory: b.Dir,
			CompletedAt: metav1.NewTime(b.CompletedAt)})
	}
	message := "an object was written, read and deleted"
	if r.Checked.Unread != "" {
		message += "; backups are not counted whose manifest the store does not give out, such as " + r.Checked.Unread
	}
	setConditions(to, s, true, v1alpha1.ReasonReachable, message)
}

func setConditions(to *v1alpha1.GaleraBackupStoreStatus, s *v1alpha1.GaleraBackupStore, reachable bool, reason,
	message string) {
	status.SetCondition(&to.Conditions, s.Generation, v1alpha1.ConditionReachable, reachable, reason, message)
	status.SetProgress(&to.Conditions, s.Generation, status.Progress{Working: !reachable, Stalled: !reachable &&
		reason != v1alpha1.ReasonChecking, Reason: reason, Message: message})
}

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.GaleraBackupStore{}).
		WithOptions(controller.Options{RateLimiter: retry.BackOff()}).
		Owns(&batchv1.Job{}).
		Owns(&corev1.ServiceAccount{}).
		Complete(r)
}
