package restoration

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// rejoining has the backup looked for of the cluster that has taken over, again and again: nothing is removed before it
// is found, nor while it is not certain that the other cluster has all transactions of this one.
func rejoining(r *v1alpha1.ReseedStatus, f ReseedFacts) ReseedAct {
	if why := notRejoined(f); why != "" {
		r.Phase, r.Claims, r.Acknowledged, r.AttemptedAt = v1alpha1.ReseedChecking, nil, false, nil
		r.Message = shortMessage(why + ": nothing is removed before")
		return ReseedWait
	}
	o := f.Check
	found := missing(f)
	switch {
	case f.Blocker.Reason != "":
		r.Message, r.AttemptedAt = shortMessage(f.Blocker.Message), nil
		return ReseedWait
	case o.Done && found == "":
		empty(r, f)
		return ReseedWait
	case o.Done:
		r.Attempts++
		r.AttemptedAt, r.Message = new(metav1.NewTime(f.Now)), shortMessage(found+"; it is looked for again")
		return ReseedWait
	case o.Waits != "":
		r.Message, r.AttemptedAt = shortMessage(o.Waits), nil
	case r.AttemptedAt == nil:
		r.Message = checkingSource(f.Cluster)
	}
	if !o.Exists && pauseAfter(int(min(r.Attempts, 2)), r.AttemptedAt, f.Now) <= 0 { // it may be made at any moment
		return ReseedCheck
	}
	return ReseedWait
}

// missing is why there is nothing to begin with, "" where there is.
func missing(f ReseedFacts) string {
	switch o := f.Check; {
	case o.Result.Error != "":
		return o.Result.Error
	case o.Result.Backup == nil || o.Result.Replay == nil:
		return "no backup was found from which the archive leads on"
	case location.Changed(o.Location, f.Source.Store) != "":
		return "the store was changed while the backup was looked for"
	}
	return cmp.Or(f.Source.Exchanged(f.Check.Result.Backup), f.Source.FoundDamaged(f.Check.Result.Backup))
}

// notRejoined is why a cluster that another one has taken over from is not emptied to follow that one, "" if it is.
// Before it was recorded, the token's transaction was shown to be the same one in both, or all that the archive has is
// of the line of history that is recorded; and all nodes of this one, and its archive, have to end with it now.
func notRejoined(f ReseedFacts) string {
	c, s, by := f.Cluster, f.Cluster.Status.SwitchSite, f.Cluster.Status.Superseded
	of := c.Spec.ReplicaOf.Cluster
	switch {
	case by.ID != c.Spec.ReplicaOf.Replaces:
		return fmt.Sprintf("by now another takeover counts: status.superseded is %s, of %s/%s, and not "+
			"spec.replicaOf.replaces, %s. Remove spec.replicaOf, or name that one", by.ID, by.Namespace, by.Name,
			c.Spec.ReplicaOf.Replaces)
	case s == nil || s.Phase != v1alpha1.SwitchTaken || s.Token == nil || s.Token.To != by.UID ||
		s.Token.GTID != by.GTID || recordOf(s.Token) != by.ID:
		return "the other cluster has not taken over with status.switchSite.token, so that it may lack transactions: " +
			"create this one anew"
	case cmp.Or(of.Namespace, c.Namespace) != by.Namespace || cmp.Or(of.Name, c.Name) != by.Name || of.UID != by.UID:
		return fmt.Sprintf("spec.replicaOf.cluster has to name the cluster that has taken over: %s/%s, with the uid %s",
			by.Namespace, by.Name, by.UID)
	case uncountable(s, by):
		return "an earlier release of the operator has recorded that the other cluster has taken over, and has not shown " +
			"that both have the same transactions: this one may have some that the other one lacks. Compare the two, then " +
			"delete this cluster and its claims, and create it anew without spec.replicaOf.replaces"
	case by.Surplus == nil || by.CountedBy != v1alpha1.CountedByContent && by.CountedBy != v1alpha1.CountedByLines:
		return cmp.Or(s.Message, "how much this cluster has that the other one lacks is not known yet")
	case *by.Surplus > 0:
		return fmt.Sprintf("the other cluster lacks %s that this one has after %s",
			galera.Count(*by.Surplus, "transaction"), by.GTID)
	case !c.ArchivesBinlog(): // what is known of the nodes and the archive is of before
		return "the archiver has to show that the archive ends with that: enable spec.backup.pointInTime"
	case s.Ends == "" || s.EndsGeneration != c.Generation: // a node may have written before it was asked for again
		return cmp.Or(s.Message, "with which transaction all nodes end is not known yet")
	case s.Ends != by.GTID:
		return fmt.Sprintf("all nodes end at %s, and the other cluster has everything up to %s alone", s.Ends, by.GTID)
	case c.Spec.Cutover != nil: // of before: it would take over as soon as it follows
		return "spec.cutover is of the time before: remove it, also from the manifest"
	case c.AtRest() != nil:
		return "a cluster with spec.encryption is not filled anew: create it anew"
	case c.Spec.Hibernate:
		return "the cluster is hibernated: set spec.hibernate to false"
	case f.Set == nil:
		return "the cluster has no StatefulSet"
	case f.Blocker.Reason == "" && (s.Location == nil || location.Changed(s.Location, f.Source.Store) != ""):
		return "spec.replicaOf.storeRef names another store than the one in which the other cluster has taken over"
	}
	return ""
}

// uncountable reports whether it never becomes known what a cluster lacks that has taken over: the record does not show
// it, or the archive, which was read, does not have the line of history that is recorded.
func uncountable(s *v1alpha1.SwitchSiteStatus, by *v1alpha1.SupersededStatus) bool {
	return by.CountedBy == v1alpha1.CountedByNothing ||
		by.CountedBy == v1alpha1.CountedByLines && by.Surplus == nil && s.Ends != ""
}

// After is the transaction with which the cluster that has taken over has begun, "" for a cluster that does not follow
// one which has taken over from it: what that one has archived before is of an earlier time.
func After(c *v1alpha1.GaleraCluster) string {
	s := c.Status.SwitchSite
	if s == nil || s.Token == nil || !v1alpha1.Rejoins(c) && v1alpha1.Replaced(c) == "" {
		return ""
	}
	return s.Token.GTID
}

// recordOf is the id of the record that is made with a token.
func recordOf(t *v1alpha1.SwitchToken) string {
	return task.Promotion{Number: uint64(t.Number), UID: t.To}.ID() //nolint:gosec // records are counted from one on
}

// forget makes the cluster another one: its nodes write in a GTID domain that none of its data are in. Its archive, if
// it is to have one again, begins anew; what the window of the one before needs stays known. That another one has taken
// over from it is over.
func forget(to *v1alpha1.GaleraClusterStatus, c *v1alpha1.GaleraCluster, late time.Time) {
	to.EndedArchive = archival.TurnOff(c, archival.Window(c, nil), time.Time{}, late) // what has passed goes later
	to.Identity = v1alpha1.IdentityAfter(c, to.Reseed.Request)
	to.Superseded, to.Backup, to.WriteLease = nil, nil, ""
}
