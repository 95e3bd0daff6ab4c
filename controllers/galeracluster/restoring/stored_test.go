package restoring

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestStored: a backup is restored from where it lies, and not from what its store names since.
func TestStored(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	at := func(claim string) *v1alpha1.StoreLocation {
		return &v1alpha1.StoreLocation{Kind: v1alpha1.StoreVolume, Claim: claim}
	}
	for name, c := range map[string]struct {
		at      *v1alpha1.StoreLocation
		checked bool
		reason  string
	}{
		"where it lies":                    {at("here"), true, ""},
		"elsewhere":                        {at("there"), true, v1alpha1.ReasonStoreChanged},
		"of an earlier release":            {nil, true, ""},
		"of a store that was not checked":  {at("here"), false, v1alpha1.ReasonChecking},
		"elsewhere, and it is not checked": {at("there"), false, v1alpha1.ReasonChecking},
	} {
		s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "offsite"}}
		s.Spec.Volume = &v1alpha1.VolumeStore{ClaimName: "here"}
		if c.checked {
			meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReachable,
				Status: metav1.ConditionTrue})
		}
		b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "b1"}}
		b.Spec.StoreRef.Name = "offsite"
		b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: "i", Directory: "demo/shop/1",
			Store: c.at, Checksum: "c1"}
		kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s, b).Build()
		into := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
		found, p, err := Stored(t.Context(), kube, into, &v1alpha1.LocalName{Name: "b1"}, nil, "spec.from")
		if err != nil || p.Reason != c.reason || found.Find.ID != "i" || found.Find.Checksum != "c1" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if c.reason == v1alpha1.ReasonStoreChanged && !strings.Contains(p.Message, "the claim here now, "+
			"and the backup lies in the claim there. Point the store back, or import the backup again") {
			t.Errorf("%s: %s", name, p.Message)
		}
		from := &v1alpha1.BootstrapStore{Name: "offsite"}
		found, p, err = Stored(t.Context(), kube, into, nil, from, "spec.from")
		if err != nil || (p.Reason == "") != c.checked {
			t.Errorf("%s, by the store: %+v, %v", name, p, err)
		}
		if known := len(found.Known) == 1 && found.Known[0].Name == "b1"; known != (c.reason == "") {
			t.Errorf("%s: on record %d", name, len(found.Known))
		}
	}
}

// TestStoredDamaged: the Job that looks for a backup knows which one a test has found damaged, and a backup that is
// named is known to be damaged, too.
func TestStoredDamaged(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "offsite"}}
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReachable,
		Status: metav1.ConditionTrue})
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "b2"}}
	b.Spec.StoreRef.Name = "offsite"
	b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: "i2", Directory: "demo/shop/1",
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionVerified, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonBackupDamaged}}}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s, b).Build()
	into := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
	from := &v1alpha1.BootstrapStore{Name: "offsite"}
	found, _, err := Stored(t.Context(), kube, into, nil, from, "spec.from")
	if err != nil || len(found.Find.Damaged) != 1 || found.Find.Damaged[0] != "demo/shop/1/i2" {
		t.Errorf("by the store: %+v, %v", found, err)
	}
	if found.Find.IDField != "spec.from.store.id" {
		t.Errorf("messages name the field %q", found.Find.IDField)
	}
	if s, _, err := Stored(t.Context(), kube, into, nil, from, "spec.replicaOf"); err != nil || s.Find.IDField != "" {
		t.Errorf("replicaOf has no field %q, %v", s.Find.IDField, err)
	}
	found, _, err = Stored(t.Context(), kube, into, &v1alpha1.LocalName{Name: "b2"}, nil, "spec.from")
	if err != nil || len(found.Find.Damaged) != 0 || found.Caution("demo/shop/1", "i2", false) == "" {
		t.Errorf("by name: %+v, %v", found, err)
	}
}

// TestTask: the Job of a member restores the backup that was found, and no other one of its ID.
func TestTask(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{}
	c.Status.Restore = &v1alpha1.RestoreStatus{Directory: "d", ID: "i", Checksum: "c1", History: "h"}
	got, err := taskOf(c)
	if err != nil || got.Dir != "d" || got.ID != "i" || got.Checksum != "c1" || got.History != "h" || got.ServerID != 0 ||
		got.Created["lower_case_table_names"] != "0" {
		t.Errorf("%+v, %v", got, err)
	}
	c.UID, c.Spec.BootstrapFrom, c.Spec.ReplicaOf = "u1", nil, &v1alpha1.ReplicaOf{}
	if got, err = taskOf(c); err != nil || got.ServerID < 1<<31 || got.Domain != got.ServerID ||
		got.ServerID != resources.ServerID(c) {
		t.Errorf("of a cluster that follows: %+v, %v", got, err)
	}
}
