package result

import "strings"

// Names of figures, as they appear in status.results[].figures. Their units are in their names.
const (
	FigureTPS                  = "tps"
	FigureQPS                  = "qps"
	FigureAverage              = "latencyAvgMs"
	FigureP50                  = "latencyP50Ms"
	FigureP95                  = "latencyP95Ms"
	FigureP99                  = "latencyP99Ms"
	FigureMax                  = "latencyMaxMs"
	FigureErrors               = "errors"
	FigureReconnects           = "reconnects"
	FigureDeadlocks            = "deadlocks"
	FigureServerCPU            = "serverCPUMicros"
	FigureClientCPU            = "clientCPUMicros"
	FigureProxyCPU             = "proxyCPUMicros"
	FigureProxyMemory          = "proxyMemoryMiB"
	FigureReplicatedBytes      = "replicatedBytes"
	FigureSentBytes            = "sentBytes"
	FigureFlowControl          = "flowControlPausedPercent"
	FigureSeconds              = "seconds"
	FigureConnectionsPerSecond = "connectionsPerSecond"
	FigureMegabytesPerSecond   = "megabytesPerSecond"
	FigureLoadLoss             = "loadLossPercent"
	FigureCPUSeconds           = "cpuSeconds"
	FigureResumed              = "sessionsResumedPercent"
	FigureBackend              = "backendConnectionsPercent"
	FigureGap                  = "longestGapMs"
	FigureTPSBefore            = "tpsBefore"
	FigureP95Before            = "latencyP95BeforeMs"
	FigureGapBefore            = "longestGapBeforeMs"
)

// CipherFigures are the figures of records, by their sizes in bytes. What is compared, and stands alongside the rates
// of copies, are the largest that TLS has.
var CipherFigures = map[int]string{
	16: "megabytesPerSecond16B", 64: "megabytesPerSecond64B", 256: "megabytesPerSecond256B",
	1024: "megabytesPerSecond1KiB",
	8192: "megabytesPerSecond8KiB", 16384: FigureMegabytesPerSecond,
}

// FigureNames are all of them, in the order they are shown in.
var FigureNames = []string{
	FigureTPS, FigureTPSBefore, FigureQPS, FigureConnectionsPerSecond, FigureSeconds,
	CipherFigures[16], CipherFigures[64], CipherFigures[256], CipherFigures[1024], CipherFigures[8192],
	FigureMegabytesPerSecond,
	FigureLoadLoss, FigureCPUSeconds, FigureResumed, FigureBackend,
	FigureAverage, FigureP50, FigureP95, FigureP95Before, FigureP99, FigureMax, FigureGap, FigureGapBefore, FigureErrors,
	FigureReconnects, FigureDeadlocks,
	FigureServerCPU, FigureClientCPU, FigureProxyCPU, FigureProxyMemory, FigureReplicatedBytes, FigureSentBytes,
	FigureFlowControl,
}

// Metrics of the agents that are read.
const (
	MetricCPU         = "galera_container_cpu_seconds_total"
	MetricThrottled   = "galera_container_cpu_throttled_periods_total"
	MetricView        = "galera_view"
	MetricLate        = "galera_container_scheduling_delay_seconds"
	MetricStarted     = "galera_server_start_time_seconds"
	MetricSynced      = "galera_synced"
	MetricPrimary     = "galera_primary_component"
	MetricReplicated  = "mysql_global_status_wsrep_replicated_bytes"
	MetricReceived    = "mysql_global_status_wsrep_received_bytes"
	MetricPaused      = "mysql_global_status_wsrep_flow_control_paused_ns"
	MetricCertFailure = "mysql_global_status_wsrep_local_cert_failures"
	MetricBFAborts    = "mysql_global_status_wsrep_local_bf_aborts"
	MetricFree        = "galera_volume_free_bytes"
	MetricJoinSeconds = "galera_join_seconds"
	MetricJoinBytes   = "galera_join_bytes"
	MetricJoining     = "galera_join_running"
	MetricProcessors  = "galera_host_cpus"
	MetricKernel      = "galera_kernel_info"
	MetricPrimaryNode = "galera_primary_node"
	MetricReloads     = "galera_certificate_reloads_total"
	MetricSent        = "galera_network_sent_bytes_total"
	MetricGiving      = "galera_backup_giving"
	// MetricProxyCPU and MetricProxyMemory are those of a pod of a GaleraProxy.
	MetricProxyCPU    = "galera_proxy_cpu_seconds_total"
	MetricProxyMemory = "galera_proxy_memory_bytes"
	// MetricEncrypted and MetricProtocol are those of one channel.
	MetricEncrypted = "galera_channel_encrypted:replication"
	MetricProtocol  = "galera_channel_info:replication"
)

// counted are the metrics of which verdicts and figures are made.
var counted = []string{
	MetricCPU, MetricThrottled, MetricView, MetricStarted, MetricSynced, MetricPrimary, MetricReplicated, MetricReceived,
	MetricPaused,
	MetricCertFailure, MetricBFAborts, MetricSent, MetricLate,
}

// LowerIsBetter says of a figure that less of it is better.
func LowerIsBetter(figure string) bool {
	switch figure {
	case FigureTPS, FigureTPSBefore, FigureQPS, FigureConnectionsPerSecond, FigureResumed:
		return false
	}
	return !strings.HasPrefix(figure, FigureMegabytesPerSecond)
}

// Operations is how many transactions, connections or transfers were made.
func (o Output) Operations() float64 {
	switch {
	case o.OLTP != nil:
		return float64(o.OLTP.Transactions)
	case o.Connect != nil:
		return float64(o.Connect.Connections)
	case o.Answers != nil:
		return float64(o.Answers.Answers)
	case o.Operation != nil:
		return float64(o.Operation.Transactions)
	case o.Transfer != nil, o.Cipher != nil:
		return 1
	}
	return 0
}

// Victim reports whether a node's data was taken for a transfer: its pod is another one since.
func (o Output) Victim(member string) bool { return o.Transfer != nil && o.Transfer.Victim == member }

// Figures computes what is compared; a figure that is not known is not there.
func (o Output) Figures() map[string]float64 {
	f := map[string]float64{}
	switch {
	case o.OLTP != nil:
		r := o.OLTP
		f[FigureTPS], f[FigureQPS], f[FigureSeconds] = r.TPS, r.QPS, r.Seconds
		f[FigureAverage], f[FigureP50], f[FigureP95], f[FigureP99], f[FigureMax] = r.LatencyAvg, r.P50, r.P95, r.P99,
			r.LatencyMax
		f[FigureErrors], f[FigureReconnects] = float64(r.Errors), float64(r.Reconnects)
	case o.Connect != nil:
		o.Connect.addTo(f)
	case o.Answers != nil:
		o.Answers.Paced.addTo(f)
		f[FigureQPS] = o.Answers.PerSecond
		f[FigureMegabytesPerSecond] = o.Answers.PerSecond * float64(o.Answers.Size) / 1e6
	case o.Operation != nil:
		o.Operation.addTo(f) // processors do what the load does, before, during and after it
		return f
	case o.Cipher != nil:
		for _, s := range o.Cipher.Speeds {
			f[CipherFigures[s.Record]] = s.Megabytes
		}
	case o.Transfer != nil:
		r := o.Transfer
		f[FigureSeconds] = r.Seconds
		if r.Seconds > 0 {
			f[FigureMegabytesPerSecond] = r.Bytes / 1e6 / r.Seconds
		}
		if r.LoadBefore > 0 {
			f[FigureLoadLoss] = 100 * (1 - r.LoadDuring/r.LoadBefore)
		}
	}
	o.addCounters(f)
	return f
}

func (r Paced) addTo(f map[string]float64) {
	f[FigureSeconds], f[FigureErrors] = r.Seconds, float64(r.Errors)
	f[FigureP50], f[FigureP95], f[FigureP99], f[FigureMax] = r.P50, r.P95, r.P99, r.Max
}

func (r *ConnectResult) addTo(f map[string]float64) {
	r.Paced.addTo(f)
	f[FigureConnectionsPerSecond] = r.PerSecond
	all := float64(r.Connections)
	if r.Resumption == ResumptionOn && all > 0 {
		f[FigureResumed] = min(100, 100*float64(r.Resumed)/all) // one that is cut off at the end may be counted, too
	}
	if r.Pooled && all > 0 {
		f[FigureBackend] = 100 * r.Backend / all
	}
}

// addCounters adds what the agents counted during the window.
func (o Output) addCounters(f map[string]float64) {
	n := o.Operations()
	if n == 0 || len(o.Members) == 0 {
		return
	}
	cpu, ok := o.grown(MetricCPU)
	switch {
	case ok && o.Transfer != nil:
		f[FigureCPUSeconds] = cpu
	case ok:
		f[FigureServerCPU] = cpu * 1e6 / n
	}
	if o.Client.CPUSeconds > 0 && o.Transfer == nil {
		f[FigureClientCPU] = o.Client.CPUSeconds * 1e6 / n
	}
	if o.Proxy.CPUSeconds > 0 {
		f[FigureProxyCPU] = o.Proxy.CPUSeconds * 1e6 / n
	}
	if o.Proxy.MemoryBytes > 0 {
		f[FigureProxyMemory] = o.Proxy.MemoryBytes / (1 << 20)
	}
	if bytes, ok := o.grown(MetricSent); ok && (o.OLTP != nil || o.Answers != nil) {
		f[FigureSentBytes] = bytes / n
	}
	if o.OLTP == nil {
		return
	}
	if bytes, ok := o.grown(MetricReplicated); ok {
		f[FigureReplicatedBytes] = bytes / n
	}
	if paused, ok := o.grown(MetricPaused); ok {
		if wall := o.EndedAt.Sub(o.StartedAt).Seconds(); wall > 0 {
			f[FigureFlowControl] = 100 * paused / 1e9 / wall / float64(len(o.Members))
		}
	}
	failures, ok := o.grown(MetricCertFailure)
	aborts, ok2 := o.grown(MetricBFAborts)
	if ok && ok2 {
		f[FigureDeadlocks] = failures + aborts
	}
}

// grown adds up by how much a counter grew on all nodes. The node whose data was taken has another container, which
// began at zero; so has any other whose counter is smaller than before.
func (o Output) grown(metric string) (float64, bool) {
	sum := 0.0
	for name, w := range o.Members {
		before, ok1 := w.Before[metric]
		after, ok2 := w.After[metric]
		if !ok1 || !ok2 {
			return 0, false
		}
		if after >= before && !o.Victim(name) {
			after -= before
		}
		sum += after
	}
	return sum, true
}

// LastWords are the last lines of a text, without empty ones, at most n.
func LastWords(text string, n int) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out[max(0, len(out)-n):]
}
