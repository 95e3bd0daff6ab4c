package galerabackup

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
)

// Metrics exports what backups there are. The leader does, so that no series is there twice.
type Metrics struct {
	// Reader is the cache.
	Reader client.Reader
	// Leads is closed when this process leads.
	Leads <-chan struct{}
}

var (
	perStore   = []string{"namespace", "store"}
	perBackups = []string{"namespace", "cluster", "store"}

	lastCompletion = prometheus.NewDesc("galera_operator_backup_last_completion_timestamp_seconds",
		"When the latest complete backup was complete, in seconds since 1970.", perBackups, nil)
	lastDuration = prometheus.NewDesc("galera_operator_backup_last_duration_seconds",
		"How long the latest complete backup took, from the first byte to its manifest in the store.", perBackups, nil)
	lastVerification = prometheus.NewDesc("galera_operator_backup_last_verification_timestamp_seconds",
		"When the latest backup that passed its test did so, in seconds since 1970.", perBackups, nil)
	lastVerificationDuration = prometheus.NewDesc("galera_operator_backup_verification_last_duration_seconds",
		"How long the latest test that a backup passed took.", perBackups, nil)
	storedBytes = prometheus.NewDesc("galera_operator_backup_stored_bytes",
		"Size of all complete backups in their store.", perBackups, nil)
	backupCount = prometheus.NewDesc("galera_operator_backups",
		"Number of GaleraBackups in a phase.", append(perBackups, "phase"), nil)
	storeReachable = prometheus.NewDesc("galera_operator_backup_store_reachable",
		"Whether the condition Reachable of a GaleraBackupStore is True.", perStore, nil)
)

// collectTimeout bounds how long a scrape waits for the cache.
const collectTimeout = 5 * time.Second

// Describe implements prometheus.Collector.
func (m Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lastCompletion, lastDuration, lastVerification,
		lastVerificationDuration, storedBytes, backupCount,
		storeReachable} {
		ch <- d
	}
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
	var backups v1alpha1.GaleraBackupList
	var stores v1alpha1.GaleraBackupStoreList
	if m.Reader.List(ctx, &backups, client.UnsafeDisableDeepCopy) != nil ||
		m.Reader.List(ctx, &stores, client.UnsafeDisableDeepCopy) != nil {
		return // the next scrape has them
	}
	for of, s := range sum(backups.Items) {
		labels := []string{of.namespace, of.cluster, of.store}
		send := func(d *prometheus.Desc, value float64, more ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append(labels[:3:3], more...)...)
		}
		if !s.completed.IsZero() {
			send(lastCompletion, float64(s.completed.Unix()))
			send(storedBytes, s.bytes)
			if s.took > 0 {
				send(lastDuration, s.took.Seconds())
			}
		}
		if !s.verified.IsZero() {
			send(lastVerification, float64(s.verified.Unix()))
			if s.tested > 0 {
				send(lastVerificationDuration, s.tested.Seconds())
			}
		}
		for phase, n := range s.phases {
			send(backupCount, n, phase)
		}
	}
	for i := range stores.Items {
		s := &stores.Items[i]
		value := 0.0
		if meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReachable) {
			value = 1
		}
		ch <- prometheus.MustNewConstMetric(storeReachable, prometheus.GaugeValue, value, s.Namespace, s.Name)
	}
}

type series struct{ namespace, cluster, store string }

// sums are the backups of one cluster in one store.
type sums struct {
	completed, verified time.Time
	took                time.Duration // of the latest
	tested              time.Duration // the latest test
	bytes               float64
	phases              map[string]float64
}

func sum(all []v1alpha1.GaleraBackup) map[series]*sums {
	out := map[series]*sums{}
	for i := range all {
		b := &all[i]
		if clone.Owner(b) != nil {
			continue // it is about to be removed
		}
		of := series{b.Namespace, b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name}
		if out[of] == nil {
			out[of] = &sums{phases: map[string]float64{}}
		}
		s := out[of]
		phase := b.Status.Phase
		if phase == "" {
			phase = v1alpha1.BackupPending
		}
		s.phases[phase]++
		if b.Spec.Import != nil {
			continue // it may be of an earlier cluster of that name
		}
		if t := b.Status.CompletedAt; t != nil && t.After(s.completed) {
			s.completed, s.took = t.Time, 0
			if begun := b.Status.StartedAt; begun != nil {
				s.took = t.Sub(begun.Time)
			}
		}
		if v := b.Status.Verification; v != nil && v.VerifiedAt != nil && v.VerifiedAt.After(s.verified) {
			s.verified, s.tested = v.VerifiedAt.Time, 0
			if v.Took != nil {
				s.tested = v.Took.Duration
			}
		}
		if size := b.Status.StoredSize; size != nil {
			s.bytes += size.AsApproximateFloat64()
		}
	}
	return out
}
