package publish

import (
	"cmp"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// restoring is why there are no pods yet: the volumes of a new cluster are filled with a backup, or a copy, first
// (controllers/galeracluster/restoring). An empty volume under a pod would become an empty database.
func restoring(f observe.Facts) *validate.Problem {
	c := f.Cluster
	if c.Emptying() {
		return &validate.Problem{Reason: v1alpha1.ReasonReseeding, Message: "the volumes are being removed, so that the " +
			"source is copied again: " + c.Status.Reseed.Message}
	}
	if c.Bootstrap() == nil || c.Status.ClusterUUID != "" || f.StatefulSet != nil && !c.Reseeding() {
		return nil // while the source is copied again, the one that was removed may still be in the cache
	}
	s := c.Status.Restore
	switch {
	case s == nil:
		return &validate.Problem{Reason: v1alpha1.ReasonRestoring,
			Message: "what " + c.BootstrapField() + " names is about to be copied"}
	case s.Phase == v1alpha1.RestoreCompleted:
		return nil
	}
	// A reason next to a message describes what is wrong, or missing.
	return &validate.Problem{Reason: cmp.Or(s.Reason, v1alpha1.ReasonRestoring), Message: s.Message,
		Blocked: s.Phase == v1alpha1.RestoreFailed || s.Phase == v1alpha1.RestoreFinding && s.Reason != "" &&
			s.Reason != v1alpha1.ReasonChecking}
}
