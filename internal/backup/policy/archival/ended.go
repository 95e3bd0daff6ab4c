package archival

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TurnOff returns what is to be known of a cluster's archive that is turned off: retention keeps what its window needs,
// until that has passed. nil for nothing. An archive that ended before may need more, also in another store.
func TurnOff(c *v1alpha1.GaleraCluster, window time.Duration, now time.Time) *v1alpha1.EndedArchive {
	before := Ended(c.Status.EndedArchive, now)
	if c.Status.Backup == nil {
		return before
	}
	var needed []string
	if base := c.Status.Backup.Base; base != "" {
		needed = []string{base}
	}
	needed = append(needed, c.Status.Backup.Needed...)
	if before != nil {
		needed = append(needed, before.Needed...)
	}
	if len(needed) == 0 {
		return before
	}
	var once []string
	for _, id := range needed {
		if !slices.Contains(once, id) {
			once = append(once, id)
		}
	}
	return &v1alpha1.EndedArchive{Until: metav1.NewTime(now.Add(window).Truncate(time.Second)), Needed: bounded(once)}
}

// Ended is what is known of an archive that has ended, nil once its window has passed.
func Ended(e *v1alpha1.EndedArchive, now time.Time) *v1alpha1.EndedArchive {
	if e == nil || !now.Before(e.Until.Time) {
		return nil
	}
	return e
}

// bounded are the first of some backups. Retention keeps all that may be among the others while there are so many.
func bounded(ids []string) []string { return slices.Clone(ids[:min(len(ids), v1alpha1.MaxNeeded)]) }
