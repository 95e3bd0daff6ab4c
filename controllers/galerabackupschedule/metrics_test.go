package galerabackupschedule

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// lists is a cache with these schedules, and the cluster shop.
type lists struct {
	client.Reader
	schedules []v1alpha1.GaleraBackupSchedule
}

func (l lists) List(_ context.Context, to client.ObjectList, _ ...client.ListOption) error {
	switch to := to.(type) {
	case *v1alpha1.GaleraBackupScheduleList:
		to.Items = l.schedules
	case *v1alpha1.GaleraClusterList:
		to.Items = []v1alpha1.GaleraCluster{{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}}
	}
	return nil
}

func TestMetrics(t *testing.T) {
	monday := time.Date(2026, time.November, 23, 0, 0, 0, 0, time.UTC)
	one := func(name string, change func(*v1alpha1.GaleraBackupSchedule)) v1alpha1.GaleraBackupSchedule {
		s := v1alpha1.GaleraBackupSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name,
			CreationTimestamp: metav1.NewTime(monday)}}
		s.Spec.Schedule, s.Spec.TimeZone = "30 2 * * *", "UTC"
		s.Spec.Template.ClusterRef.Name, s.Spec.Template.StoreRef.Name = "shop", "s3"
		change(&s)
		return s
	}
	leads := make(chan struct{})
	m := Metrics{Leads: leads, Reader: lists{schedules: []v1alpha1.GaleraBackupSchedule{
		one("new", func(*v1alpha1.GaleraBackupSchedule) {}),
		one("weekdays", func(s *v1alpha1.GaleraBackupSchedule) {
			s.Spec.Schedule, s.Spec.Template.Verify = "0 3 * * 1-5", v1alpha1.VerifyRestore
			s.Status.LastSuccessTime = new(metav1.NewTime(monday.Add(-48 * time.Hour)))
		}),
		one("suspended", func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.Suspend = true }),
		one("invalid", func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.TimeZone = "Nowhere" }),
		one("orphan", func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.Template.ClusterRef.Name = "gone" }),
	}}}
	if n := testutil.CollectAndCount(m); n != 0 {
		t.Errorf("%d series of one that does not lead", n)
	}
	close(leads)
	want := `
# HELP galera_operator_backup_schedule_due_timestamp_seconds When the first backup after the last successful one is, or was, due, in seconds since 1970; no series while the schedule is suspended or invalid, or its cluster does not exist.
# TYPE galera_operator_backup_schedule_due_timestamp_seconds gauge
galera_operator_backup_schedule_due_timestamp_seconds{cluster="shop",namespace="demo",schedule="new",store="s3"} 1.7954010e+09
galera_operator_backup_schedule_due_timestamp_seconds{cluster="shop",namespace="demo",schedule="weekdays",store="s3"} 1.7954028e+09
# HELP galera_operator_backup_schedule_verify Whether the backups of a schedule are tested (verify of its template); no series where there is none of the due time.
# TYPE galera_operator_backup_schedule_verify gauge
galera_operator_backup_schedule_verify{cluster="shop",namespace="demo",schedule="new",store="s3"} 0
galera_operator_backup_schedule_verify{cluster="shop",namespace="demo",schedule="weekdays",store="s3"} 1
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if lint, err := testutil.CollectAndLint(m); err != nil || len(lint) > 0 {
		t.Errorf("%v %v", lint, err)
	}
}
