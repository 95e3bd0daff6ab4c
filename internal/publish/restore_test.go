package publish

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestNoPodsWhileCopiedAgain: a StatefulSet in the cache that was removed brings back no pods, whose volumes would be
// empty; and one whose status was lost is kept.
func TestNoPodsWhileCopiedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		reseed, restore string
		set, held       bool
	}{
		"new":                           {restore: v1alpha1.RestoreRestoring, held: true},
		"the status was lost":           {set: true},
		"being emptied":                 {reseed: v1alpha1.ReseedEmptying, set: true, held: true},
		"copied again":                  {reseed: v1alpha1.ReseedCopying, restore: v1alpha1.RestoreFinding, held: true},
		"copied again, and an old one":  {v1alpha1.ReseedCopying, v1alpha1.RestoreFinding, true, true},
		"copied again, and complete":    {reseed: v1alpha1.ReseedCopying, restore: v1alpha1.RestoreCompleted},
		"refused, the status was lost":  {reseed: v1alpha1.ReseedRefused, set: true},
		"complete, and the status lost": {reseed: v1alpha1.ReseedCompleted, set: true},
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Follow: true}}
		if tc.reseed != "" {
			c.Status.Reseed = &v1alpha1.ReseedStatus{Phase: tc.reseed}
		}
		if tc.restore != "" {
			c.Status.Restore = &v1alpha1.RestoreStatus{Phase: tc.restore}
		}
		f := observe.Facts{Cluster: c}
		if tc.set {
			f.StatefulSet = &appsv1.StatefulSet{}
		}
		if got := restoring(f); (got != nil) != tc.held {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
