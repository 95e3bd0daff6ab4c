package metrics

import (
	"strings"
	"sync"

	"github.com/galera-operator/galera-operator/internal/usage"
)

// volumeFamilies are about the data volume, as it was measured last: a scrape must not wait for a volume.
var volumeFamilies = []Family{
	{"galera_volume_free_bytes", "Free space of the data volume.", gauge, nil, func(f Facts, send send) {
		if f.Volume != nil {
			send(f.Volume.Free)
		}
	}},
	{"galera_volume_size_bytes", "Size of the data volume.", gauge, nil, func(f Facts, send send) {
		if f.Volume != nil {
			send(f.Volume.Size)
		}
	}},
}

// containerFamilies are what the container has used. Benchmarks read them at both ends of a measurement.
var containerFamilies = []Family{
	{"galera_container_cpu_seconds_total", "Processor time of the database container.", counter, nil,
		func(_ Facts, send send) {
			if c, ok := usage.CPU(); ok {
				send(c.CPUSeconds)
			}
		}},
	{"galera_container_cpu_throttled_periods_total", "Scheduling periods cut short by the CPU limit.", counter, nil,
		func(_ Facts, send send) {
			if c, ok := usage.CPU(); ok {
				send(c.Throttled)
			}
		}},
	{"galera_container_scheduling_delay_seconds",
		"Longest time in the last minute for which the container got no processor.", gauge, nil, func(f Facts, send send) {
			send(f.SchedulingDelay.Seconds())
		}},
	{"galera_network_sent_bytes_total", "Bytes the pod's network interfaces have sent, headers included.", counter, nil,
		func(_ Facts, send send) {
			if sent, ok := usage.SentBytes(); ok {
				send(sent)
			}
		}},
}

// host and kernel cannot change while the agent runs.
var host, kernel = sync.OnceValue(usage.Host), sync.OnceValue(usage.Kernel)

// hostFamilies are about what the node runs on.
var hostFamilies = []Family{
	{"galera_host_cpus", "Number of the host's processors, with their model and the instructions that speed up ciphers.",
		gauge, []string{"model", "flags"}, func(_ Facts, send send) {
			p := host()
			send(float64(p.Count), p.Model, strings.Join(p.Flags, " "))
		}},
	{"galera_kernel_info", "Release of the host's kernel.", gauge, []string{"release"},
		func(_ Facts, send send) { send(1, kernel()) }},
}
