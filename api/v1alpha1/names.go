package v1alpha1

// Labels and annotations of galera-operator.
const (
	// LabelCluster names the GaleraCluster an object belongs to.
	LabelCluster = "galera-operator.io/cluster"
	// LabelPurpose says what an object of a cluster is for: "cluster", or the end of the name it has after the
	// cluster's. What is there for one purpose is never overwritten for another.
	LabelPurpose = "galera-operator.io/purpose"
	// LabelRole tells which pod NAME-primary leads to: RolePrimary there, RoleReplica on the others. It follows the
	// Service, which selects by the pod's name.
	LabelRole = "galera-operator.io/role"
	// RolePrimary is the value of LabelRole on the primary's pod.
	RolePrimary = "primary"
	// RoleReplica is the value of LabelRole on every other pod.
	RoleReplica = "replica"

	// AnnotationRenew asks for a new certificate now: leaf@TOKEN for the nodes' certificate, ca@TOKEN for
	// a new CA of the operator's making, under which everything is issued anew; both with a comma between.
	// TOKEN is any word; each is acted upon once.
	AnnotationRenew = "galera-operator.io/renew"
	// AnnotationDropCA names, with spec.tls.dropOldCA Manual, the old CAs that may be dropped: their SHA-256
	// fingerprints as status.tls.trustedCAs shows them, or at least the first 16 characters.
	AnnotationDropCA = "galera-operator.io/drop-old-ca"
	// AnnotationPause "true" on a GaleraCluster keeps the operator from acting: it sends nothing to the nodes, writes no object but
	// the status, and goes on observing. Any other value, or none, lets it act.
	AnnotationPause = "galera-operator.io/pause"
	// AnnotationSync is changed on pods so that kubelet refreshes mounted configuration at once.
	AnnotationSync = "galera-operator.io/sync"

	// AnnotationCPUAcceleration "Off" on a GaleraCluster hides the AES instructions from the TLS library of its
	// nodes. It is for benchmarks: a change restarts every node.
	AnnotationCPUAcceleration = "galera-operator.io/cpu-acceleration"
)
