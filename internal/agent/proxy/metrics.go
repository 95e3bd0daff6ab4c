package proxy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/usage"
)

// Family is a metric of the pod, in addition to ProxySQL's own metrics. What is not known has no series.
type Family struct {
	Name, Help string
	Labels     []string
	values     func(f facts, send func(value float64, labels ...string))
}

// Kind is counter or gauge.
func (f Family) Kind() string {
	if strings.HasSuffix(f.Name, "_total") {
		return "counter"
	}
	return "gauge"
}

// facts are what metrics are made from.
type facts struct {
	report agentapi.ProxyReport
	// state is the one that is known, nil before the first.
	state *agentapi.ProxyState
	// heard is when the operator sent one last, or the primary answered a sidecar, or when the pod began.
	heard time.Time
	// cpuSeconds and memoryBytes are what the container uses, nil where there are no counters.
	cpuSeconds, memoryBytes *float64
}

// used adds what the container uses.
func (f facts) used() facts {
	if u, ok := usage.CPU(); ok {
		f.cpuSeconds = &u.CPUSeconds
	}
	if bytes, ok := usage.Memory(); ok {
		f.memoryBytes = &bytes
	}
	return f
}

// Families are the pod's metrics.
func Families() []Family {
	return slices.Concat(stateFamilies(), clientFamilies(), nodeFamilies(), containerFamilies())
}

// stateFamilies are what the pod runs with.
func stateFamilies() []Family {
	return []Family{
		{"galera_proxy_info", "Version of ProxySQL, and where statements go.", []string{"version", "mode"},
			func(f facts, send func(float64, ...string)) {
				if f.state != nil {
					send(1, f.report.Version, string(f.state.Mode))
				}
			}},
		{"galera_proxy_ready", "Whether ProxySQL runs with a state and takes clients.", nil,
			func(f facts, send func(float64, ...string)) {
				send(flag(f.report.Problem == "" && f.report.Revision > 0))
			}},
		{"galera_proxy_has_writer", "Whether there is a node to write to; no series with the mode ReadOnly.", nil,
			func(f facts, send func(float64, ...string)) {
				if f.state == nil || f.state.Mode == agentapi.ProxyReadOnly {
					return
				}
				writers := 0.
				for _, n := range f.state.Nodes {
					writers += flag(n.Writer)
				}
				send(writers)
			}},
		{"galera_proxy_state_received_timestamp_seconds", "When the operator sent a state last, or the pod began; " +
			"for a sidecar: when the primary answered last.", nil,
			func(f facts, send func(float64, ...string)) { send(float64(f.heard.Unix())) }},
	}
}

// clientFamilies are the clients.
func clientFamilies() []Family {
	return []Family{
		{"galera_proxy_clients", "Connections of clients.", nil,
			func(f facts, send func(float64, ...string)) { send(float64(f.report.Clients)) }},
		{"galera_proxy_waiting_clients", "Clients that wait for a connection to a node.", nil,
			func(f facts, send func(float64, ...string)) { send(float64(f.report.Waiting)) }},
		{"galera_proxy_timed_out_statements_total", "Statements that failed because they waited too long for a connection " +
			"to a node.", nil,
			func(f facts, send func(float64, ...string)) { send(float64(f.report.TimedOut)) }},
		{"galera_proxy_max_clients", "Limit of connections of clients.", nil,
			func(f facts, send func(float64, ...string)) {
				if f.state != nil {
					send(float64(f.state.MaxFrontendConnections))
				}
			}},
	}
}

// nodeFamilies are the connections to nodes.
func nodeFamilies() []Family {
	return []Family{
		{"galera_proxy_node_connections", "Connections to a node: used or free.", []string{"node", "state"},
			func(f facts, send func(float64, ...string)) {
				for _, n := range f.report.Nodes {
					send(float64(n.Used), n.Name, "used")
					send(float64(n.Free), n.Name, "free")
				}
			}},
		{"galera_proxy_max_node_connections", "Limit of connections to one node.", nil,
			func(f facts, send func(float64, ...string)) {
				if f.state != nil {
					send(float64(f.state.MaxConnections))
				}
			}},
		{"galera_proxy_node_encrypted", "Whether a node's port offered TLS; no series while that is not known.",
			[]string{"node"}, func(f facts, send func(float64, ...string)) {
				for _, n := range f.report.Nodes {
					switch n.Backend.Observed {
					case agentapi.ObservedTLS:
						send(1, n.Name)
					case agentapi.ObservedPlaintext, agentapi.ObservedMixed:
						send(0, n.Name)
					}
				}
			}},
	}
}

// containerFamilies are what the container uses.
func containerFamilies() []Family {
	return []Family{
		{"galera_proxy_cpu_seconds_total", "Processor time of the container: of ProxySQL and the agent.", nil,
			func(f facts, send func(float64, ...string)) {
				if f.cpuSeconds != nil {
					send(*f.cpuSeconds)
				}
			}},
		{"galera_proxy_memory_bytes", "Memory of the container that the kernel cannot drop at once.", nil,
			func(f facts, send func(float64, ...string)) {
				if f.memoryBytes != nil {
					send(*f.memoryBytes)
				}
			}},
	}
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// text is the families in Prometheus' format.
func (f facts) text() string {
	var b strings.Builder
	for _, family := range Families() {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", family.Name, family.Help, family.Name,
			family.Kind())
		family.values(f, func(value float64, labels ...string) {
			b.WriteString(family.Name)
			for i, l := range labels {
				fmt.Fprintf(&b, "%s%s=%s", []string{"{", ","}[min(i, 1)], family.Labels[i], strconv.Quote(l))
			}
			if len(labels) > 0 {
				b.WriteString("}")
			}
			b.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
		})
	}
	return b.String()
}
