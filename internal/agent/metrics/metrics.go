package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Facts are what the metrics of one scrape are made of.
type Facts struct {
	Report agentapi.Report
	// Now is the time of the scrape.
	Now time.Time
	// Volume is what was measured of the data volume last, nil before.
	Volume *Volume
	// SchedulingDelay is the longest delay of the agent's own timer within the last minute.
	SchedulingDelay time.Duration
	// Renewed is how long ago the site's lease was renewed for the node, nil where it needs none, or has heard of none.
	Renewed *time.Duration
}

// Volume is the data volume, in bytes.
type Volume struct{ Free, Size float64 }

// Family is one metric: what it is called, and how its series follow from the facts.
type Family struct {
	Name, Help string
	Kind       prometheus.ValueType
	Labels     []string
	of         func(f Facts, send send)
}

// send adds a series, with one value for each of the family's labels.
type send func(value float64, labels ...string)

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

// NodeFamilies are the metrics of a database node.
func NodeFamilies() []Family {
	return join(agentFamilies, serverFamilies, nodeFamilies, certificateFamilies, proofFamilies, peerFamilies,
		joinFamilies, donorFamilies,
		cacheFamilies, volumeFamilies, atRestFamilies, containerFamilies, hostFamilies)
}

// ArbitratorFamilies are the metrics of an arbitrator.
func ArbitratorFamilies() []Family {
	return join(agentFamilies, serverFamilies, arbitratorFamilies, certificateFamilies, proofFamilies)
}

func join(all ...[]Family) []Family {
	var out []Family
	for _, f := range all {
		out = append(out, f...)
	}
	return out
}

// Collector collects families.
type Collector struct {
	families []Family
	descs    []*prometheus.Desc
	facts    func() Facts
}

// NewCollector returns the collector of families, whose facts are asked for at every scrape. facts must be safe for
// concurrent use.
func NewCollector(families []Family, facts func() Facts) *Collector {
	c := &Collector{families: families, facts: facts}
	for _, f := range families {
		c.descs = append(c.descs, prometheus.NewDesc(f.Name, f.Help, f.Labels, nil))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	facts := c.facts()
	for i, f := range c.families {
		f.of(facts, func(value float64, labels ...string) {
			m, err := prometheus.NewConstMetric(c.descs[i], f.Kind, value, labels...)
			if err != nil {
				m = prometheus.NewInvalidMetric(c.descs[i], err)
			}
			ch <- m
		})
	}
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unix is a point in time as Prometheus has it.
func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }
