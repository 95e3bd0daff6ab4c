package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// unrecorded is what keeps a cluster from accepting writes that is to take over.
func unrecorded(c *v1alpha1.GaleraCluster) string {
	var p v1alpha1.PromotionRecord
	if r := c.Status.Replication; r != nil && r.Promotion != nil {
		p = *r.Promotion
	}
	_, why := Recordable(c)
	switch {
	case p.Withdrawn:
		return "spec.cutover.token is void: the cluster that has given it has taken it back, and accepts writes"
	case why != "":
		return why
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
	if c.Spec.Cutover == nil {
		return cmp.Or(orphaned(c), replacedUnknown(c))
	}
	if c.TakesOver() {
		return cutOff(c)
	}
	if _, why := Recordable(c); why != "" {
		return blocking(v1alpha1.ReasonPromotionUnrecorded, why)
	}
	without := patchCutover(c, `"withoutRecord":true`)
	var p v1alpha1.PromotionRecord
	if r != nil && r.Promotion != nil {
		p = *r.Promotion
	}
	switch {
	case p.Withdrawn:
		return blocking(v1alpha1.ReasonSwitchWithdrawn, unrecorded(c)+". This cluster accepts no writes, and goes on "+
			"following once spec.cutover is removed: "+fmt.Sprintf(`kubectl patch galeracluster %s -n %s --type=merge `+
			`-p '{"spec":{"cutover":null}}'`, c.Name, c.Namespace))
	case p.LostTo != "":
		return blocking(v1alpha1.ReasonPromotionLost, unrecorded(c)+". This cluster accepts no writes. Delete it and its "+
			"claims, and create it anew if it is to follow that one. If that one is gone for good, have this one take over "+
			"all the same: "+without)
	case p.Message != "" && c.Spec.Cutover.Token != nil:
		return blocking(v1alpha1.ReasonPromotionUnrecorded, unrecorded(c)+". To give it up, take it back at the other "+
			"cluster, which accepts no writes (kubectl galera switch-site NAME --back), then remove spec.cutover here. If that "+
			"one is lost for good, have this one take over all the same: "+without)
	case p.Message != "":
		return blocking(v1alpha1.ReasonPromotionUnrecorded, unrecorded(c)+". To go on without a record, which "+
			c.FollowedName()+" would find, make sure that nothing writes there any more, then: "+without)
	case c.Status.Restore == nil && c.Status.ClusterUUID != "": // nothing is recorded, or not with spec.cutover.gtid
		return blocking(v1alpha1.ReasonPromotionUnrecorded, "whether it is recorded that this cluster takes over is not "+
			"known: its status was lost, with which archive it has followed (status.restore). This cluster accepts no "+
			"writes. Make sure that "+c.FollowedName()+" accepts none any more, and no other cluster has taken over from it, "+
			"then have this one take over with what it has: "+without)
	}
	return nil
}

// Recordable reports whether it may be recorded that the cluster takes over: all writes to the one that is followed end
// then. why is what is wrong with spec.cutover; without it, what the cluster can have is not known yet.
func Recordable(c *v1alpha1.GaleraCluster) (ok bool, why string) {
	to, r := c.Spec.Cutover, c.Status.Replication
	if to == nil || c.TakesOver() {
		return true, ""
	}
	if c.Spec.ReplicaOf == nil {
		return false, notObeyed(c)
	}
	if whose := foreign(c); whose != "" && to.UID == "" {
		return false, fmt.Sprintf("%s. To follow, create this one anew without spec.cutover%s. If this one is to take over, "+
			"once it has applied everything up to %s: %s", whose, unlearned(c), to.GTID, patchCutover(c, ownFields(c, "")))
	} else if whose != "" {
		return false, whose + ". To follow, create it anew without spec.cutover" + withApplied(c)
	}
	if to.Token != nil {
		if Withdrawn(c) {
			return false, ""
		}
		return tokenOf(c)
	}
	if of := c.Status.Restore; of != nil && of.Replay != nil {
		began, err := binlog.Parse(of.Replay.Reached)
		at, _ := binlog.In(to.GTID, began.Domain)
		ofBefore := at.Seq != 0 || v1alpha1.Replaced(c) != "" // what it had followed earlier is in its data, too
		if err == nil && ofBefore && at.Seq < began.Seq {
			return false, fmt.Sprintf("spec.cutover.gtid, %s, is from before %s, with which this cluster has begun. To follow, "+
				"create it anew without spec.cutover%s", to.GTID, of.Replay.Reached, withApplied(c))
		}
	}
	switch {
	case r == nil:
		return false, ""
	case binlog.Diverged(r.Applied, to.GTID):
		return false, diverged(c, r.Applied) + withApplied(c)
	case reachable(to.GTID, r):
		return true, ""
	case r.Applied == "" || r.Archive == nil || r.Archive.GTID == "":
		return false, ""
	}
	return false, fmt.Sprintf("spec.cutover.gtid, %s, is later than the end of %s, %s, and than what this cluster has, "+
		"%s: neither cluster would accept writes if it were recorded. That is waited for%s", to.GTID, c.FollowedName(),
		r.Archive.GTID, r.Applied, withApplied(c))
}

// diverged is what is wrong with a last position that another server has written than what was applied.
func diverged(c *v1alpha1.GaleraCluster, applied string) string {
	return fmt.Sprintf("this cluster has applied %s, and spec.cutover.gtid is %s, which another server has written, as "+
		"one that was promoted without the last transactions of the one before: whether this cluster has what is before "+
		"that is not known. To have it, create a new cluster from the server with %[2]s", applied, c.Spec.Cutover.GTID)
}

// foreign is why spec.cutover is taken for that of another cluster, "" where it is this one's.
func foreign(c *v1alpha1.GaleraCluster) string {
	to := c.Spec.Cutover
	switch {
	case c.OwnCutover():
		return ""
	case to.UID == "":
		return "spec.cutover has no uid: it may be that of another cluster, which has had the same manifest"
	case v1alpha1.BegunAnew(c):
		return fmt.Sprintf("spec.cutover is of the time before this cluster has begun anew to follow another one "+
			"(spec.replicaOf.replaces), or of another cluster: its uid is %q, and status.identity is %s", to.UID,
			c.Status.Identity)
	}
	return fmt.Sprintf("spec.cutover is that of another cluster, which has had the same manifest: its uid is %q, and "+
		"this cluster's is %s", to.UID, c.UID)
}

// notObeyed is what is wrong with the cutover of a cluster that follows a server, and how it takes over. The position
// that it has goes on, and would change the message each time.
func notObeyed(c *v1alpha1.GaleraCluster) string {
	to, r, text, host := c.Spec.Cutover, c.Status.Replication, foreign(c), c.Followed().Host
	own := patchCutover(c, ownFields(c, ""))
	if v1alpha1.HoldsAtCutover(c) && c.Status.ClusterUUID != "" {
		return fmt.Sprintf("%s. Whether nodes have accepted writes is not known, as the cluster's status was lost: no node "+
			"accepts any, or applies more than %s. If this cluster has taken over before: %s. If it has not, delete it "+
			"and its claims, and create it anew without spec.cutover", text, to.GTID, own)
	}
	text += ". The cluster goes on following, and no node accepts writes"
	if to.UID == "" && (r == nil || !binlog.Beyond(r.Applied, to.GTID)) {
		text += fmt.Sprintf(". If it is this cluster's, and %s accepts no writes after %s: %s", host, to.GTID, own)
	}
	return text + fmt.Sprintf(". To have it take over with what it has, end the writes of %s, wait until "+
		"status.replication.applied is @@gtid_binlog_pos there, and write that for APPLIED: %s", host,
		patchCutover(c, ownFields(c, "APPLIED")))
}

// ownFields are what makes spec.cutover this cluster's, with its gtid, or with another one. What belongs to the cutover
// of another cluster goes: its token, and where that one's own transactions were.
func ownFields(c *v1alpha1.GaleraCluster, gtid string) string {
	to, fields := c.Spec.Cutover, fmt.Sprintf(`"uid":"%s"`, v1alpha1.RequestUID(c))
	if gtid != "" {
		fields = fmt.Sprintf(`"gtid":"%s",%s`, gtid, fields)
	}
	if foreignOwn(c, gtid) {
		fields += `,"own":null`
	}
	if gtid != "" && to.Token != nil {
		fields += `,"token":null`
	}
	return fields
}

// foreignOwn reports whether spec.cutover.own is of another cluster, or may be: not where a person has a cutover
// without a uid for this cluster's, as it is.
func foreignOwn(c *v1alpha1.GaleraCluster, gtid string) bool {
	to := c.Spec.Cutover
	return to.Own != "" && !c.OwnCutover() && (gtid != "" || to.UID != "")
}

// unlearned is what follows where spec.cutover of another cluster becomes this one's, and nothing is recorded.
func unlearned(c *v1alpha1.GaleraCluster) string {
	if to := c.Spec.Cutover; c.Spec.ReplicaOf == nil || to == nil || !to.WithoutRecord || c.TakesOver() {
		return ""
	}
	return ". If this one takes over, that is not recorded, as spec.cutover.withoutRecord has it, which cannot be taken " +
		"back: the cluster that is followed does not learn of it, and goes on accepting writes. Make sure first that it " +
		"accepts none any more, and never will"
}

// reachable reports whether the cluster has a position, or its archive does.
func reachable(position string, r *v1alpha1.ReplicationStatus) bool {
	for _, one := range strings.Split(position, ",") {
		want, err := binlog.Parse(one)
		if err != nil {
			return false
		}
		have, _ := binlog.In(r.Applied, want.Domain)
		if r.Archive != nil {
			archived, _ := binlog.In(r.Archive.GTID, want.Domain)
			have.Seq = max(have.Seq, archived.Seq)
		}
		if want.Seq > have.Seq {
			return false
		}
	}
	return true
}

// withApplied is how a cluster takes over with what it has, "" while that is not known.
func withApplied(c *v1alpha1.GaleraCluster) string {
	r := c.Status.Replication
	if r == nil || r.Applied == "" {
		return ""
	}
	return unlearned(c) + ". To take over with what it has: " + patchCutover(c, ownFields(c, r.Applied))
}

// patchCutover is a command that sets fields of spec.cutover.
func patchCutover(c *v1alpha1.GaleraCluster, fields string) string {
	return fmt.Sprintf(`kubectl patch galeracluster %s -n %s --type=merge -p '{"spec":{"cutover":{%s}}}'`, c.Name,
		c.Namespace, fields)
}

// refuses reports whether a node is known to refuse writes because another cluster has taken over.
func refuses(in Input, member string) bool {
	r := in.report(member)
	return r != nil && r.Refuses
}

// ReplacedUnknown returns what to do with a cluster that is to follow the one which has taken over from it, and has
// lost whether it was emptied for that: its data may be its own. It returns "" for any other cluster.
func ReplacedUnknown(c *v1alpha1.GaleraCluster) string {
	r := c.Spec.ReplicaOf
	if r == nil || r.Replaces == "" || c.Spec.Cutover != nil || c.Status.ClusterUUID == "" || v1alpha1.Replaced(c) != "" ||
		seededFrom(c, r.Cluster) {
		return ""
	}
	return fmt.Sprintf("whether the data of before %s took over were replaced is not known: the status of this cluster "+
		"and the configuration of its nodes were lost. It accepts no writes. Its data may have transactions that %s/%s "+
		"lacks: compare the two, then delete this cluster and its claims, and create it anew without "+
		"spec.replicaOf.replaces. If the other one is lost for good, make a GaleraBackup of this cluster, and create a new "+
		"one with spec.bootstrapFrom.backup", r.Replaces, cmp.Or(r.Cluster.Namespace, c.Namespace),
		cmp.Or(r.Cluster.Name, c.Name))
}

// seededFrom reports whether the cluster is being filled, or was filled last with the backup of that one.
func seededFrom(c *v1alpha1.GaleraCluster, of v1alpha1.ReplicatedCluster) bool {
	s := c.Status.Restore
	return s != nil && (s.Phase != v1alpha1.RestoreCompleted ||
		s.Directory == manifest.Dir(cmp.Or(of.Namespace, c.Namespace), cmp.Or(of.Name, c.Name), of.UID))
}

// replacedUnknown reports a cluster whose data may be its own, or those of the cluster that has taken over. Of one that
// is superseded that is reported.
func replacedUnknown(c *v1alpha1.GaleraCluster) *validate.Problem {
	if why := ReplacedUnknown(c); why != "" && !c.Superseded() {
		return blocking(v1alpha1.ReasonSuperseded, why)
	}
	return nil
}

// rejoining is what a cluster waits for that is to follow the one which has taken over.
func rejoining(c *v1alpha1.GaleraCluster) string {
	r := c.Status.Reseed
	if r == nil || r.Request != c.Spec.ReplicaOf.Replaces {
		return "that is about to begin"
	}
	return fmt.Sprintf("%s. To take that back, before nodes are removed: kubectl patch galeracluster %s -n %s "+
		`--type=merge -p '{"spec":{"replicaOf":null}}'`, r.Message, c.Name, c.Namespace)
}

// rejoinable is how a cluster comes to follow the one that has taken over.
func rejoinable(c *v1alpha1.GaleraCluster) string {
	s, by := c.Status.SwitchSite, c.Status.Superseded
	if s == nil || s.Phase != v1alpha1.SwitchTaken || by.Surplus == nil || *by.Surplus > 0 {
		return "delete this cluster and its claims, and create it anew with spec.replicaOf"
	}
	return fmt.Sprintf("kubectl galera switch-site %s -n %s --to %s --to-namespace %s --rejoin --identity-secret SECRET",
		c.Name, c.Namespace, by.Name, by.Namespace)
}

// superseded reports a cluster that another one has taken over from.
func superseded(in Input) *validate.Problem {
	c := in.cluster()
	s := c.Status.Superseded
	if !c.Superseded() {
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
		text += ". How much this cluster has that the other one lacks is not known, or not yet: keep its data until you " +
			"have compared them"
	case *s.Surplus == 0:
		text += ". The archive has nothing that the other one lacks"
	default:
		text += fmt.Sprintf(". The other one lacks %s that this cluster has after %s: the archive keeps them",
			galera.Count(*s.Surplus, "transaction"), s.GTID)
	}
	if v1alpha1.Rejoins(c) {
		return blocking(v1alpha1.ReasonSuperseded, text+". It is to be emptied, and to follow the other one: "+rejoining(c))
	}
	also := ""
	if c.Spec.SwitchSite != nil { // it would be begun again if the status were lost
		also = `,"switchSite":null`
	}
	return blocking(v1alpha1.ReasonSuperseded, fmt.Sprintf("%s. To follow the other one: %s. To go on with this one, "+
		"stop the other one first, and each further cluster that has followed this one and is PromotionLost: it would "+
		"take over by itself. Then: kubectl patch galeracluster "+
		"%s -n %s --type=merge -p '{\"spec\":{\"overrulesPromotion\":\"%s\"%s}}'", text, rejoinable(c), c.Name, c.Namespace,
		s.ID, also))
}
