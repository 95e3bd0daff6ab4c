package archiving

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestMetrics: what is not known has no series.
func TestMetrics(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(after time.Duration) *metav1.Time { return new(metav1.NewTime(noon.Add(after))) }
	named := func(name string) *v1alpha1.GaleraCluster {
		return &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
	}
	archived, restored, restoring := named("archived"), named("restored"), named("restoring")
	archived.Status.Backup = &v1alpha1.ArchiveStatus{ArchivedThrough: at(0), Segments: 3,
		StoredSize: new(resource.MustParse("3Ki"))}
	restored.Status.Restore = &v1alpha1.RestoreStatus{StartedAt: at(0), CompletedAt: at(90 * time.Second)}
	restoring.Status.Restore = &v1alpha1.RestoreStatus{StartedAt: at(0)}
	leads := make(chan struct{})
	close(leads)
	m := Metrics{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(archived, restored, restoring).Build(),
		Leads: leads}
	want := `
# HELP galera_operator_archive_gap Whether transactions are missing in the archive that no backup makes up for yet.
# TYPE galera_operator_archive_gap gauge
galera_operator_archive_gap{cluster="archived",namespace="demo"} 0
# HELP galera_operator_archive_recoverable_from_timestamp_seconds Earliest point in time that can be restored; 0 for none.
# TYPE galera_operator_archive_recoverable_from_timestamp_seconds gauge
galera_operator_archive_recoverable_from_timestamp_seconds{cluster="archived",namespace="demo"} 0
# HELP galera_operator_archive_segments Number of the last segment of the archive.
# TYPE galera_operator_archive_segments gauge
galera_operator_archive_segments{cluster="archived",namespace="demo"} 3
# HELP galera_operator_archive_stored_bytes Size of the segments of the archive in its store.
# TYPE galera_operator_archive_stored_bytes gauge
galera_operator_archive_stored_bytes{cluster="archived",namespace="demo"} 3072
# HELP galera_operator_archive_through_timestamp_seconds Time until which everything that was committed is in the archive of the binary log.
# TYPE galera_operator_archive_through_timestamp_seconds gauge
galera_operator_archive_through_timestamp_seconds{cluster="archived",namespace="demo"} 1.7723664e+09
# HELP galera_operator_restore_last_duration_seconds How long the restore took that the cluster has begun with, until all volumes were filled.
# TYPE galera_operator_restore_last_duration_seconds gauge
galera_operator_restore_last_duration_seconds{cluster="restored",namespace="demo"} 90
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(m); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}
