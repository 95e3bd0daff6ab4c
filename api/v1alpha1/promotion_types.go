package v1alpha1

import (
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PromotionRecord is what the store has recorded of which cluster takes over from the one that is followed.
type PromotionRecord struct {
	// id names the record: its number, and the beginning of the UID of the cluster that has taken over. Absent while it
	// is not known which one counts.
	// +optional
	ID string `json:"id,omitempty"`
	// gtid is the last transaction that the cluster has which has taken over.
	// +optional
	GTID string `json:"gtid,omitempty"`
	// recordedAt is when it was recorded.
	// +optional
	RecordedAt *metav1.Time `json:"recordedAt,omitempty"`
	// lostTo is NAMESPACE/NAME of another cluster that has taken over before. This one accepts no writes then.
	// +optional
	LostTo string `json:"lostTo,omitempty"`
	// withdrawn reports whether spec.cutover.token is void: the cluster that has given it accepts writes. This one accepts
	// none, and goes on following once spec.cutover is removed.
	// +optional
	Withdrawn bool `json:"withdrawn,omitempty"`
	// message is what keeps it from being recorded. Absent for nothing.
	// +optional
	Message string `json:"message,omitempty"`
}

// By what SupersededStatus.Surplus is counted.
const (
	// CountedByContent: before it was recorded, the other cluster has shown that gtid is the same transaction here.
	CountedByContent = "Content"
	// CountedByLines: after the last transaction of the line of history that is recorded.
	CountedByLines = "Lines"
	// CountedByNumbers: after gtid, by its number: the other cluster was sent the archive alone.
	CountedByNumbers = "Numbers"
	// CountedByNothing: it cannot be counted. An earlier release has recorded that, which has not compared the two.
	CountedByNothing = "Nothing"
)

// SupersededStatus is another cluster that has taken over from this one, as the store has it recorded. All nodes of
// this one refuse the writes of clients, except those of accounts with READ ONLY ADMIN, until spec.overrulesPromotion.
type SupersededStatus struct {
	// id names the record.
	ID string `json:"id"`
	// namespace, name and uid are those of the cluster that has taken over.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// gtid is the last transaction of this cluster that it has.
	GTID string `json:"gtid"`
	// recordedAt is when it was recorded, by the clock of the other site.
	// +optional
	RecordedAt *metav1.Time `json:"recordedAt,omitempty"`
	// surplus is how many transactions of this cluster follow gtid in its archive, by their numbers: the other cluster
	// lacks them. Absent while it is not known.
	// +optional
	Surplus *int64 `json:"surplus,omitempty"`
	// countedBy is by what surplus is counted: Content (before it was recorded, gtid was shown to be the same transaction
	// in both clusters), Lines (of history, after the one that is recorded), Numbers (the other cluster was sent the
	// archive alone), or Nothing (the record is one of an earlier release, which has not compared the two). Absent until
	// the archiver has read the record.
	// +optional
	// +kubebuilder:validation:Enum=Content;Lines;Numbers;Nothing
	CountedBy string `json:"countedBy,omitempty"`
}

// Superseded reports whether another cluster has taken over, and no person has overruled that.
func (c *GaleraCluster) Superseded() bool {
	s := c.Status.Superseded
	return s != nil && s.ID != c.Spec.OverrulesPromotion
}

// Refuses reports whether all nodes refuse the writes of clients because another cluster has taken over, or is to.
func (c *GaleraCluster) Refuses() bool { return c.Superseded() || c.Switching() }

// OwnCutover reports whether spec.cutover is this cluster's, and not that of one before it with the same manifest. One
// that follows nothing any more has had it.
func (c *GaleraCluster) OwnCutover() bool {
	to := c.Spec.Cutover
	return to != nil && (c.Spec.ReplicaOf == nil && c.Source() == nil || isNamed(c, to.UID))
}

// HoldsAtCutover reports whether nothing after spec.cutover is applied though no node accepts writes after it: it is
// being recorded that the cluster takes over from an archive; or whether one that has followed a server has accepted
// writes is not known, as its status was lost. One that has another cluster's cutover goes on following its server.
func HoldsAtCutover(c *GaleraCluster) bool {
	copied := c.Status.Restore != nil && c.Status.Restore.Phase == RestoreCompleted
	return c.Spec.Cutover != nil && !c.TakesOver() && (c.Spec.ReplicaOf != nil || !copied)
}

// OwnSwitch reports whether spec.switchSite is this cluster's, and not that of one before it with the same manifest.
func OwnSwitch(c *GaleraCluster) bool {
	return c.Spec.SwitchSite != nil && isNamed(c, c.Spec.SwitchSite.UID)
}

// isNamed reports whether a uid in the spec names this cluster, and not one before it with the same manifest, nor this
// one as it was before it has begun anew.
func isNamed(c *GaleraCluster, uid string) bool {
	return uid == string(c.UID) && !BegunAnew(c) || uid != "" && uid == c.Status.Identity
}

// BegunAnew reports whether the cluster was emptied to follow the one that had taken over from it, or is to be.
func BegunAnew(c *GaleraCluster) bool {
	return c.Spec.ReplicaOf != nil && c.Spec.ReplicaOf.Replaces != "" || Replaced(c) != ""
}

// RequestUID returns what spec.cutover.uid has to be for the cluster to take over, and spec.switchSite.uid to have
// another one do so. A request of before, as an older manifest has it, is that of the same resource: a cluster that has
// begun anew goes by its identity, which is new each time.
func RequestUID(c *GaleraCluster) string {
	if BegunAnew(c) {
		return c.Status.Identity
	}
	return string(c.UID)
}

// identities is the name space of the identities of clusters that have begun anew.
var identities = uuid.MustParse("8f0f7c8e-9a0e-4a55-9c39-3f6a8f8a2d11")

// IdentityAfter returns the identity of a cluster that was emptied after a promotion, with the id of its record, to
// follow the one that had taken over. It is always the same one.
func IdentityAfter(c *GaleraCluster, record string) string {
	return uuid.NewSHA1(identities, []byte(string(c.UID)+"/"+record)).String()
}

// Replaced returns the id of the promotion after which the cluster was emptied, so that it follows the one that has
// taken over; "" for none. After a loss of the status its identity shows that, which the nodes have, too.
func Replaced(c *GaleraCluster) string {
	if r := c.Spec.ReplicaOf; r != nil && r.Replaces != "" && c.Status.Identity == IdentityAfter(c, r.Replaces) {
		return r.Replaces
	}
	return c.Status.Reseed.Replaced()
}

// TakesOver reports whether nodes may accept writes once they have applied everything up to spec.cutover: a cluster
// that has followed an archive is recorded in the store first. What is recorded stays so, whatever becomes of the rest
// of spec.cutover; and so does a cluster that has begun to take over from a server.
func (c *GaleraCluster) TakesOver() bool {
	to, r := c.Spec.Cutover, c.Status.Replication
	switch {
	case to == nil:
		return false
	case (c.Spec.ReplicaOf == nil || to.WithoutRecord) && c.OwnCutover():
		return true
	case r == nil:
		return false
	case r.Role == RoleIndependent, r.AcceptsAfter == to.GTID, c.Spec.ReplicaOf == nil && r.AcceptsAfter != "":
		return true
	}
	return r.Promotion != nil && r.Promotion.ID != "" && r.Promotion.LostTo == "" && !r.Promotion.Withdrawn &&
		r.Promotion.GTID == to.GTID
}
