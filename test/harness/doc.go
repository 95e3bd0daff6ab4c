// Package harness is what the end-to-end tests and the benchmarks share: a real Kubernetes made of
// containers, real database clients, faults, and a look at the packets on the wire. It asserts
// nothing: functions return errors and facts, and their callers judge them.
//
// Kube is the Kubernetes under test and Cluster one GaleraCluster in it. They have themselves what almost
// every spec uses. The rest is with handles of a topic each, such as Kube.Operator and Cluster.Servers.
// What runs or is kept until it is stopped has a type of its own, and a function that begins it, such as
// StartWriter and EnforcePolicies.
package harness
