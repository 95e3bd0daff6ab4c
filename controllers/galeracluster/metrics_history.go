package galeracluster

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/status"
)

// history counts what has happened to clusters since the operator started, from one written status to the next. What
// happens while no operator runs is counted by the next one, because the journal is in the status; an outage only if
// its beginning was seen.
type history struct {
	operations     *prometheus.CounterVec
	operationTimes *prometheus.HistogramVec
	switchTimes    *prometheus.HistogramVec
	switchOutages  *prometheus.HistogramVec
	outageTimes    prometheus.Histogram
	primaryMoves   *prometheus.CounterVec
	outagesMu      sync.Mutex
	outages        map[types.NamespacedName]metav1.Time // when one began
}

// Results of an operation.
const (
	resultCompleted = "Completed"
	resultAbandoned = "Abandoned"
)

// Buckets reach from what is hardly seen to what fails a day.
var (
	taskBuckets   = []float64{1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600}
	outageBuckets = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600}
)

func newHistory() history {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	return history{
		outages: map[types.NamespacedName]metav1.Time{},
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "galera_operator_operations_total",
			Help: "Operations that have ended, by type and result (Completed, Abandoned)."},
			append(perCluster, "type", "result")),
		operationTimes: histogram("galera_operator_operation_duration_seconds",
			"Duration of completed operations, by type; Recover and RebuildQuorum are recoveries.", taskBuckets, "type"),
		switchTimes: histogram("galera_operator_switch_duration_seconds",
			"Duration of switches of replication's encryption, until all nodes were Synced with the new one.", taskBuckets,
			"strategy"),
		switchOutages: histogram("galera_operator_switch_outage_seconds",
			"Time in which no node served during a switch of replication's encryption, as the agents measured it.",
			outageBuckets, "strategy"),
		outageTimes: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "galera_operator_outage_duration_seconds",
			Help: "How long the condition Available was False, hibernation aside.", Buckets: outageBuckets}),
		primaryMoves: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "galera_operator_primary_moves_total",
			Help: "Times another node has become the primary."}, perCluster),
	}
}

func (h *history) collectors() []prometheus.Collector {
	return []prometheus.Collector{h.operations, h.operationTimes, h.switchTimes, h.switchOutages, h.outageTimes,
		h.primaryMoves}
}

// count takes a status that was written after another one. A nil Metrics counts nothing.
func (m *Metrics) count(key types.NamespacedName, before, after v1alpha1.GaleraClusterStatus) {
	if m == nil {
		return
	}
	if op, completed := status.EndedOperation(before, after); op != nil {
		result := resultAbandoned
		if completed {
			result = resultCompleted
			m.operationTimes.WithLabelValues(op.Type).Observe(span(op.StartedAt, after.LastOperation.CompletedAt))
		}
		m.operations.WithLabelValues(key.Namespace, key.Name, op.Type, result).Inc()
	}
	if s := status.CompletedSwitch(before, after); s != nil {
		m.switchTimes.WithLabelValues(s.Strategy).Observe(span(s.StartedAt, *s.CompletedAt))
		if s.Outage != nil {
			m.switchOutages.WithLabelValues(s.Strategy).Observe(s.Outage.Seconds())
		}
	}
	if before.Primary != "" && after.Primary != "" && before.Primary != after.Primary {
		m.primaryMoves.WithLabelValues(key.Namespace, key.Name).Inc()
	}
	m.countOutage(key, before, after)
}

func (h *history) countOutage(key types.NamespacedName, before, after v1alpha1.GaleraClusterStatus) {
	was, is := available(before), available(after)
	if is == nil {
		return
	}
	h.outagesMu.Lock()
	defer h.outagesMu.Unlock()
	began, out := h.outages[key]
	switch {
	case is.Reason == v1alpha1.ReasonHibernated:
		delete(h.outages, key)
	case is.Status == metav1.ConditionTrue && out:
		h.outageTimes.Observe(span(began, is.LastTransitionTime))
		delete(h.outages, key)
	case is.Status == metav1.ConditionFalse && !out && was != nil && was.Status != metav1.ConditionFalse:
		h.outages[key] = is.LastTransitionTime
	}
}

func available(s v1alpha1.GaleraClusterStatus) *metav1.Condition {
	return meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionAvailable)
}

// forget ends the series of a cluster that are its own.
func (h *history) forget(key types.NamespacedName) {
	of := prometheus.Labels{"namespace": key.Namespace, "cluster": key.Name}
	h.operations.DeletePartialMatch(of)
	h.primaryMoves.DeletePartialMatch(of)
	h.outagesMu.Lock()
	defer h.outagesMu.Unlock()
	delete(h.outages, key)
}
