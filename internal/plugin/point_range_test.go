package plugin

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// rangeOf is a restore from a store that has backups of noon - 2 h and noon - 1 h, and of a living cluster that is
// archived until noon - 1 min.
func rangeOf(point v1alpha1.RestorePoint) (*v1alpha1.GaleraCluster, *restoreSource) {
	at := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(noon.Add(d))) }
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "new"}}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{PointInTime: &point, Store: &v1alpha1.BootstrapStore{Name: "offsite",
		Cluster: "shop"}}
	k := &restoreSource{store: &v1alpha1.GaleraBackupStore{}, cluster: &v1alpha1.GaleraCluster{}}
	k.store.Status.Backups = new(int32(3))
	k.store.Status.Latest = []v1alpha1.StoredBackup{
		{ID: "b2", Directory: "demo/shop/a54080f9", CompletedAt: *at(-time.Hour)},
		{ID: "b1", Directory: "demo/shop/a54080f9", CompletedAt: *at(-2 * time.Hour)},
		{ID: "x1", Directory: "demo/other/b54080f9", CompletedAt: *at(-9 * time.Hour)}}
	k.cluster.Status.Backup = &v1alpha1.ArchiveStatus{RecoverableFrom: at(-time.Hour), ArchivedThrough: at(-time.Minute),
		ArchivedGTID: "0-1-99"}
	return c, k
}

// TestOutside: a point that is before every backup, or after the end of the archive, is refused with what there is.
// What is not known refuses nothing.
func TestOutside(t *testing.T) {
	at := func(d time.Duration) v1alpha1.RestorePoint {
		return v1alpha1.RestorePoint{Time: noon.Add(d).Format(time.RFC3339Nano)}
	}
	type change = func(*v1alpha1.BootstrapStore, *restoreSource)
	same := func(*v1alpha1.BootstrapStore, *restoreSource) {}
	for name, tc := range map[string]struct {
		point  v1alpha1.RestorePoint
		change change
		want   string // "" if it is not refused
	}{
		"between":             {at(-30 * time.Minute), same, ""},
		"at the first backup": {at(-2 * time.Hour), same, ""},
		"before all": {at(-2*time.Hour - time.Second), same,
			"before the first backup, b1, complete at 2026-03-01T10:00:00Z. What can be restored without a gap is from " +
				"2026-03-01T11:00:00Z to 2026-03-01T11:59:00Z (0-1-99)"},
		"before the one that is named": {at(-90 * time.Minute),
			func(from *v1alpha1.BootstrapStore, _ *restoreSource) { from.ID = "b2" }, "before the first backup, b2"},
		"the store has more than it names": {at(-24 * time.Hour),
			func(_ *v1alpha1.BootstrapStore, k *restoreSource) { k.store.Status.Backups = new(int32(30)) }, ""},
		"the store was not checked": {at(-24 * time.Hour),
			func(_ *v1alpha1.BootstrapStore, k *restoreSource) { k.store.Status.Backups = nil }, ""},
		"the store is not known": {at(-24 * time.Hour),
			func(_ *v1alpha1.BootstrapStore, k *restoreSource) { k.store = nil }, ""},
		"backups of no cluster of it": {at(-24 * time.Hour),
			func(from *v1alpha1.BootstrapStore, _ *restoreSource) { from.Cluster = "gone" }, ""},
		"of the UID": {at(-24 * time.Hour),
			func(from *v1alpha1.BootstrapStore, _ *restoreSource) { from.ClusterUID = "a54080f9" }, "b1"},
		"of another UID": {at(-24 * time.Hour),
			func(from *v1alpha1.BootstrapStore, _ *restoreSource) { from.ClusterUID = "c54080f9" }, ""},
		"at the end": {at(-time.Minute), same, ""},
		"after the end": {at(-59 * time.Second),
			same,
			"after the end of the archive. What can be restored without a gap is from 2026-03-01T11:00:00Z " +
				"to 2026-03-01T11:59:00Z"},
		"the cluster is gone": {at(-59 * time.Second),
			func(_ *v1alpha1.BootstrapStore, k *restoreSource) { k.cluster = nil }, ""},
		"nothing is reported": {at(-59 * time.Second),
			func(_ *v1alpha1.BootstrapStore, k *restoreSource) { k.cluster.Status.Backup = nil }, ""},
		"no end is reported": {at(-59 * time.Second),
			func(_ *v1alpha1.BootstrapStore, k *restoreSource) { k.cluster.Status.Backup.ArchivedThrough = nil }, ""},
		"the latest":                         {v1alpha1.RestorePoint{Latest: true}, same, ""},
		"a GTID":                             {v1alpha1.RestorePoint{GTID: "0-1-98"}, same, ""},
		"a GTID that may be archived by now": {v1alpha1.RestorePoint{GTID: "0-1-100"}, same, ""},
		"a GTID of another domain":           {v1alpha1.RestorePoint{GTID: "1-1-98"}, same, "domain 0"},
	} {
		c, k := rangeOf(tc.point)
		tc.change(c.Spec.BootstrapFrom.Store, k)
		if err := outside(c, *k); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, k := rangeOf(v1alpha1.RestorePoint{})
	if c.Spec.BootstrapFrom.PointInTime = nil; outside(c, *k) != nil {
		t.Error("the backup itself is refused")
	}
	c, _ = rangeOf(at(-3 * time.Hour))
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: "shop-now"}}
	b.Status.Phase, b.Status.CompletedAt = v1alpha1.BackupCompleted, new(metav1.NewTime(noon))
	if err := outside(c, restoreSource{backup: b}); err == nil ||
		!strings.Contains(err.Error(), "before the backup shop-now") {
		t.Errorf("%v", err)
	}
	if b.Status.Phase = v1alpha1.BackupRunning; outside(c, restoreSource{backup: b}) != nil {
		t.Error("a backup that is not complete is judged")
	}
}

// TestArchivedIn: the archive of a living cluster is the one that a restore is from only if the store is the same.
func TestArchivedIn(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(of, c *v1alpha1.GaleraCluster)
		want   bool
	}{
		"it is":             {func(_, _ *v1alpha1.GaleraCluster) {}, true},
		"another namespace": {func(of, _ *v1alpha1.GaleraCluster) { of.Namespace = "prod" }, false},
		"another store":     {func(of, _ *v1alpha1.GaleraCluster) { of.Spec.Backup.StoreRef.Name = "other" }, false},
		"no archive":        {func(of, _ *v1alpha1.GaleraCluster) { of.Spec.Backup.PointInTime.Enabled = false }, false},
		"its UID": {func(_, c *v1alpha1.GaleraCluster) { c.Spec.BootstrapFrom.Store.ClusterUID = "a54080f9" },
			true},
		"another UID": {func(_, c *v1alpha1.GaleraCluster) { c.Spec.BootstrapFrom.Store.ClusterUID = "b54080f9" },
			false},
	} {
		c, _ := rangeOf(v1alpha1.RestorePoint{Latest: true})
		of := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop",
			UID: types.UID("a54080f9-1111-4222-8333-944444444444")}}
		of.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
			PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		tc.change(of, c)
		if archivedIn(of, c) != tc.want {
			t.Errorf("%s: %v", name, !tc.want)
		}
	}
}
