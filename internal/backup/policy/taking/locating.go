package taking

import (
	"slices"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/status"
)

// Locate records where a complete backup lies whose location is not known, because an earlier release has made it: in
// the store, if that lists its manifest. It is pure.
func Locate(to *v1alpha1.GaleraBackupStatus, s *v1alpha1.GaleraBackupStore) {
	if to.Store != nil || to.Phase != v1alpha1.BackupCompleted || s == nil {
		return
	}
	if reason, _ := status.StoreProblem(s); reason != "" {
		return // what is listed may be that of another location
	}
	if slices.ContainsFunc(s.Status.Latest, func(b v1alpha1.StoredBackup) bool {
		return b.ID == to.ID && b.Directory == to.Directory
	}) {
		to.Store = new(location.Of(s))
	}
}
