package objects

import (
	"slices"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
)

// HasBackups reports whether any run of a benchmark makes a backup.
func HasBackups(b *v1alpha1.GaleraBenchmark) bool {
	return slices.ContainsFunc(experiment.Cells(&b.Spec),
		func(c experiment.Cell) bool { return c.Operation == v1alpha1.OperationBackup })
}

// Backup returns the backup of a private cluster for one Job. Its data are made up: they go with it, and it goes with
// the Job.
func Backup(b *v1alpha1.GaleraBenchmark, job, store string) *v1alpha1.GaleraBackup {
	return &v1alpha1.GaleraBackup{ObjectMeta: owned(b, job), Spec: v1alpha1.GaleraBackupSpec{
		ClusterRef: v1alpha1.BackupClusterRef{Name: ClusterName(b)}, StoreRef: v1alpha1.LocalName{Name: store},
		DeletionPolicy: v1alpha1.BackupDelete}}
}
