package v1alpha1

// Labels and annotations of galera-operator.
const (
	// LabelCluster names the GaleraCluster an object belongs to.
	LabelCluster = "galera-operator.io/cluster"
	// LabelPurpose is the purpose of a cluster's object: "cluster", or the suffix that follows the cluster's name in
	// its name. An object of one purpose is never overwritten for another.
	LabelPurpose = "galera-operator.io/purpose"
	// LabelRole is RolePrimary on the pod behind NAME-primary, and RoleReplica on the others. It follows the
	// Service, which selects by the pod's name.
	LabelRole = "galera-operator.io/role"
	// RolePrimary is the value of LabelRole on the primary's pod.
	RolePrimary = "primary"
	// RoleReplica is the value of LabelRole on every other pod.
	RoleReplica = "replica"

	// AnnotationRenew requests a new certificate now: leaf@TOKEN for the nodes' certificate; ca@TOKEN for
	// a new CA of the operator and new certificates under it; or both, separated by a comma.
	// TOKEN is any word; each token takes effect once.
	AnnotationRenew = "galera-operator.io/renew"
	// AnnotationPrimary requests that the primary is moved: NODE@TOKEN. AnnotationRestart requests a rolling restart:
	// all@TOKEN, or NODE@TOKEN for one node. TOKEN is any word; each token takes effect once. Without the annotation, a
	// request that has not been met is cancelled; status.requests reports what became of it.
	AnnotationPrimary = "galera-operator.io/primary"
	AnnotationRestart = "galera-operator.io/restart"
	// AnnotationDropCA lists the old CAs that may be removed when spec.tls.dropOldCA is Manual: their SHA-256
	// fingerprints from status.tls.trustedCAs, or at least the first 16 characters.
	AnnotationDropCA = "galera-operator.io/drop-old-ca"
	// AnnotationPause "true" on a GaleraCluster stops the operator from acting: it sends nothing to the nodes, writes
	// nothing but the status, and continues to observe. Any other value, or none, lets it act.
	AnnotationPause = "galera-operator.io/pause"
	// AnnotationHoldChannel stops the channel of spec.bootstrapFrom.external.follow for a comparison with the source:
	// now@TIME where it is, GTID@TIME once that is applied. It goes on at the time (RFC 3339), and without the annotation.
	// kubectl galera cutover sets it.
	AnnotationHoldChannel = "galera-operator.io/hold-channel"
	// AnnotationReseed requests that the source of a cluster that follows is copied again, to new volumes: purged@TIME
	// if the source has deleted what the cluster needs next, always@TIME in any case. TIME is the present time in seconds
	// since 1970: each value takes effect once, within an hour of it. The data of all nodes are removed; status.reseed
	// reports what becomes of it.
	AnnotationReseed = "galera-operator.io/reseed"
	// AnnotationTooLarge marks, in the operator's cache only, a Secret or ConfigMap with more data than any cluster has:
	// the data were not kept.
	AnnotationTooLarge = "galera-operator.io/too-large"
	// AnnotationPodTemplate on the pods of a cluster is a hash of their template without the image the agent is taken
	// from: that image does not make a pod outdated, because an agent is replaced in place.
	AnnotationPodTemplate = "galera-operator.io/pod-template"
	// AnnotationSync is changed on a pod to make kubelet refresh its mounted configuration at once.
	AnnotationSync = "galera-operator.io/sync"

	// AnnotationCPUAcceleration "Off" on a GaleraCluster hides the CPU's AES instructions from the TLS library of its
	// nodes, for benchmarks. A change restarts every node.
	AnnotationCPUAcceleration = "galera-operator.io/cpu-acceleration"
)
