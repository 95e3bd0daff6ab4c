package status

import (
	"fmt"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// unrecorded is what keeps a cluster from accepting writes that is to take over.
func unrecorded(c *v1alpha1.GaleraCluster) string {
	var p v1alpha1.PromotionRecord
	if r := c.Status.Replication; r != nil && r.Promotion != nil {
		p = *r.Promotion
	}
	switch {
	case p.LostTo != "":
		return fmt.Sprintf("%s has taken over from %s before, at %s", p.LostTo, c.FollowedName(), p.GTID)
	case p.Message != "":
		return "the store has no record that this cluster takes over, because " + p.Message
	}
	return "it is being recorded in the store that this cluster takes over"
}

// promotionRefused reports a cluster that cannot take over by itself.
func promotionRefused(in Input) *validate.Problem {
	c := in.cluster()
	r := c.Status.Replication
	if c.Spec.Cutover == nil || c.TakesOver() || r == nil || r.Promotion == nil {
		return nil
	}
	without := fmt.Sprintf("kubectl patch galeracluster %s -n %s --type=merge -p '{\"spec\":{\"cutover\":"+
		"{\"withoutRecord\":true}}}'", c.Name, c.Namespace)
	switch {
	case r.Promotion.LostTo != "":
		return blocking(v1alpha1.ReasonPromotionLost, unrecorded(c)+". This cluster accepts no writes. Delete it, and create "+
			"it anew if it is to follow that one. If that one is gone for good, have this one take over all the same: "+without)
	case r.Promotion.Message != "":
		return blocking(v1alpha1.ReasonPromotionUnrecorded, unrecorded(c)+". This is tried again: restore the store, or the "+
			"right of its credentials to create objects there. To go on without a record, which "+c.FollowedName()+
			" would find, make sure that nothing writes there any more, then: "+without)
	}
	return nil
}

// refuses reports whether a node is known to refuse writes because another cluster has taken over.
func refuses(in Input, member string) bool {
	r := in.report(member)
	return r != nil && r.Refuses
}

// superseded reports a cluster that another one has taken over from.
func superseded(in Input) *validate.Problem {
	c := in.cluster()
	s := c.Status.Superseded
	if !c.Refuses() {
		return nil
	}
	text := fmt.Sprintf("%s/%s (uid %s) has taken over from this cluster, after the transaction %s", s.Namespace, s.Name,
		s.UID, s.GTID)
	if s.RecordedAt != nil {
		text += ", at " + s.RecordedAt.UTC().Format(time.RFC3339)
	}
	var not []string
	for _, m := range in.Snapshot.Members {
		if !refuses(in, m.Name) {
			not = append(not, m.Name)
		}
	}
	text += ". All nodes refuse the writes of clients"
	if len(not) > 0 {
		text += ", once these do: " + several(not)
	}
	switch {
	case s.Surplus == nil:
		text += ". How much this cluster has that the other one lacks is not known yet"
	case *s.Surplus == 0:
		text += ". The archive has nothing that the other one lacks"
	default:
		text += fmt.Sprintf(". The other one lacks %s that this cluster has after %s: the archive keeps them",
			galera.Count(*s.Surplus, "transaction"), s.GTID)
	}
	return blocking(v1alpha1.ReasonSuperseded, fmt.Sprintf("%s. To follow the other one, delete this cluster, and create it "+
		"anew with spec.replicaOf. To go on with this one, stop the other one first, then: kubectl patch galeracluster "+
		"%s -n %s --type=merge -p '{\"spec\":{\"overrulesPromotion\":\"%s\"}}'", text, c.Name, c.Namespace, s.ID))
}
