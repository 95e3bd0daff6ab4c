package galerabackup

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
	"github.com/galera-operator/galera-operator/internal/ownership"
)

// takeOver brings the import of a backup that the store has a step further.
func takeOver(ctx context.Context, r *Reconciler, b *v1alpha1.GaleraBackup) (time.Duration, error) {
	f := taking.Facts{Backup: b, Now: r.Now()}
	var err error
	if f.Store, err = storeOf(ctx, r.Client, b); err != nil {
		return 0, err
	}
	if b.Status.Attempts > 0 {
		if f.Job, err = outcome.Of(ctx, r.Client, b, job.Name(b, b.Status.Attempts), f.Now); err != nil {
			return 0, err
		}
	}
	next := b.DeepCopy()
	d := taking.DecideImport(&next.Status, f)
	r.Refusals.Apply(next, &next.Status.Conditions)
	if !equality.Semantic.DeepEqual(b.Status, next.Status) {
		err := r.Status().Update(ctx, next) // the intent first
		if err == nil {
			r.announce(b.Status.Phase, next)
		}
		return d.RequeueAfter, err
	}
	if !d.Run || f.Job.Exists || f.Store == nil {
		return d.RequeueAfter, nil
	}
	c, err := clusterOf(ctx, r.Client, b)
	if err != nil {
		return 0, err
	}
	j, err := job.Describe(b, c, f.Store, r.Jobs)
	if err != nil {
		return 0, err
	}
	return d.RequeueAfter, ownership.Keep(ctx, r.Client, r.Live, b.UID, j)
}
