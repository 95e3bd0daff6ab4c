package plugin

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestRejoin: a cluster is asked to follow the one that has taken over, which is archived for that, once it is known
// that the other one lacks nothing; and not twice.
func TestRejoin(t *testing.T) {
	by := v1alpha1.SupersededStatus{ID: "4-bbbbbbbb", Namespace: "site", Name: "standby", UID: "bbbbbbbb-1", GTID: "0-1-7",
		Surplus: new(int64(0))}
	const archives = `standby{"spec":{"backup":{"pointInTime":{"enabled":true},"storeRef":{"name":"offsite"}}}}`
	for name, tc := range map[string]struct {
		change func(a, b *v1alpha1.GaleraCluster)
		says   string
		does   []string // what the changes contain
	}{
		"it has everything": {func(_, _ *v1alpha1.GaleraCluster) {}, "", []string{archives, `"replaces":"4-bbbbbbbb"`}},
		"it is archived": {func(_, b *v1alpha1.GaleraCluster) {
			b.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		}, "", []string{`"uid":"bbbbbbbb-1"`}},
		"it was asked": {func(a, _ *v1alpha1.GaleraCluster) {
			a.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: "4-bbbbbbbb"}
		}, "", []string{archives}},
		"it follows": {func(a, _ *v1alpha1.GaleraCluster) {
			a.Spec.ReplicaOf, a.Status.Superseded = &v1alpha1.ReplicaOf{Replaces: "4-bbbbbbbb"}, nil
		}, "", nil},
		"it lacks one": {func(a, _ *v1alpha1.GaleraCluster) { a.Status.Superseded.Surplus = new(int64(1)) },
			"nothing is removed", []string{archives}},
		"that is not known": {func(a, _ *v1alpha1.GaleraCluster) { a.Status.Superseded.Surplus = nil }, "does not follow",
			[]string{archives}},
		"that does not become known": {func(a, _ *v1alpha1.GaleraCluster) {
			a.Status.Superseded.Surplus, a.Status.Superseded.CountedBy = nil, v1alpha1.CountedByNothing
		}, "an earlier release of the operator has recorded", []string{archives}},
		"nothing is known": {func(a, _ *v1alpha1.GaleraCluster) { a.Status.Superseded = nil }, "does not follow",
			[]string{archives}},
		"another one has taken over": {func(a, _ *v1alpha1.GaleraCluster) { a.Status.Superseded.UID = "cccccccc-1" },
			"another cluster", []string{archives}},
	} {
		e, changed := siteWorld(t)
		a, b, err := e.both(t.Context(), "shop", "standby")
		if err != nil {
			t.Fatal(err)
		}
		a.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "here"}}
		b.Spec.ReplicaOf.StoreRef.Name = "offsite"
		a.Status.Superseded = by.DeepCopy()
		tc.change(a, b)
		status := a.Status
		for _, write := range []func() error{func() error { return e.kube.Update(t.Context(), a) },
			func() error { return e.kube.Update(t.Context(), b) }, func() error {
				a.Status = status
				return e.kube.Status().Update(t.Context(), a)
			}} {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		}
		err = e.rejoin(t.Context(), "shop", siteFlags{to: "standby", identity: "key", timeout: 10 * time.Millisecond})
		if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
		if len(*changed) != len(tc.does) || !slices.ContainsFunc(append(*changed, ""), func(text string) bool {
			return len(tc.does) == 0 || strings.Contains(text, tc.does[len(tc.does)-1])
		}) {
			t.Errorf("%s: %q", name, *changed)
		}
	}
}
