package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SwitchSiteSpec names the cluster at another site that is to take over, without loss.
type SwitchSiteSpec struct {
	// to is the cluster that is to take over: one that follows this one (spec.replicaOf). It cannot be changed: remove
	// switchSite first.
	// +required
	To SiteCluster `json:"to"`
	// uid is metadata.uid of this very cluster, or status.identity of one that has begun anew to follow another one
	// (spec.replicaOf.replaces): a new one with the same manifest does not refuse writes for it. kubectl galera
	// switch-site sets it.
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
}

// SiteCluster is a GaleraCluster, maybe in another Kubernetes.
type SiteCluster struct {
	// namespace, name and uid are its metadata's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
}

// Phases of a SwitchSiteStatus.
const (
	// SwitchStopping: nodes are being kept from accepting writes, and the archive from lacking any.
	SwitchStopping = "Stopping"
	// SwitchOffered: the token is there, and the other cluster may take over at any moment.
	SwitchOffered = "Offered"
	// SwitchWithdrawing: the token is being made void in the store.
	SwitchWithdrawing = "Withdrawing"
	// SwitchTakenBack: the token is void, or there was none. Nodes accept writes.
	SwitchTakenBack = "TakenBack"
	// SwitchTaken: a cluster has taken over, as the store has it recorded.
	SwitchTaken = "Taken"
	// SwitchExpired: there was no token in time. Nodes accept writes. Nothing is begun before spec.switchSite is removed.
	SwitchExpired = "Expired"
)

// SwitchSiteStatus is how far it is that another site takes over.
type SwitchSiteStatus struct {
	// number distinguishes the attempts.
	Number int64 `json:"number"`
	// to is the cluster that is to take over. Absent where that is not known any more, because the status was lost.
	// +optional
	To SiteCluster `json:"to,omitzero"`
	// phase is Stopping, Offered (the token is there), Withdrawing (it is being made void in the store), TakenBack, Taken
	// or Expired (there was no token in time, and nodes accept writes). Nodes refuse the writes of clients in the first
	// three. As Taken they do as status.superseded says.
	// +kubebuilder:validation:Enum=Stopping;Offered;Withdrawing;TakenBack;Taken;Expired
	Phase string `json:"phase"`
	// startedAt is when the attempt has begun.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// from is metadata.uid of this cluster when the attempt began: a token is used, or taken back, in the archive of that
	// resource. Absent where that is not known.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	From string `json:"from,omitempty"`
	// location is where the store was when the attempt began: the token is used, or taken back, there and nowhere else.
	// +optional
	Location *StoreLocation `json:"location,omitempty"`
	// token is what the other cluster takes over with. Absent while there is none.
	// +optional
	Token *SwitchToken `json:"token,omitempty"`
	// ends is the transaction with which all nodes end, and the archive, while the cluster is to follow the one that has
	// taken over (spec.replicaOf.replaces). Absent while that is not known.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Ends string `json:"ends,omitempty"`
	// endsGeneration is the metadata.generation for which ends was determined. What was known before a change of the spec
	// does not count.
	// +optional
	EndsGeneration int64 `json:"endsGeneration,omitempty"`
	// message is what is waited for. Absent for nothing.
	// +optional
	Message string `json:"message,omitempty"`
}

// SwitchToken states that a cluster accepts no writes, and that the archive has everything up to a transaction.
type SwitchToken struct {
	// number of the record in the store that the other cluster makes to take over. The cluster that has given the token
	// makes it instead when that is taken back: there is one such record.
	// +required
	// +kubebuilder:validation:Minimum=1
	Number int64 `json:"number"`
	// gtid is the last transaction.
	// +required
	// +kubebuilder:validation:MinLength=5
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]{0,9})-(0|[1-9][0-9]{0,9})-[1-9][0-9]{0,18}$`
	GTID string `json:"gtid"`
	// segment is the number of the archive's last segment, and checksum that of its head: both clusters have to use one
	// store.
	// +required
	// +kubebuilder:validation:Minimum=1
	Segment int64 `json:"segment"`
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=128
	Checksum string `json:"checksum"`
	// from and to are the UIDs of the clusters.
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=64
	From string `json:"from"`
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=64
	To string `json:"to"`
}

// SwitchNumber is the number of the attempt for which nodes report where they end, as all refuse writes; 0 for none.
func (c *GaleraCluster) SwitchNumber() int64 {
	s := c.Status.SwitchSite
	if c.Switching() || s != nil && s.Phase == SwitchTaken && Rejoins(c) {
		return s.Number
	}
	return 0
}

// Switching reports whether all nodes refuse the writes of clients, because another site is to take over.
func (c *GaleraCluster) Switching() bool { return c.Status.SwitchSite.Closed() }

// Closed reports whether nodes refuse the writes of clients.
func (s *SwitchSiteStatus) Closed() bool {
	return s != nil && (s.Phase == SwitchStopping || s.Phase == SwitchOffered || s.Phase == SwitchWithdrawing)
}
