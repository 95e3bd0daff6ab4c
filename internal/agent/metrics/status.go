package metrics

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

const statusPrefix = "mysql_global_status_"

var (
	commands         = desc(statusPrefix+"commands_total", "Total number of executed MySQL commands.", "command")
	handlers         = desc(statusPrefix+"handlers_total", "Total number of executed MySQL handlers.", "handler")
	connectionErrors = desc(statusPrefix+"connection_errors_total", "Total number of MySQL connection errors.", "error")
	poolPages        = desc(statusPrefix+"buffer_pool_pages", "Innodb buffer pool pages by state.", "state")
	poolDirtyPages   = desc(statusPrefix+"buffer_pool_dirty_pages", "Innodb buffer pool dirty pages.")
	poolPageChanges  = desc(statusPrefix+"buffer_pool_page_changes_total", "Innodb buffer pool page state changes.",
		"operation")
	rowOperations = desc(statusPrefix+"innodb_row_ops_total", "Total number of MySQL InnoDB row operations.",
		"operation")
	schemaLost = desc(statusPrefix+"performance_schema_lost_total",
		"Total number of MySQL instrumentations that could not be loaded or created due to memory constraints.",
		"instrumentation")
	statusInfo = desc("mysql_galera_status_info", "PXC/Galera status information.", "wsrep_local_state_uuid",
		"wsrep_cluster_state_uuid", "wsrep_provider_version")
)

// groups are the variables that are one metric each, with the rest of the name as a label.
var groups = []struct {
	prefix string
	desc   *prometheus.Desc
}{
	{"com_", commands}, {"handler_", handlers}, {"connection_errors_", connectionErrors},
	{"innodb_rows_", rowOperations}, {"performance_schema_", schemaLost},
}

const poolPrefix = "innodb_buffer_pool_pages_"

// status takes one row of SHOW GLOBAL STATUS.
func (s *sending) status(row string, raw []byte) {
	name := metricName(row)
	if s.seenBefore(statusPrefix + name) {
		return
	}
	value, ok := number(raw)
	if !ok {
		s.statusWord(name, raw)
		return
	}
	if state, ok := strings.CutPrefix(name, poolPrefix); ok {
		s.poolPages(state, value)
		return
	}
	for _, g := range groups {
		if label, ok := strings.CutPrefix(name, g.prefix); ok {
			s.send(g.desc, prometheus.CounterValue, value, label)
			return
		}
	}
	s.generic(statusPrefix, name, "Generic metric from SHOW GLOBAL STATUS.", prometheus.UntypedValue, value)
}

func (s *sending) poolPages(state string, value float64) {
	switch state {
	case "data", "free", "misc", "old":
		s.send(poolPages, prometheus.GaugeValue, value, state)
	case "dirty":
		s.send(poolDirtyPages, prometheus.GaugeValue, value)
	case "total": // the sum of data, free and misc
	default:
		s.send(poolPageChanges, prometheus.CounterValue, value, state)
	}
}

// statusWord keeps what is no number, and exported as a label.
func (s *sending) statusWord(name string, raw []byte) {
	switch name {
	case "wsrep_local_state_uuid":
		s.text.localUUID = string(raw)
	case "wsrep_cluster_state_uuid":
		s.text.clusterUUID = string(raw)
	case "wsrep_provider_version":
		s.text.provider = string(raw)
	case "wsrep_evs_repl_latency":
		s.text.latency = string(raw)
	}
}

const latencyHelp = "PXC/Galera group communication latency. "

// latencies are the numbers of wsrep_evs_repl_latency, in their order.
var latencies = []*prometheus.Desc{
	desc("mysql_galera_evs_repl_latency_min_seconds", latencyHelp+"Min value."),
	desc("mysql_galera_evs_repl_latency_avg_seconds", latencyHelp+"Avg value."),
	desc("mysql_galera_evs_repl_latency_max_seconds", latencyHelp+"Max value."),
	desc("mysql_galera_evs_repl_latency_stdev", latencyHelp+"Standard Deviation."),
	desc("mysql_galera_evs_repl_latency_sample_size", latencyHelp+"Sample Size."),
}

// statusText sends what was kept of the status.
func (s *sending) statusText() {
	if s.text.localUUID != "" {
		s.send(statusInfo, prometheus.GaugeValue, 1, s.text.localUUID, s.text.clusterUUID, s.text.provider)
	}
	words := strings.Split(s.text.latency, "/")
	if len(words) != len(latencies) {
		return
	}
	values := make([]float64, len(words))
	for i, w := range words {
		var err error
		if values[i], err = strconv.ParseFloat(w, 64); err != nil {
			return
		}
	}
	for i, d := range latencies {
		s.send(d, prometheus.GaugeValue, values[i])
	}
}
