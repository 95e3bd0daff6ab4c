package archiving

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/deployed"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestWhatAnArchiveThatIsOffNeeds: what points in time need stays known when point in time is turned off, for the
// window of the archive and the store, and when it is turned on again. A later archive says nothing of it before it
// has looked.
func TestWhatAnArchiveThatIsOffNeeds(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	hours := func(h int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(h) * time.Hour} }
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "offsite"},
		Spec: v1alpha1.GaleraBackupStoreSpec{Retention: &v1alpha1.BackupRetention{KeepWithin: hours(100)}}}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop", UID: "a54080f9-1111"}}
	c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		PointInTime: &v1alpha1.PointInTime{Window: hours(50)}}
	c.Status.ClusterUUID = "u"
	c.Status.Backup = &v1alpha1.ArchiveStatus{Session: "s", Base: "a", Needed: []string{"a", "b"}}
	k := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c, s).WithStatusSubresource(c).Build()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	today := now
	r := Reconciler{Client: k, Live: k, Objects: &apply.Objects{Client: k, Live: k}, Now: func() time.Time { return now },
		Today: func() time.Time { return today }, Late: func() time.Time { return now.Add(time.Hour) },
		Calls:    &calls.Calls[string, deployed.Question, task.Archived]{},
		Aligning: &calls.Calls[observe.Target, agentapi.Alignment, agentapi.AlignmentResult]{}}
	pass := func() {
		t.Helper()
		key := client.ObjectKeyFromObject(c)
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		if err := k.Get(t.Context(), key, c); err != nil {
			t.Fatal(err)
		}
	}
	stays := func(what string) {
		t.Helper()
		until := time.Date(2026, 12, 2, 17, 0, 0, 0, time.UTC) // by the later clock
		if e := c.Status.EndedArchive; e == nil || len(e.Needed) != 2 || e.Needed[0].ID != "a" || e.Needed[1].ID != "b" ||
			!e.Until.Time.Equal(until) || !e.Needed[1].Until.Time.Equal(until) {
			t.Errorf("%s: %+v", what, e)
		}
	}
	pass()
	if c.Status.Backup != nil {
		t.Errorf("off: %+v", c.Status.Backup)
	}
	stays("off")
	now = now.Add(744 * time.Hour) // the operator's clock is ahead
	today = today.Add(100 * time.Hour)
	pass()
	stays("off, at the end of the window")
	now = today
	c.Spec.Backup.PointInTime.Enabled = true
	if err := k.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	pass()
	if c.Status.Backup == nil || c.Status.Backup.Session == "" || c.Status.Backup.Session == "s" {
		t.Errorf("on again: %+v", c.Status.Backup)
	}
	if w := c.Status.Backup.Window; w == nil || w.Duration != 50*time.Hour {
		t.Errorf("on again: the window is %v", w)
	}
	stays("on again")
	c.Status.Backup.Window = hours(2000) // the store's is read with the next pass
	c.Status.Backup.Needed = []string{"c"}
	if err := k.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	c.Spec.Backup = nil
	if err := k.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	pass()
	until := metav1.NewTime(now.Add(2001 * time.Hour))
	if e := c.Status.EndedArchive; e == nil || len(e.Needed) != 3 || e.Needed[0].ID != "c" || !e.Until.Equal(&until) ||
		!e.Needed[0].Until.Equal(&until) || e.Needed[1].Until.Equal(&until) {
		t.Errorf("off again: %+v", e)
	}
	today = c.Status.EndedArchive.Needed[1].Until.Add(24 * time.Hour)
	pass()
	if e := c.Status.EndedArchive; e == nil || len(e.Needed) != 1 || e.Needed[0].ID != "c" {
		t.Errorf("after the window of the first: %+v", e)
	}
	today = until.Add(24 * time.Hour)
	pass()
	if c.Status.EndedArchive != nil {
		t.Errorf("after the window: %+v", c.Status.EndedArchive)
	}
}

// TestWhatHasPassedGoesOnAFollower: what archives have needed goes from the status of a cluster that is not archived,
// because it follows another one, once it has passed by the earlier clock.
func TestWhatHasPassedGoesOnAFollower(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	today := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]bool{23 * time.Hour: true, 24 * time.Hour: false} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{}
		c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		c.Status.ClusterUUID = "u"
		c.Status.EndedArchive = &v1alpha1.EndedArchive{Until: metav1.NewTime(today.Add(-ago))}
		k := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).WithStatusSubresource(c).Build()
		r := Reconciler{Client: k, Today: func() time.Time { return today },
			Calls:    &calls.Calls[string, deployed.Question, task.Archived]{},
			Aligning: &calls.Calls[observe.Target, agentapi.Alignment, agentapi.AlignmentResult]{}}
		key := client.ObjectKeyFromObject(c)
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		if err := k.Get(t.Context(), key, c); err != nil {
			t.Fatal(err)
		}
		if (c.Status.EndedArchive != nil) != want {
			t.Errorf("%s after: %+v", ago, c.Status.EndedArchive)
		}
	}
}
