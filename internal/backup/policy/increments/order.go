package increments

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/retention"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// InOrder returns backups as they have followed each other, the oldest first, and the times that show it: what was
// begun later, and is at the same place of the same history or further, is later, whatever a clock said of the one
// before. What is further back is of another line of history, or its clock is not known to be wrong.
func InOrder(own []*v1alpha1.GaleraBackup) ([]*v1alpha1.GaleraBackup, map[*v1alpha1.GaleraBackup]time.Time) {
	at := make(map[*v1alpha1.GaleraBackup]galera.Position, len(own))
	for _, b := range own {
		at[b], _ = galera.ParsePosition(b.Status.Position)
	}
	out := slices.SortedFunc(slices.Values(own), func(a, b *v1alpha1.GaleraBackup) int {
		return cmp.Or(cmp.Compare(at[a].UUID, at[b].UUID),
			cmp.Compare(a.Status.ID, b.Status.ID), cmp.Compare(a.Name, b.Name)) // an ID begins with the time
	})
	order := make(map[*v1alpha1.GaleraBackup]time.Time, len(own))
	for from := 0; from < len(out); {
		times, to := []time.Time{Completed(out[from])}, from+1
		for ; to < len(out) && at[out[to-1]].Known() && at[out[to]].UUID == at[out[from]].UUID &&
			at[out[to]].Seqno >= at[out[to-1]].Seqno; to++ {
			times = append(times, Completed(out[to]))
		}
		for i, t := range retention.Consistent(times) {
			order[out[from+i]] = t
		}
		from = to
	}
	slices.SortStableFunc(out, func(a, b *v1alpha1.GaleraBackup) int { return order[a].Compare(order[b]) })
	return out, order
}

// Completed is when a backup was complete, at the earliest: the clock of its Job may be behind. It was not before its
// object was created, by the clock of the API server, nor long before the operator has seen it.
func Completed(b *v1alpha1.GaleraBackup) time.Time {
	at := b.Status.CompletedAt.Time
	if b.CreationTimestamp.After(at) {
		at = b.CreationTimestamp.Time
	}
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete)
	if c != nil && c.Status == metav1.ConditionTrue && c.LastTransitionTime.After(at) {
		at = c.LastTransitionTime.Time
	}
	return at
}
