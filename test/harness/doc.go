// Package harness is what the end-to-end tests and the benchmarks share: a real Kubernetes made of
// containers, real database clients, faults, and a check of the packets on the wire. It asserts
// nothing: functions return errors and facts, and their callers judge them.
//
// Kube is the Kubernetes under test and Cluster one GaleraCluster in it. They have themselves what almost
// every spec uses. The rest is with handles of a topic each, such as Kube.Operator and Cluster.Servers.
// What runs or is kept until it is stopped has a type of its own, and a function that begins it, such as
// StartWriter and EnforcePolicies.
//
// Where to find what:
//
//   - clusters: cluster.go, build.go (options of a new one), wait.go, nodestate.go, applied.go, servers.go, agents.go,
//     joins.go, transfers.go, attempts.go, copies.go (a copied namespace), arbitrator.go, volumes.go, data.go
//   - clients: sql.go, writer*.go (writes that are checked row by row), gaps.go, binding.go, dump.go
//   - histories: recorder.go (random transactions), history.go, contents.go (what is compared); foreignserver.go (a
//     server of no cluster)
//   - Kubernetes and the operator: kube.go, secondkube.go (a second Kubernetes), namespaces.go, installation.go,
//     operator.go, nextoperator.go, pods.go, downwatch.go, certmanager.go, prometheus.go, scrape.go, usage.go,
//     assigned.go, secrets.go, images.go,
//     operator_metrics.go, lock.go (one run at a time), requirements.go,
//     patient.go (requests that are made again), facts.go (what is printed of a failed run)
//   - faults: hosts.go, network.go, enforcement.go (NetworkPolicies), process.go, limiteddisk.go, smalldisks.go,
//     intruder.go
//   - the wire: capture*.go, handshake.go, knock.go, peers.go, certs.go, trust.go, askcopy.go
//   - stores: objectstore.go (S3), azurestore.go, googlestore.go, emulator.go
package harness
