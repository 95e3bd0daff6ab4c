package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// archiveCutover is the part of the command's help about archives.
const archiveCutover = "A cluster that follows an archive (spec.replicaOf) has no server to ask: it ends with the " +
	"archive's last transaction. Run the command with --writes-stopped once nothing writes to the other cluster any " +
	"more: it waits until the archive has all that was committed before the command began, by the clock of this " +
	"machine. If the other cluster is lost, run it with --accept-loss: what was committed there and is not in the " +
	"archive is lost. It waits until the archive was read anew, twice, which takes some 30 seconds. " +
	"Before a node accepts writes, it is recorded in the store that this cluster takes over: the other cluster refuses " +
	"writes as soon as it finds that, and a second one that is to take over is refused. With --without-record nothing is " +
	"recorded: for a store that is lost. " +
	"Without either of the first two, the command only names the archive's last transaction, and how old the archive is."

// beginArchive records the last transaction of the archive that a cluster follows.
func (e cutovers) beginArchive(ctx context.Context, c *v1alpha1.GaleraCluster, f cutoverFlags) error {
	began := time.Now()
	if !f.stopped && !f.loss {
		return errors.New(undecided(c, began))
	}
	after := time.Time{}
	if f.stopped {
		after = began
	}
	var read readings
	err := e.await(ctx, f.timeout, task{cluster: c.Name, poll: e.pollCluster(c.Name,
		func(c *v1alpha1.GaleraCluster) (string, bool, error) {
			line, done := archiveLine(c, after)
			if wait := read.wait(c); done && f.loss && wait != "" {
				return wait, false, nil
			}
			return line, done, nil
		}),
		late: "the archive's last transaction cannot be relied on", goesOn: "nothing was changed"})
	if err != nil {
		return err
	}
	if absent := e.noOperator(ctx, c.Name); absent != "" {
		return fmt.Errorf("spec.cutover would not reach the nodes: %s; nothing was changed", absent)
	}
	if c, err = e.cluster(ctx, c.Name); err != nil {
		return err
	}
	if line, done := archiveLine(c, after); !done {
		return fmt.Errorf("%s; nothing was changed", line)
	}
	e.say("the archive's last transaction is %s: %s", c.Status.Replication.Archive.GTID, held(c, time.Now()))
	end := lastOf(c.Status.Replication)
	if end != c.Status.Replication.Archive.GTID {
		e.say("the cluster has more than the archive, from a stream: everything up to %s", end)
	}
	cutover := map[string]any{"gtid": end, "uid": v1alpha1.RequestUID(c)}
	if f.unrecorded {
		cutover["withoutRecord"] = true
	}
	return e.change(ctx, c, map[string]any{"spec": map[string]any{"cutover": cutover}})
}

// lastOf is the last transaction that is to be applied: the archive's, or the one that the cluster has applied, where a
// stream has brought more than was archived. What was received and not applied may not be there any more.
func lastOf(r *v1alpha1.ReplicationStatus) string {
	archive, err := binlog.Parse(r.Archive.GTID)
	if err != nil || r.Stream == nil {
		return r.Archive.GTID
	}
	if applied, _ := binlog.In(r.Applied, archive.Domain); applied.Follows(archive) {
		return applied.String()
	}
	return r.Archive.GTID
}

// readings counts how often an archive was read anew since the command began, by the clock that reads it.
type readings struct {
	first, last time.Time
	anew        int
}

// wait is what an end waits for that is to be that of now, "" for nothing. What is shown at first may be some 20 s
// old, and the next reading may have begun before that: the one after it has not.
func (r *readings) wait(c *v1alpha1.GaleraCluster) string {
	var at time.Time
	if of := c.Status.Replication; of != nil && of.Archive != nil && of.Archive.ObservedAt != nil {
		at = of.Archive.ObservedAt.Time
	}
	switch {
	case at.IsZero():
		return "when the archive was read last is not known yet"
	case r.first.IsZero():
		r.first, r.last = at, at
	case at.After(r.last):
		r.last = at
		r.anew++
	}
	if r.anew >= 2 {
		return ""
	}
	return fmt.Sprintf("the archive was read at %s; waiting until it was read anew, twice",
		r.first.UTC().Format(time.RFC3339))
}

// held is what an archive has, in words.
func held(c *v1alpha1.GaleraCluster, now time.Time) string {
	through := c.Status.Replication.Archive.Through
	return fmt.Sprintf("it holds what was committed before %s, %s ago. What was committed later is not in it",
		through.UTC().Format(time.RFC3339), now.Sub(through.Time).Round(time.Second))
}

// undecided is why a cutover does not begin without a flag.
func undecided(c *v1alpha1.GaleraCluster, now time.Time) string {
	text := "how far " + c.FollowedName() + " goes is not known yet"
	if r := c.Status.Replication; r != nil && r.Archive != nil && r.Archive.Through != nil {
		text = fmt.Sprintf("the last transaction in %s is %s: %s", c.FollowedName(), r.Archive.GTID, held(c, now))
	}
	return text + ". Once nothing writes to that cluster any more, add --writes-stopped; if it is lost, add " +
		"--accept-loss, which gives up what is not in the archive; nothing was changed"
}

// archiveLine reports whether the last transaction of an archive is known that has all that was committed before a
// time.
func archiveLine(c *v1alpha1.GaleraCluster, after time.Time) (line string, done bool) {
	r := c.Status.Replication
	following := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionFollowing)
	switch {
	case c.Paused():
		return "the operator is paused: spec.cutover would not reach the nodes. Remove the annotation " +
			v1alpha1.AnnotationPause, false
	case r == nil || following == nil || r.Archive == nil:
		return "the cluster does not follow yet", false
	case r.Archive.Message != "":
		return "the archive cannot be read: " + r.Archive.Message + ". " + withoutArchive(c), false
	case meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionStalled):
		stalled := condition(c, v1alpha1.ConditionStalled)
		return fmt.Sprintf("%s: %s", stalled.Reason, stalled.Message), false
	case !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionFollowing):
		return following.Message, false
	case r.Archive.GTID == "" || r.Archive.Through == nil:
		return "how far the archive goes is not known yet", false
	case !r.Archive.Through.After(after):
		return fmt.Sprintf("the archive has what was committed before %s; waiting until it has what was committed before %s",
			r.Archive.Through.UTC().Format(time.RFC3339), after.UTC().Format(time.RFC3339)), false
	}
	if last := lastOf(r); !after.IsZero() && last != r.Archive.GTID {
		return fmt.Sprintf("the archive ends with %s, and the cluster has %s from a stream: the other cluster is still "+
			"written to, or it has lost transactions, and may have others of the same numbers, which this one would lack. To "+
			"take over all the same, run the command with --accept-loss", r.Archive.GTID, last), false
	}
	return "the archive ends with " + r.Archive.GTID, true
}

// withoutArchive is how a cluster takes over with what it has.
func withoutArchive(c *v1alpha1.GaleraCluster) string {
	return "To give up also what it may have, set spec.cutover.gtid to status.replication.applied (" +
		c.Status.Replication.Applied + "), and spec.cutover.uid to " + v1alpha1.RequestUID(c) + ", which is final"
}
