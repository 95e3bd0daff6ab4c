package galerarestore

import (
	"strings"

	"github.com/google/uuid"
	batchv1 "k8s.io/api/batch/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/policy/loading"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// finds is the Job that looks for the backup, or checks the other server.
func (r *Reconciler) finds(f loading.Facts) (*batchv1.Job, error) {
	if f.Restore.Spec.From.External != nil {
		return job.InspectFor(f.Restore, f.Cluster, r.Jobs)
	}
	return job.FindFor(f.Restore, f.Cluster, f.Source.Store, f.Source.Find, r.Jobs)
}

// loads is the Job that loads.
func (r *Reconciler) loads(f loading.Facts) (*batchv1.Job, error) {
	binding := user(f.Restore).BindingName()
	if f.Restore.Spec.From.External != nil {
		return job.LoadFrom(f.Restore, f.Cluster, taskOf(f), binding, r.Jobs)
	}
	return job.Load(f.Restore, f.Cluster, f.Source.Store, taskOf(f), binding, r.Options, r.Jobs)
}

// taskOf is what the Job does.
func taskOf(f loading.Facts) task.Load {
	o, s := f.Restore, f.Restore.Status
	t := task.Load{Through: through(o), Into: o.TargetDatabase(), Attempt: s.Attempts,
		VolumeBytes: f.Cluster.Spec.Storage.Size.Value()}
	if o.Spec.From.External == nil {
		t.Settings, t.MemoryBytes = restoration.Settings(f.Cluster), f.Cluster.Spec.Resources.Limits.Memory().Value()
		t.Restore = task.Restore{Dir: s.Directory, ID: s.ID, Checksum: s.Checksum, Keys: resources.RecordedKeys(f.Cluster),
			History: uuid.NewSHA1(uuid.NameSpaceOID, []byte(o.UID)).String(),
			Replay:  restoration.ReplayTo(f.Source.Find.Target, s.Replay, f.Cluster)}
	}
	if limit := o.Spec.From.RateLimit; limit != nil {
		t.Rate = limit.Value()
	}
	if d := o.Spec.Database; d != nil {
		t.Database = string(d.Name)
		return t
	}
	t.Database, t.Table, t.As = string(o.Spec.Table.Database), string(o.Spec.Table.Name), string(o.Spec.Table.As)
	return t
}

// through is the database of the cluster that tables lie in until they are complete. It is one of this object alone.
func through(o *v1alpha1.GaleraRestore) string {
	return "galera_operator_restore_" + strings.ReplaceAll(string(o.UID), "-", "")[:min(8, len(o.UID))]
}
