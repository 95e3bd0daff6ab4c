package galerabackup

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// lists is a cache with these objects.
type lists struct {
	client.Reader
	backups []v1alpha1.GaleraBackup
	stores  []v1alpha1.GaleraBackupStore
}

func (l lists) List(_ context.Context, to client.ObjectList, _ ...client.ListOption) error {
	switch to := to.(type) {
	case *v1alpha1.GaleraBackupList:
		to.Items = l.backups
	case *v1alpha1.GaleraBackupStoreList:
		to.Items = l.stores
	}
	return nil
}

func TestMetrics(t *testing.T) {
	one := func(phase string, completed time.Time, size string) v1alpha1.GaleraBackup {
		b := v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo"}}
		b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name, b.Status.Phase = "shop", "offsite", phase
		if size != "" {
			b.Status.CompletedAt, b.Status.StoredSize = new(metav1.NewTime(completed)), new(resource.MustParse(size))
		}
		return b
	}
	tested := one(v1alpha1.BackupCompleted, testTime, "1Ki")
	tested.Status.StartedAt = new(metav1.NewTime(testTime.Add(-90 * time.Second)))
	tested.Status.Verification = &v1alpha1.BackupVerification{VerifiedAt: new(metav1.NewTime(testTime.Add(time.Minute))),
		Took: &metav1.Duration{Duration: 40 * time.Second}}
	store := v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "offsite"}}
	temporary := one(v1alpha1.BackupCompleted, testTime.Add(time.Hour), "1Mi") // a clone's
	temporary.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GaleraCluster",
		Name: "copy", Controller: new(true)}}
	imported := one(v1alpha1.BackupCompleted, testTime.Add(time.Hour), "1Mi")
	imported.Spec.Import = &v1alpha1.BackupImport{}
	leads := make(chan struct{})
	m := Metrics{Reader: lists{backups: []v1alpha1.GaleraBackup{temporary, imported, tested,
		one(v1alpha1.BackupCompleted, testTime.Add(-time.Hour), "1Ki"), one(v1alpha1.BackupFailed, testTime, ""),
		one("", testTime, "")},
		stores: []v1alpha1.GaleraBackupStore{store}}, Leads: leads}
	if n := testutil.CollectAndCount(m); n != 0 {
		t.Errorf("%d series of one that does not lead", n)
	}
	close(leads)
	want := `
# HELP galera_operator_backup_last_completion_timestamp_seconds When the latest complete backup was complete, in seconds since 1970.
# TYPE galera_operator_backup_last_completion_timestamp_seconds gauge
galera_operator_backup_last_completion_timestamp_seconds{cluster="shop",namespace="demo",store="offsite"} 1.7954352e+09
# HELP galera_operator_backup_last_duration_seconds How long the latest complete backup took, from the first byte to its manifest in the store.
# TYPE galera_operator_backup_last_duration_seconds gauge
galera_operator_backup_last_duration_seconds{cluster="shop",namespace="demo",store="offsite"} 90
# HELP galera_operator_backup_last_verification_timestamp_seconds When the latest backup that passed its test did so, in seconds since 1970.
# TYPE galera_operator_backup_last_verification_timestamp_seconds gauge
galera_operator_backup_last_verification_timestamp_seconds{cluster="shop",namespace="demo",store="offsite"} 1.79543526e+09
# HELP galera_operator_backup_store_reachable Whether the condition Reachable of a GaleraBackupStore is True.
# TYPE galera_operator_backup_store_reachable gauge
galera_operator_backup_store_reachable{namespace="demo",store="offsite"} 0
# HELP galera_operator_backup_verification_last_duration_seconds How long the latest test that a backup passed took.
# TYPE galera_operator_backup_verification_last_duration_seconds gauge
galera_operator_backup_verification_last_duration_seconds{cluster="shop",namespace="demo",store="offsite"} 40
# HELP galera_operator_backup_stored_bytes Size of all complete backups in their store.
# TYPE galera_operator_backup_stored_bytes gauge
galera_operator_backup_stored_bytes{cluster="shop",namespace="demo",store="offsite"} 2048
# HELP galera_operator_backups Number of GaleraBackups in a phase.
# TYPE galera_operator_backups gauge
galera_operator_backups{cluster="shop",namespace="demo",phase="Completed",store="offsite"} 3
galera_operator_backups{cluster="shop",namespace="demo",phase="Failed",store="offsite"} 1
galera_operator_backups{cluster="shop",namespace="demo",phase="Pending",store="offsite"} 1
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(m); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}
