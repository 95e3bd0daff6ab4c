package web

import (
	"io"
	"strings"
	"sync"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/usage"
)

// host and kernel cannot change while the agent runs.
var host, kernel = sync.OnceValue(usage.Host), sync.OnceValue(usage.Kernel)

// writeUsage writes what the container has used, and what it runs on. Benchmarks read it at both ends of a
// measurement.
func writeUsage(w io.Writer, r agentapi.Report, free func() (float64, bool)) {
	if c, ok := usage.CPU(); ok {
		gauge(w, "galera_container_cpu_seconds_total", "Processor time of the database container.", c.CPUSeconds)
		gauge(w, "galera_container_cpu_throttled_periods_total", "Scheduling periods cut short by the CPU limit.", c.Throttled)
	}
	if free != nil {
		if bytes, ok := free(); ok {
			gauge(w, "galera_volume_free_bytes", "Free space of the data volume.", bytes)
		}
	}
	p := host()
	gauge(w, "galera_cpu_info", "The host's processors.", float64(p.Count), "model", p.Model, "flags", strings.Join(p.Flags, " "))
	gauge(w, "galera_kernel_info", "The host's kernel.", 1, "release", kernel())
	if s := r.Server; s != nil {
		gauge(w, "galera_view", "Number of the component's view; it changes with every node that leaves or joins.", float64(s.ViewID))
		gauge(w, "galera_server_started_seconds", "When mariadbd was started.", float64(s.StartedAt.UnixMilli())/1e3)
	}
}
