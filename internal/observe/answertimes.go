package observe

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requests measures how long agents take to answer.
type requests struct{ times *prometheus.HistogramVec }

func newRequests() requests {
	return requests{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "galera_operator_agent_request_duration_seconds",
		Help: "How long agents took to answer, by request and result (ok, error); of a question that waits for news, the " +
			"time beyond its wait.",
		// An agent answers from memory; after 2 s it counts as silent.
		Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30},
	}, []string{"request", "result"})}
}

// Describe implements prometheus.Collector.
func (r requests) Describe(ch chan<- *prometheus.Desc) { r.times.Describe(ch) }

// Collect implements prometheus.Collector.
func (r requests) Collect(ch chan<- prometheus.Metric) { r.times.Collect(ch) }

// end notes the end of a request that began at a time. One that was answered before its wait was over had news for an
// unknown time.
func (r requests) end(request string, began time.Time, wait time.Duration, err error) {
	took, result := time.Since(began), "ok"
	switch {
	case errors.Is(err, context.Canceled): // asked no more
		return
	case err != nil:
		result = "error"
	case wait > 0 && took < wait:
		return
	}
	if took >= wait {
		took -= wait
	}
	r.times.WithLabelValues(request, result).Observe(took.Seconds())
}
