package archiving

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Metrics are those of all archives, made from the cache when they are asked for.
type Metrics struct {
	Reader client.Reader
	// Leads is closed when this operator leads: others have no metrics of clusters.
	Leads <-chan struct{}
}

var (
	perCluster = []string{"namespace", "cluster"}
	through    = prometheus.NewDesc("galera_operator_archive_through_timestamp_seconds",
		"Time until which everything that was committed is in the archive of the binary log.", perCluster, nil)
	recoverableFrom = prometheus.NewDesc("galera_operator_archive_recoverable_from_timestamp_seconds",
		"Earliest point in time that can be restored; 0 for none.", perCluster, nil)
	gap = prometheus.NewDesc("galera_operator_archive_gap",
		"Whether transactions are missing in the archive that no backup makes up for yet.", perCluster, nil)
	segments = prometheus.NewDesc("galera_operator_archive_segments", "Number of the last segment of the archive.",
		perCluster, nil)
	storedBytes = prometheus.NewDesc("galera_operator_archive_stored_bytes",
		"Size of the segments of the archive in its store.", perCluster, nil)
	restoreDuration = prometheus.NewDesc("galera_operator_restore_last_duration_seconds",
		"How long the restore took that the cluster has begun with, until all volumes were filled.", perCluster, nil)
)

// collectTimeout bounds how long a scrape waits for the cache.
const collectTimeout = 5 * time.Second

// Describe implements prometheus.Collector.
func (m Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{through, recoverableFrom, gap, segments, storedBytes, restoreDuration} {
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
	var clusters v1alpha1.GaleraClusterList
	if m.Reader.List(ctx, &clusters, client.UnsafeDisableDeepCopy) != nil {
		return // the next scrape has them
	}
	for i := range clusters.Items {
		c := &clusters.Items[i]
		send := func(d *prometheus.Desc, value float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, c.Namespace, c.Name)
		}
		if r := c.Status.Restore; r != nil && r.StartedAt != nil && r.CompletedAt != nil {
			send(restoreDuration, r.CompletedAt.Sub(r.StartedAt.Time).Seconds())
		}
		s := c.Status.Backup
		if s == nil {
			continue
		}
		if s.ArchivedThrough != nil && s.Reason != v1alpha1.ReasonHibernated { // nothing is written
			send(through, float64(s.ArchivedThrough.Unix()))
		}
		from, missing := 0.0, 0.0
		if s.RecoverableFrom != nil {
			from = float64(s.RecoverableFrom.Unix())
		}
		if s.Gap != "" {
			missing = 1
		}
		send(recoverableFrom, from)
		send(gap, missing)
		send(segments, float64(s.Segments))
		if s.StoredSize != nil {
			send(storedBytes, s.StoredSize.AsApproximateFloat64())
		}
	}
}
