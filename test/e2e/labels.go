// Package e2e tests galera-operator on a real Kubernetes with real database nodes, real clients,
// real faults and captured packets. One file reports one behaviour.
//
//	make test-e2e                     the core, two specs side by side
//	make test-e2e E2E='slow && wire'  some others, one after the other
//
// Without a label filter nothing runs, so that `go test ./...` does not start it by accident. With
// GALERA_E2E_KEEP=1 the namespaces stay for inspection; GALERA_CONTEXT names another kubectl
// context than kind-galera, GALERA_E2E_SATURATION another time than 5m for which each cluster is saturated. GALERA_SEED
// chooses what is killed at the steps of a move and of a change of sites; it is printed.
package e2e

// Labels of the specs. Every spec has exactly one of Core and Slow.
const (
	// Core specs run in make test, on every change, two side by side, each process with a cluster that most of
	// them share. One that takes away what both need (the operator, a host, policies that are enforced) is Serial.
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
	// AtRest marks specs about what lies on the disks.
	AtRest = "atrest"
	// Histories marks the random histories of a cluster that is restored: GALERA_SEED and GALERA_HISTORIES choose them.
	Histories = "histories"
	// Wire marks specs that look at, or speak on, the network.
	Wire = "wire"
)
