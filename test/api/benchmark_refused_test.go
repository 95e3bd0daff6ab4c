package api

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/galerabenchmark"
)

// TestRefusedBenchmarkInASystemNamespace is reported as the operator's resources are.
func TestRefusedBenchmarkInASystemNamespace(t *testing.T) {
	c := policedClient(t, operatorName)
	expectRefusal(t, "GaleraBenchmark", `{cluster: {ref: {name: shop}}, rounds: 1, arms: [{name: a}], client: {},
		workloads: [{name: w, oltp: {profile: ReadWrite, threads: [1]}}]}`,
		&galerabenchmark.Reconciler{Client: c, Live: c, Now: time.Now})
}
