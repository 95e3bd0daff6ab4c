package galeracluster

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/galera-operator/galera-operator/internal/version"
)

// BuildInfo exports the operator's version.
func BuildInfo() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "galera_operator_build_info", Help: "Version of the operator, and of the Go it was built with.",
		ConstLabels: prometheus.Labels{"version": version.Version, "go_version": runtime.Version()},
	}, func() float64 { return 1 })
}
