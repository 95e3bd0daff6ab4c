package galerabackupschedule

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/schedule"
)

// Metrics exports what schedules ask for. The leader does, so that no series is there twice.
type Metrics struct {
	// Reader is the cache.
	Reader client.Reader
	// Leads is closed when this process leads.
	Leads <-chan struct{}
}

var (
	perSchedule = []string{"namespace", "schedule", "cluster", "store"}

	nextDue = prometheus.NewDesc("galera_operator_backup_schedule_due_timestamp_seconds",
		"When the first backup after the last successful one is, or was, due, in seconds since 1970; no series while the "+
			"schedule is suspended or invalid, or its cluster does not exist.",
		perSchedule, nil)
	verifies = prometheus.NewDesc("galera_operator_backup_schedule_verify",
		"Whether the backups of a schedule are tested (verify of its template); no series where there is none of the due "+
			"time.", perSchedule, nil)
)

// collectTimeout bounds how long a scrape waits for the cache.
const collectTimeout = 5 * time.Second

// Describe implements prometheus.Collector.
func (m Metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- nextDue
	ch <- verifies
}

// Collect implements prometheus.Collector.
func (m Metrics) Collect(ch chan<- prometheus.Metric) {
	select {
	case <-m.Leads:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	var schedules v1alpha1.GaleraBackupScheduleList
	var clusters v1alpha1.GaleraClusterList
	if m.Reader.List(ctx, &schedules, client.UnsafeDisableDeepCopy) != nil || m.Reader.List(ctx, &clusters,
		client.UnsafeDisableDeepCopy) != nil {
		return // the next scrape has them
	}
	there := map[client.ObjectKey]bool{}
	for i := range clusters.Items {
		there[client.ObjectKeyFromObject(&clusters.Items[i])] = true
	}
	for i := range schedules.Items {
		s := &schedules.Items[i]
		cluster := client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Template.ClusterRef.Name}
		due := firstDue(s)
		if due.IsZero() || !there[cluster] {
			continue
		}
		tests := 0.0
		if v := s.Spec.Template.Verify; v != "" && v != v1alpha1.VerifyNone {
			tests = 1
		}
		for desc, value := range map[*prometheus.Desc]float64{nextDue: float64(due.Unix()), verifies: tests} {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, s.Namespace, s.Name, cluster.Name,
				s.Spec.Template.StoreRef.Name)
		}
	}
}

// firstDue is when the first backup after the last successful one is due, zero when none is.
func firstDue(s *v1alpha1.GaleraBackupSchedule) time.Time {
	next, err := schedule.Parse(s.Spec)
	if err != nil || s.Spec.Suspend {
		return time.Time{}
	}
	from := s.CreationTimestamp.Time
	if t := s.Status.LastSuccessTime; t != nil {
		from = t.Time
	}
	return next.Next(from)
}
