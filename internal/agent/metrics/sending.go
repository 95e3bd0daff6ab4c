package metrics

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// descs keeps the descriptions of the generic metrics: to make some thousand anew at every scrape takes longer than to
// read their values.
type descs struct {
	mu    sync.Mutex
	known map[string]*prometheus.Desc
}

// maxDescs bounds what is kept of a server whose variables change their names.
const maxDescs = 10000

func (d *descs) get(name, help string) *prometheus.Desc {
	d.mu.Lock()
	defer d.mu.Unlock()
	desc := d.known[name]
	if desc == nil {
		desc = prometheus.NewDesc(name, help, nil, nil)
		if d.known == nil || len(d.known) >= maxDescs {
			d.known = map[string]*prometheus.Desc{}
		}
		d.known[name] = desc
	}
	return desc
}

// sending is what is made of one reading.
type sending struct {
	descs   *descs
	metrics []prometheus.Metric
	// seen are the names that were had: two variables may be written as one.
	seen map[string]bool
	text texts
}

// texts are the values that become labels.
type texts struct {
	localUUID, clusterUUID, provider, latency             string
	innodb, version, comment, cluster, options, isolation string
	cache                                                 float64
}

// seenBefore reports whether a name was there before in this reading.
func (s *sending) seenBefore(name string) bool {
	if s.seen[name] {
		return true
	}
	s.seen[name] = true
	return false
}

func (s *sending) send(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
	for i, l := range labels {
		labels[i] = strings.ToValidUTF8(l, "\uFFFD")
	}
	s.metrics = append(s.metrics, prometheus.MustNewConstMetric(d, kind, value, labels...))
}

func (s *sending) generic(prefix, name, help string, kind prometheus.ValueType, value float64) {
	s.send(s.descs.get(prefix+name, help), kind, value)
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// metricName is a variable's name as Prometheus takes it.
func metricName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, s)
}
