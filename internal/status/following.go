package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// followedFacts are what the nodes report of a source.
type followedFacts struct {
	// node runs the channel, "" for none. of is what it reports.
	node string
	of   *agentapi.Following
	// applied is the position of a node, and waiting what the one waits for whose task the channel is.
	applied, waiting string
	// held is where all nodes hold the channel, "" while one does not.
	held string
	// open are the nodes that accept writes, missing those that do not yet, or report nothing. reached reports whether
	// one of those has applied everything, diverged those of them that have done so by what another server has written.
	open, missing, diverged []string
	reached                 bool
	// ends is how often the channel has ended a server where the nodes are.
	ends int
}

func followedOf(in Input) (f followedFacts) {
	held := map[string]int{}
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || r.Following == nil {
			f.missing = append(f.missing, m.Name)
			continue
		}
		held[r.Following.Held]++
		if r.Channel == agentapi.TaskOn {
			f.node, f.of = m.Name, r.Following
		}
		if r.Following.Applied != "" {
			f.applied = r.Following.Applied
		}
		if r.Following.Waiting != "" && (f.node == "" || f.node == m.Name) {
			f.waiting = m.Name + ": " + r.Following.Waiting
		}
		if r.Following.Reached && !r.Following.ReadOnly {
			f.open = append(f.open, m.Name)
		} else {
			f.missing = append(f.missing, m.Name)
			f.reached = f.reached || r.Following.Reached
			if to := in.cluster().Spec.Cutover; to != nil && r.Following.Reached &&
				binlog.Diverged(r.Following.Applied, to.GTID) {
				f.diverged = append(f.diverged, m.Name)
			}
		}
	}
	for _, m := range in.Snapshot.Members {
		if r := in.report(m.Name); r != nil && f.applied != "" && r.ChannelEnds.Position == f.applied {
			f.ends += r.ChannelEnds.Ends
		}
	}
	for at, nodes := range held {
		if nodes == len(in.Snapshot.Members) {
			f.held = at
		}
	}
	return f
}

// followingStatus is how far the cluster is. Once it was independent it stays so: a node decides by its own position.
func followingStatus(in Input, before *v1alpha1.ReplicationStatus) *v1alpha1.ReplicationStatus {
	c := in.cluster()
	if c.Source() == nil || before != nil && before.Role == v1alpha1.RoleIndependent {
		return unstreamed(before)
	}
	f := followedOf(in)
	out := &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Node: f.node, Applied: f.applied,
		Source: sourceOf(c, f).String()}
	if f.node == "" && c.Spec.Cutover == nil {
		out.Held = f.held
	}
	if out.Applied == "" && before != nil {
		out.Applied = before.Applied
	}
	if f.of != nil {
		out.Applied = f.of.Applied
		if ch := f.of.Channel; ch != nil {
			out.Received, out.SecondsBehind, out.Error = ch.Received, ch.SecondsBehind, ch.Error
		}
	}
	if r := c.Spec.ReplicaOf; r != nil {
		out.Store, out.SecondsBehind = r.StoreRef.Name, nil // that would be against what was received
		if before != nil {
			out.Archive, out.Promotion = before.Archive, before.Promotion // controllers/galeracluster/serving
			out.Stream = before.Stream.DeepCopy()
		}
		if out.Stream != nil {
			out.Stream.SecondsBehind = nil
			if out.Stream.Connected && f.of != nil && f.of.Channel != nil {
				out.Stream.SecondsBehind = f.of.Channel.SecondsBehind
			}
		}
	}
	if before != nil {
		out.AcceptsAfter = before.AcceptsAfter
	}
	if c.TakesOver() && !c.Emptying() {
		out.AcceptsAfter = c.Spec.Cutover.GTID
	}
	out.Lag = observe.NextLag(c, in.Seen, in.Now)
	if f.node == "" || f.of.Waiting != "" {
		out.Waiting = clip(f.waiting, 1024)
	}
	if c.Spec.Cutover != nil && len(f.missing) == 0 && len(f.open) > 0 {
		out.Role, out.Node, out.SecondsBehind, out.Error = v1alpha1.RoleIndependent, "", nil, ""
		return unstreamed(out)
	}
	return out
}

// unstreamed is the status of a cluster that follows nothing any more: nothing is streamed to it, and it is behind
// nothing.
func unstreamed(r *v1alpha1.ReplicationStatus) *v1alpha1.ReplicationStatus {
	if r == nil || r.Stream == nil && r.Lag == nil {
		return r
	}
	r = r.DeepCopy()
	r.Stream, r.Lag = nil, nil
	return r
}

// sourceOf is the source that the channel was opened with, else the last one that is known.
func sourceOf(c *v1alpha1.GaleraCluster, f followedFacts) v1alpha1.ExternalHost {
	if f.of != nil && f.of.Channel != nil {
		for _, h := range c.Source().Hosts() {
			if h.String() == f.of.Channel.Source {
				return h
			}
		}
	}
	return c.Followed()
}

// setFollowing sets the condition until the cluster is independent.
func setFollowing(status *v1alpha1.GaleraClusterStatus, in Input, set func(kind string, v condition)) {
	if in.cluster().Source() == nil || status.Replication != nil && status.Replication.Role == v1alpha1.RoleIndependent {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionFollowing)
		return
	}
	set(v1alpha1.ConditionFollowing, following(in))
}

// following is True while transactions of the source are received and applied.
func following(in Input) condition {
	v := channelState(in)
	if r := in.cluster().Status.Replication; v.status != metav1.ConditionTrue && r != nil && r.Archive != nil &&
		r.Archive.Message != "" {
		v.message += ". The archive is not served: " + r.Archive.Message
	}
	return v
}

// followedName is what is followed, in words for people.
func followedName(c *v1alpha1.GaleraCluster, f followedFacts) string {
	if c.Spec.ReplicaOf != nil {
		return c.FollowedName()
	}
	return sourceOf(c, f).Host
}

// written is what a cluster applies.
func written(c *v1alpha1.GaleraCluster, f followedFacts) string {
	if c.Spec.ReplicaOf != nil {
		return "what is in " + c.FollowedName()
	}
	return "what " + followedName(c, f) + " writes"
}

// holding is what a cluster waits for whose nodes hold the channel.
func holding(c *v1alpha1.GaleraCluster, f followedFacts) string {
	position, until, _ := strings.Cut(f.held, "@")
	if c.Spec.ReplicaOf != nil {
		return "no node applies more of " + c.FollowedName() + " than " + position + ", with which this cluster takes over"
	}
	at := "at " + position
	if position == agentapi.HoldNow {
		at = "where they are"
	}
	return "no node applies " + written(c, f) + ", until it is compared with the nodes, or until " + until +
		". They stop " + at
}

func channelState(in Input) condition {
	c, f := in.cluster(), followedOf(in)
	source := followedName(c, f)
	switch {
	case v1alpha1.HoldsAtCutover(c) && f.node == "":
		return no(v1alpha1.ReasonCuttingOver, "no node accepts writes yet: "+unrecorded(c))
	case c.Spec.Cutover != nil && f.node == "" && (len(f.open) > 0 || f.reached):
		return no(v1alpha1.ReasonCuttingOver, cuttingOver(f))
	case f.node == "" && f.held != "":
		return no(v1alpha1.ReasonChannelHeld, holding(c, f))
	case f.node == "" && f.waiting != "":
		return no(v1alpha1.ReasonChannelStarting, "no node applies "+written(c, f)+". "+f.waiting)
	case f.node == "":
		return no(v1alpha1.ReasonChannelStarting, "no node applies "+written(c, f)+" yet")
	}
	ch := f.of.Channel
	switch {
	case ch == nil:
		return no(v1alpha1.ReasonChannelStarting, f.node+" is about to connect to "+source)
	case ch.Error != "" && (!ch.Applying || !ch.Connected):
		text := fmt.Sprintf("%s does not apply %s (error %d): %s. It has applied everything up to %s, and tries "+
			"again every 10 seconds", f.node, written(c, f), ch.ErrorNumber, clip(ch.Error, 300), f.of.Applied)
		if f.of.Waiting != "" {
			text += ". " + f.of.Waiting
		}
		return no(v1alpha1.ReasonChannelStopped, text)
	case !ch.Applying || !ch.Connected:
		return no(v1alpha1.ReasonChannelStarting, f.node+" is about to connect to "+source)
	}
	return yes(v1alpha1.ReasonFollowing, f.node+" applies "+written(c, f)+". No node accepts writes of clients")
}

// cuttingOver names the nodes that accept writes, those that do not, and what they wait for.
func cuttingOver(f followedFacts) string {
	text := "no node accepts writes yet"
	if len(f.open) > 0 {
		text = "nodes accept writes: " + several(f.open) + "; these do not yet: " + several(f.missing)
	}
	if f.waiting != "" {
		text += ". " + f.waiting
	}
	return text
}

// caughtUp reports whether a channel runs that has nothing left to apply: servers have ended, and not by what follows.
func (f followedFacts) caughtUp() bool {
	if f.of == nil || f.of.Channel == nil {
		return false
	}
	ch := f.of.Channel
	return ch.Connected && ch.Applying && samePosition(ch.Received, f.of.Applied) &&
		ch.SecondsBehind != nil && *ch.SecondsBehind == 0
}

// samePosition reports whether two positions are one, in whatever order their domains are.
func samePosition(a, b string) bool {
	one, other := strings.Split(a, ","), strings.Split(b, ",")
	slices.Sort(one)
	slices.Sort(other)
	return slices.Equal(one, other)
}

// fatalEnds is how many servers have to end with the channel at one position before a person is asked.
const fatalEnds = 3

// channelProblem reports a channel that does not go on by itself.
func channelProblem(in Input) *validate.Problem {
	c := in.cluster()
	if r := c.Status.Replication; c.Source() == nil || c.Emptying() || r != nil && r.Role == v1alpha1.RoleIndependent {
		return nil
	}
	f := followedOf(in)
	source := followedName(c, f)
	if f.ends >= fatalEnds && !f.caughtUp() {
		return blocking(v1alpha1.ReasonChannelFatal, fmt.Sprintf("servers have ended %d times as soon as they applied what "+
			"follows %s of %s, and the channel is opened every 30 minutes at most. Find that transaction in the source's "+
			"binary log with mariadb-binlog, and in the nodes' logs why they end. If its like cannot be avoided, create a "+
			"new cluster from the source, which copies what the transaction has written", f.ends, f.applied, source))
	}
	if c.TakesOver() && len(f.open) == 0 && binlog.Diverged(f.applied, c.Spec.Cutover.GTID) {
		return blocking(v1alpha1.ReasonCutoverDiverged, diverged(c, f.applied)+". No node accepts writes"+withApplied(c))
	}
	if c.TakesOver() && len(f.open) > 0 && len(f.diverged) > 0 {
		return blocking(v1alpha1.ReasonCutoverDiverged, divergedOpen(c, f))
	}
	if why := archiveRefuses(c, f); why != "" {
		return blocking(v1alpha1.ReasonArchiveRefused, why)
	}
	if f.of != nil && f.of.Channel != nil && f.of.Channel.ErrorNumber == errLogMissing &&
		strings.Contains(f.of.Channel.Error, "purged") && len(f.open) == 0 && c.Spec.ReplicaOf == nil {
		return blocking(v1alpha1.ReasonSourcePurged, purged(c, source, f.of.Applied))
	}
	return nil
}

// divergedOpen is what to do with a cluster of which only some nodes have accepted writes, as an earlier build had them
// do. The writes of clients since then are nowhere else.
func divergedOpen(c *v1alpha1.GaleraCluster, f followedFacts) string {
	text := fmt.Sprintf("%s, which would lack what clients have written to this one. Nodes accept writes: %s; these do "+
		"not, and will not by themselves: %s", diverged(c, f.applied), several(f.open), several(f.diverged))
	if c.Spec.ReplicaOf != nil && !c.Spec.Cutover.WithoutRecord {
		text += ". Where they are to go on with what there is, no node accepts writes until that is recorded in the store"
	}
	return text + withApplied(c)
}

// archiveRefuses is why the archive does not go on from where the cluster is, "" where it does, or may do so again.
func archiveRefuses(c *v1alpha1.GaleraCluster, f followedFacts) string {
	if c.Spec.ReplicaOf == nil || f.of == nil || f.of.Channel == nil || len(f.open) > 0 ||
		f.of.Channel.ErrorNumber != errLogMissing {
		return ""
	}
	_, why, refused := strings.Cut(f.of.Channel.Error, task.Refused)
	if !refused {
		return ""
	}
	text := fmt.Sprintf("%s does not go on from %s: %s. ", c.FollowedName(), f.applied, clip(strings.TrimRight(why, "'. "),
		300))
	switch to, of := c.Spec.Cutover, c.Spec.ReplicaOf.Cluster; {
	case to != nil && to.UID != "" && !c.TakesOver() && !c.OwnCutover():
		return text + "To follow, create this one anew without spec.cutover" + withApplied(c)
	case to != nil && to.Token != nil:
		return text + fmt.Sprintf("Have the other cluster go on (kubectl galera switch-site %s -n %s --back), then delete "+
			"this one and its claims, and create it anew without spec.cutover", cmp.Or(of.Name, c.Name),
			cmp.Or(of.Namespace, c.Namespace))
	case to != nil:
		return text + giveUp(c, f.applied)
	}
	return text + "Begin anew with a later backup: no application has written to this cluster. " + anew(c) +
		". If this cluster is to take over now, with what it has: " + giveUp(c, f.applied)
}

// giveUp names what ends a cutover where the cluster is.
func giveUp(c *v1alpha1.GaleraCluster, applied string) string {
	return fmt.Sprintf("To give up what is missing, set spec.cutover.gtid to %s, and spec.cutover.uid to %s, which is "+
		"final%s", applied, v1alpha1.RequestUID(c), unlearned(c))
}

// purged names what can be done without what the source has deleted. A cluster that is being cut over may accept writes
// on a node that does not answer: it is not to be deleted.
func purged(c *v1alpha1.GaleraCluster, host, applied string) string {
	text := fmt.Sprintf("%s has deleted what follows %s of its binary log: the cluster cannot go on from there. ", host,
		applied)
	if len(c.Source().Alternatives) > 0 {
		text += "Its alternatives are tried next, each for half a minute at least, again and again: wait until each has " +
			"been tried. "
	}
	switch {
	case c.TakesOver(), v1alpha1.HoldsAtCutover(c):
		return text + giveUp(c, applied)
	case c.Spec.Cutover != nil: // it may be another cluster's, and cannot be removed
		return text + fmt.Sprintf("Let it keep its binary log for longer than a copy takes (expire_logs_days), and create "+
			"the cluster anew, without spec.cutover, which is not obeyed; no application has written to this one. %s. "+
			"If it is to take over now, with what it has: end the writes of %s, then: %s", anew(c), host,
			patchCutover(c, ownFields(c, applied)))
	}
	return text + fmt.Sprintf("Let it keep its binary log for longer than a copy takes (expire_logs_days), and have it "+
		"copied again, to new volumes; no application has written to this cluster: kubectl annotate galeracluster %s -n %s "+
		"--overwrite %s=%s@$(date +%%s)", c.Name, c.Namespace, v1alpha1.AnnotationReseed, v1alpha1.ReseedPurged)
}

// anew is how a cluster begins again that no application has written to.
func anew(c *v1alpha1.GaleraCluster) string {
	return fmt.Sprintf("With its manifest at hand: kubectl delete galeracluster %[2]s -n %[1]s; "+
		"kubectl delete pvc --wait=false -n %[1]s -l %[3]s=%[2]s; "+
		"kubectl wait --for=delete pvc --timeout=10m -n %[1]s -l %[3]s=%[2]s; kubectl apply -f MANIFEST", c.Namespace, c.Name,
		v1alpha1.LabelCluster)
}

// errLogMissing is the number of the error with which a source refuses a position.
const errLogMissing = 1236

// open reports whether a node accepts writes that follows, or has followed, a source.
func open(in Input, member string) bool {
	r := in.report(member)
	return r != nil && r.Following != nil && r.Following.Reached && !r.Following.ReadOnly
}
