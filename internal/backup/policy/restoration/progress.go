package restoration

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// progressPause is the shortest time between two reports of how far a copy is.
const progressPause = 10 * time.Second

// progress is what is reported of how far the copy of another server is: nothing while no Job copies, and what was
// known before while the Job does not answer.
func progress(s *v1alpha1.RestoreStatus, f Facts) *v1alpha1.CopyProgress {
	copies := IsExternal(f.Cluster) && s.Phase == v1alpha1.RestoreRestoring && len(f.Members) > 0 &&
		f.Members[0].Exists && !f.Members[0].Done && !f.Members[0].Foreign
	if !copies {
		return nil
	}
	return CopyProgress(s.Progress, f.Copied, f.Now)
}

// CopyProgress is what is reported while a Job copies: what it has answered, nil for nothing, unless the report before
// is recent.
func CopyProgress(before *v1alpha1.CopyProgress, copied *task.Copied, now time.Time) *v1alpha1.CopyProgress {
	if copied == nil || before != nil && now.Sub(before.ObservedAt.Time) < progressPause {
		return before
	}
	is := *copied
	out := &v1alpha1.CopyProgress{Rows: is.Rows, ExpectedRows: is.Expected, Bytes: is.Bytes,
		Tables: int32(is.Tables), ComparedTables: int32(is.Compared), //nolint:gosec // counts
		Summary: summary(is), ObservedAt: metav1.NewTime(now.Truncate(time.Second))}
	if is.RestSeconds > 0 {
		out.ETA = new(metav1.NewTime(now.Add(time.Duration(is.RestSeconds) * time.Second).Truncate(time.Second)))
	}
	return out
}

// summary is a percentage of the estimate, below 100 while rows are copied; then what is compared.
func summary(is task.Copied) string {
	switch {
	case is.Compared > 0:
		return fmt.Sprintf("compared %d of %d", is.Compared, is.Tables)
	case is.Expected <= 0:
		return "0%"
	}
	return fmt.Sprintf("%d%%", min(99, int64(float64(is.Rows)/float64(is.Expected)*100)))
}
