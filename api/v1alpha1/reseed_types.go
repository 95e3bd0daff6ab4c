package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Values of the annotation AnnotationReseed before the @.
const (
	// ReseedPurged copies the source again only if it has deleted what the cluster needs next (SourcePurged).
	ReseedPurged = "purged"
	// ReseedAlways copies it again in any case.
	ReseedAlways = "always"
)

// Phases of a ReseedStatus.
const (
	// ReseedChecking: the source is being checked, and nothing was removed.
	ReseedChecking = "Checking"
	// ReseedEmptying: pods and volumes are being removed.
	ReseedEmptying = "Emptying"
	// ReseedCopying: the source is being copied, as to a new cluster.
	ReseedCopying = "Copying"
	// ReseedCompleted: the copy is complete.
	ReseedCompleted = "Completed"
	// ReseedRefused: nothing was done.
	ReseedRefused = "Refused"
	// ReseedCancelled: the annotation was removed, or changed, before anything was removed.
	ReseedCancelled = "Cancelled"
)

// ReseedStatus is how far a cluster is whose source is copied again, or that begins anew to follow the one that has
// taken over from it.
type ReseedStatus struct {
	// request is the value of the annotation galera-operator.io/reseed, or of spec.replicaOf.replaces, that is met, or was
	// last.
	// +kubebuilder:validation:MaxLength=128
	Request string `json:"request"`
	// phase is Checking until nothing keeps the source from being copied, Emptying while pods and volumes are removed,
	// Copying while the source is copied, then Completed; Refused if nothing was done, Cancelled if the annotation, or
	// spec.replicaOf, was removed before anything was.
	// +kubebuilder:validation:Enum=Checking;Emptying;Copying;Completed;Refused;Cancelled
	Phase string `json:"phase"`
	// attempts is how many checks of the source have failed, or found something, and attemptedAt when the last one did.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// +optional
	AttemptedAt *metav1.Time `json:"attemptedAt,omitempty"`
	// startedAt is when the request was met, or refused.
	// +optional
	StartedAt metav1.Time `json:"startedAt,omitzero"`
	// completedAt is when the copy was complete.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// acknowledged reports whether the nodes are left alone: nothing is removed before.
	// +optional
	Acknowledged bool `json:"acknowledged,omitempty"`
	// claims are those of the volumes that are removed.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Claims []ReseededClaim `json:"claims,omitempty"`
	// message describes what is waited for, or why nothing was done.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// ReseededClaim is a claim by its name and UID: another one of the name is not removed.
type ReseededClaim struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Reseeding reports whether the source of the cluster is being copied again: there is nothing to decide for its nodes.
func (c *GaleraCluster) Reseeding() bool {
	return c.Emptying() || c.Status.Reseed != nil && c.Status.Reseed.Phase == ReseedCopying
}

// Emptying reports whether the volumes of the cluster are being removed, so that its source is copied again.
func (c *GaleraCluster) Emptying() bool {
	return c.Status.Reseed != nil && c.Status.Reseed.Phase == ReseedEmptying
}

// Replaced returns the id of the promotion after which the cluster was emptied, so that it follows the one that has
// taken over; "" for none.
func (r *ReseedStatus) Replaced() string {
	if r == nil || r.Phase != ReseedCopying && r.Phase != ReseedCompleted || strings.Contains(r.Request, "@") {
		return "" // a value of the annotation names a time
	}
	return r.Request
}
