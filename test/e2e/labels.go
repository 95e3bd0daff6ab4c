// Package e2e tests galera-operator on a real Kubernetes with real database nodes, real clients,
// real faults and captured packets. One file tells one behaviour.
//
//	go test ./test/e2e -timeout 30m -ginkgo.label-filter=core
//
// Without a label filter nothing runs, so that `go test ./...` does not start it by accident. With
// GALERA_E2E_KEEP=1 the namespaces stay for a look at them; GALERA_CONTEXT names another kubectl
// context than kind-galera.
package e2e

// Labels of the specs. Every spec has exactly one of Core and Slow.
const (
	// Core specs run in make test, on every change. All of them together take less than 15 minutes
	// on two processors, so most of them share one cluster.
	Core = "core"
	// Slow specs run in make test-full only, after the core: they take long, or they take the
	// machine's nodes down.
	Slow = "slow"

	// Faults marks specs that break something: processes, pods, nodes, links, disks.
	Faults = "faults"
	// Input marks specs about what a user may get wrong.
	Input = "input"
	// Samples marks the benchmarks among the samples, which take up to a quarter of an hour each.
	Samples = "samples"
	// Wire marks specs that look at, or speak on, the network.
	Wire = "wire"
)
