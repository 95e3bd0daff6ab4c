package observe

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// LagPatience is how long it may be unknown how far a cluster is behind, as while the channel moves to another node,
// and how long one that was too far behind has to be back. A channel that has just connected is at 0 for a moment.
const LagPatience = 15 * time.Second

// MaxLag is spec.readOnlyService.maxLag of a cluster that follows, nil where it does not count.
func MaxLag(c *v1alpha1.GaleraCluster) *time.Duration {
	if limit := c.Spec.ReadOnlyService.MaxLag; limit != nil && c.Follows() {
		return &limit.Duration
	}
	return nil
}

// Patience is LagPatience, or the limit if that is shorter.
func Patience(limit time.Duration) time.Duration { return min(LagPatience, limit) }

// Behind reports whether the data of all nodes are older than spec.readOnlyService.maxLag allows, or may be.
func Behind(c *v1alpha1.GaleraCluster, seen map[string]Seen, now time.Time) bool {
	lag := NextLag(c, seen, now)
	return lag != nil && lag.Exceeded
}

// NextLag is where a cluster stands by its limit now, nil without one. All nodes have the same data, so that it is
// about all of them. It is over the limit at once, or when it was not known for long; and back when it was within half
// of it for as long.
func NextLag(c *v1alpha1.GaleraCluster, seen map[string]Seen, now time.Time) *v1alpha1.LagStatus {
	limit := MaxLag(c)
	if limit == nil {
		return nil
	}
	behind, unknown := Lag(c, seen, now)
	before := lagBefore(c, *limit, now)
	after := &v1alpha1.LagStatus{Exceeded: before.Exceeded}
	turns := unknown != ""
	if before.Exceeded {
		turns = unknown == "" && behind <= *limit/2
	}
	since := before.TurningSince
	switch {
	case unknown == "" && behind > *limit:
		after.Exceeded = true
	case !turns:
	case since == nil || since.After(now):
		after.TurningSince = new(metav1.NewTime(now.Truncate(time.Second)))
	case now.Sub(since.Time) >= Patience(*limit):
		after.Exceeded = !before.Exceeded
	default:
		after.TurningSince = since
	}
	return after
}

// lagBefore is where the cluster stood. A limit that is new to a cluster which has followed for a while takes nothing
// away from it; one that has only begun to follow shows first how far it is.
func lagBefore(c *v1alpha1.GaleraCluster, limit time.Duration, now time.Time) v1alpha1.LagStatus {
	if r := c.Status.Replication; r != nil && r.Lag != nil {
		return *r.Lag
	}
	following := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionFollowing)
	settled := following != nil && following.Status == metav1.ConditionTrue &&
		now.Sub(following.LastTransitionTime.Time) >= Patience(limit)
	return v1alpha1.LagStatus{Exceeded: !settled}
}

// Lag is how far a cluster is behind what it follows, or why that is not known. The age of an archive counts, unless a
// stream goes on from it.
func Lag(c *v1alpha1.GaleraCluster, seen map[string]Seen, now time.Time) (behind time.Duration, unknown string) {
	of, unknown := channelOf(seen)
	if unknown != "" {
		return 0, unknown
	}
	behind = time.Duration(*of.Channel.SecondsBehind) * time.Second
	r := c.Status.Replication
	switch {
	case c.Spec.ReplicaOf == nil || r != nil && r.Stream != nil && r.Stream.Connected:
		return behind, ""
	case r == nil || r.Archive == nil || r.Archive.Through == nil:
		return 0, "the archive was not read yet"
	}
	if archived, err := binlog.Parse(r.Archive.GTID); err != nil || lacks(of.Applied, archived) && behind == 0 {
		return 0, "what is in the archive is not received yet" // the channel counts what it has received only
	}
	return max(behind, now.Sub(r.Archive.Through.Time)), ""
}

// lacks reports whether a position does not include a transaction.
func lacks(position string, of binlog.GTID) bool {
	have, _ := binlog.In(position, of.Domain)
	return have.Seq < of.Seq
}

// channelOf is what the one node reports that runs the channel, with how far it is, or why none does.
func channelOf(seen map[string]Seen) (of *agentapi.Following, unknown string) {
	var nodes []string
	for name, s := range seen {
		if s.Live && s.Report.Channel == agentapi.TaskOn && s.Report.Following != nil {
			nodes, of = append(nodes, name), s.Report.Following
		}
	}
	switch {
	case len(nodes) == 0:
		return nil, "no node reports that it applies anything"
	case len(nodes) > 1:
		return nil, "it is not known yet which node goes on applying"
	case of.Channel == nil || !of.Channel.Connected || !of.Channel.Applying || of.Channel.SecondsBehind == nil:
		return nil, strings.Join(nodes, "") + " does not receive and apply anything now"
	}
	return of, ""
}
