package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/policy/schedule"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// operator is what the cluster's operator knows: the objects of backups, and what it reports of the archive. It asks
// for backups that the archive goes on from, and removes those that retention does not keep.
type operator struct {
	cluster  *v1alpha1.GaleraCluster
	store    *v1alpha1.GaleraBackupStore
	schedule *v1alpha1.GaleraBackupSchedule
	objects  []v1alpha1.GaleraBackup
	reported *v1alpha1.ArchiveStatus
	asked    *v1alpha1.ClusterBackup // spec.backup while point in time is on
	unseen   bool                    // the operator has not seen yet that it was turned off
}

func newOperator() operator {
	o := operator{cluster: &v1alpha1.GaleraCluster{}, store: &v1alpha1.GaleraBackupStore{},
		schedule: &v1alpha1.GaleraBackupSchedule{}}
	o.cluster.Name, o.cluster.UID, o.store.Name, o.store.UID = "shop", "u1", "minio", "s1"
	o.asked = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "minio"},
		PointInTime: &v1alpha1.PointInTime{Enabled: true, Window: &metav1.Duration{Duration: window}}}
	o.cluster.Spec.Backup = o.asked.DeepCopy()
	o.cluster.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	o.store.Spec.Retention = &v1alpha1.BackupRetention{KeepWithin: &metav1.Duration{Duration: window}}
	o.reported = &v1alpha1.ArchiveStatus{}
	o.cluster.Status.Backup = o.reported
	o.schedule.Spec.Schedule = "* * * * *"
	o.schedule.Spec.Template.ClusterRef.Name, o.schedule.Spec.Template.StoreRef.Name = "shop", "minio"
	return o
}

// object adds that of a backup: of the schedule if it has no name, otherwise one that was asked for.
func (w *world) object(name, id, deletion string) *v1alpha1.GaleraBackup {
	o := &w.operator
	b := v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + id + name),
		CreationTimestamp: metav1.NewTime(w.now)}}
	b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name, b.Spec.DeletionPolicy = "shop", "minio", deletion
	b.Status.ID, b.Status.ClusterUID, b.Status.Phase = id, "u1", v1alpha1.BackupFailed
	if i := slices.IndexFunc(w.backups, func(b backup) bool { return b.ID == id }); i >= 0 {
		b.Status.Phase, b.Status.CompletedAt = v1alpha1.BackupCompleted, new(metav1.NewTime(w.backups[i].Time))
		if g := w.backups[i].GTID; g != (binlog.GTID{}) {
			b.Status.GTID = g.String()
		}
	}
	o.objects = append(o.objects, b)
	return &o.objects[len(o.objects)-1]
}

// operate brings the status up to date, and makes the backup that is asked for, or fails.
func (w *world) operate(node int, well bool) {
	o, ask := &w.operator, w.report(node)
	if ask.Failed != nil {
		uid := ask.Failed.UID
		o.objects = slices.DeleteFunc(o.objects, func(b v1alpha1.GaleraBackup) bool { return b.UID == uid })
	}
	if ask.Name == "" || w.line().txs == nil {
		return
	}
	id := ""
	if well {
		id = w.makeBackup(node)
	}
	b := w.object(ask.Name, id, v1alpha1.BackupRetain)
	b.Labels = map[string]string{v1alpha1.LabelArchiveOf: string(o.cluster.UID)}
}

// turned has point in time turned on, or off, in one of three ways. The operator sees that at once, or late.
func (w *world) turned(how int, late bool) {
	o := &w.operator
	w.seesOff()
	o.cluster.Spec.Backup = o.asked.DeepCopy()
	if w.logging {
		o.cluster.Status.Backup = o.reported
		return
	}
	switch o.unseen = true; how {
	case 0:
		o.cluster.Spec.Backup.PointInTime.Enabled = false
	case 1:
		o.cluster.Spec.Backup.PointInTime = nil
	default:
		o.cluster.Spec.Backup = nil
	}
	if !late {
		w.seesOff()
	}
}

// seesOff has the operator see that point in time was turned off.
func (w *world) seesOff() {
	o := &w.operator
	if !o.unseen {
		return
	}
	s := o.store
	if o.cluster.Spec.Backup == nil {
		s = &v1alpha1.GaleraBackupStore{}
	}
	o.cluster.Status.EndedArchive = w.end(o.cluster, archival.Window(o.cluster, s), w.earliest(), w.latest())
	*o.reported, o.cluster.Status.Backup, o.unseen = v1alpha1.ArchiveStatus{}, nil, false
}

func init() {
	mutants["an archive that was turned off needs nothing (6)"] = func(d *decisions) {
		d.end = func(_ *v1alpha1.GaleraCluster, _ time.Duration, _, _ time.Time) *v1alpha1.EndedArchive {
			return nil
		}
	}
	known["an archive that was turned off needs nothing (6)"] = offWithTwoLines
}

func init() {
	mutants["what is archived counts only while the spec asks for it (6)"] = func(d *decisions) {
		d.expire = func(to *v1alpha1.GaleraBackupScheduleStatus, f schedule.Facts) []*v1alpha1.GaleraBackup {
			if f.Cluster = f.Cluster.DeepCopy(); !f.Cluster.ArchivesBinlog() {
				f.Cluster.Status.Backup = nil
			}
			return schedule.Retain(to, f)
		}
	}
	known["what is archived counts only while the spec asks for it (6)"] = append(slices.Clone(offWithTwoLines[:14]),
		event{23, 0, 0}, event{32, 2, 0}, event{31, 0, 0}, event{20, 1, 0}, event{31, 0, 0})
	mutants["what an archive needs that was turned off ends by the operator's own clock (6)"] = func(d *decisions) {
		d.expire = func(to *v1alpha1.GaleraBackupScheduleStatus, f schedule.Facts) []*v1alpha1.GaleraBackup {
			f.Today = time.Time{}
			return schedule.Retain(to, f)
		}
	}
	known["what an archive needs that was turned off ends by the operator's own clock (6)"] = slices.Concat(
		offWithTwoLines[:16], []event{{27, 7, 5}, {23, 0, 0}, {20, 1, 0}, {23, 0, 0}})
}

// offWithTwoLines is a schedule in which the last backup of before the window is of a line of history that was lost,
// and point in time is turned off.
var offWithTwoLines = []event{{0, 0, 0}, {0, 0, 0}, {12, 0, 0}, {3, 0, 3}, {0, 0, 0}, {12, 0, 0}, {17, 0, 1},
	{0, 0, 0}, {3, 0, 3}, {8, 0, 0}, {20, 3, 0}, {20, 3, 0}, {11, 9, 0}, {8, 0, 0}, {17, 2, 0}, {23, 0, 0}, {20, 1, 0},
	{23, 0, 0}}

// report brings the status up to date by what the archiver reports.
func (w *world) report(node int) (ask archival.Request) {
	o := &w.operator
	w.seesOff()
	o.cluster.Status.EndedArchive = archival.Remembered(o.cluster.Status.EndedArchive, w.earliest())
	numbers := w.archive().Numbers
	switch {
	case !w.logging:
		return ask
	case len(numbers) == 0:
		return w.decide(o.reported, archival.Facts{Cluster: o.cluster, Archived: &task.Archived{Needed: []string{}},
			Store: o.store, Backups: o.objects, Now: w.operatorNow(), Today: w.earliest()})
	}
	last, r := w.segments[numbers[len(numbers)-1]].Head, w.observe()
	a := &task.Archived{Node: fmt.Sprint(node), GTID: last.Last.String(), Segment: last.Number, Through: last.Through,
		Chain: r.Chain, Base: r.Base.ID, From: r.From, Gap: r.Gap, Surveyed: true, Needed: w.needs(node)}
	if w.through.Segment == last.Number && w.through.Last == last.Last {
		a.Through = binlog.Later(a.Through, w.through.Time)
	}
	ask = w.decide(o.reported, archival.Facts{Cluster: o.cluster, Archived: a, Store: o.store, Backups: o.objects,
		Now: w.operatorNow(), Today: w.earliest()})
	w.say("status: %s, recoverable from %v to %v; asked for: %q", o.reported.Reason, o.reported.RecoverableFrom,
		o.reported.ArchivedThrough, ask.Name)
	if o.reported.Reason == v1alpha1.ReasonArchiving {
		w.checkReported()
	}
	return ask
}

// needs are the backups that an archiver reports as those that the window needs, nil while that is not known.
func (w *world) needs(node int) []string {
	bases, unread := w.bases()
	now, known := w.today(&w.archivers[node%2])
	if !known {
		now = time.Time{}
	}
	needed, err := policy.Needed(w.archive(), bases, window, now)
	added := slices.DeleteFunc(slices.Clone(needed), func(b policy.Base) bool { return slices.Contains(w.needed, b) })
	if unread || err != nil || w.changed(added) {
		return nil
	}
	w.needed = needed
	ids := []string{}
	for _, b := range needed {
		ids = append(ids, b.ID)
	}
	return ids
}

// checkReported: both ends of what is reported as recoverable can be restored.
func (w *world) checkReported() {
	from, to := w.operator.reported.RecoverableFrom, w.operator.reported.ArchivedThrough
	if w.lies || from == nil || to == nil || to.Before(from) {
		return
	}
	for _, t := range []binlog.Target{{Latest: true}, {Time: from.Time}, {Time: to.Time}} {
		if err := w.anyOf(t); err != nil {
			w.breaks("it is reported that all from %s to %s can be restored, and %v", from, to, err)
		}
	}
}

// anyOf is why no backup leads to a target.
func (w *world) anyOf(t binlog.Target) (err error) {
	for _, b := range w.backups {
		_, _, e := w.restore(b, t)
		if e == nil {
			return nil
		}
		err = errors.Join(err, e)
	}
	return err
}

// retain has retention remove backups, and checks that what its window needs is still there. The status may be as it
// was a while ago.
func (w *world) retain(late bool) {
	o := &w.operator
	if at := o.reported.EmptyAt; !late || at != nil && w.now.Sub(at.Time) < 15*time.Minute {
		w.report(0)
	}
	f := schedule.Facts{Schedule: o.schedule, Backups: o.objects, Store: o.store, Cluster: o.cluster,
		Window: archival.Window(o.cluster, o.store), Now: w.operatorNow()}
	if !w.logging {
		f.Now, f.Today = w.now.Add(w.hosts.operator), w.earliest()
	}
	remove := w.expire(&o.schedule.Status, f)
	if len(remove) == 0 {
		return
	}
	gone := map[string]bool{}
	for _, b := range remove {
		gone[b.Status.ID] = true
	}
	// Retention goes by what objects name: later data that have replaced those were not promised.
	w.backups = slices.DeleteFunc(w.backups, func(b backup) bool { return gone[b.ID] && b.replaced })
	w.keeps(fmt.Sprint("backups were removed: ", gone), func() {
		w.backups = slices.DeleteFunc(w.backups, func(b backup) bool { return gone[b.ID] })
		o.objects = slices.DeleteFunc(o.objects, func(b v1alpha1.GaleraBackup) bool { return gone[b.Status.ID] })
	})
}

// anyLeft reports whether a node may still go on from where the archive ends.
func (w *world) anyLeft(a *archiver) bool {
	for i := range w.nodes {
		if !a.refused[i] && !w.nodes[i].away {
			return true
		}
	}
	return false
}

// align has all nodes count from one number on, if the operator asks the primary for that.
func (w *world) align(primary int) {
	c, followed := w.operator.cluster.DeepCopy(), -1
	for i := range w.archivers {
		if w.archivers[i].open {
			followed = w.archivers[i].node
		}
	}
	if followed < 0 || w.nodes[followed].away || len(w.nodes[followed].log) == 0 {
		return
	}
	var known []policy.Number
	c.Status.Primary = fmt.Sprint(primary)
	for i := range w.nodes {
		m := v1alpha1.MemberStatus{Name: fmt.Sprint(i), NodeState: "Synced", ComponentState: "Primary"}
		if w.nodes[i].away {
			m.NodeState, m.ComponentState = "", ""
		} else if i != followed {
			known = append(known, policy.Number{Node: m.Name, Seqno: w.seqno, Ahead: w.nodes[i].ahead - w.nodes[followed].ahead})
		}
		c.Status.Members = append(c.Status.Members, m)
	}
	f := archival.Facts{Cluster: c, Archived: &task.Archived{}}
	if why, spread, seqno := w.differ(known); why != "" {
		f.Archived.Skew = &task.Skew{Why: why, Spread: spread, Seqno: seqno, Nodes: len(known) + 1}
	}
	if align, _ := archival.Align(f); !align {
		return
	}
	number := int64(w.seq) + w.nodes[primary].ahead + int64(f.Archived.Skew.Spread) + 5 //nolint:gosec // small
	for i := range w.nodes {
		if number <= int64(w.seq)+w.nodes[i].ahead { //nolint:gosec // small
			w.breaks("all nodes are to count from %d on, and node %d has passed it", number, i)
		}
		w.nodes[i].ahead = 0
	}
	w.seq = uint64(number - 1) //nolint:gosec // small
	w.commit(w.now, -1, false)
	w.say("all nodes count from %d on", number)
}

// settles: point in time is enabled again, and once backups do not fail any more one leads to the archive.
func (w *world) settles() {
	w.logging, w.hosts = true, hosts{}
	w.turned(0, false)
	w.session++
	w.view++
	w.backups = slices.DeleteFunc(w.backups, func(b backup) bool { return b.named != b.ID }) // as the message asks
	for i := range w.archivers {
		w.archivers[i].kill()
	}
	for i := range w.nodes {
		w.seq = max(w.seq, w.numberOn(&w.nodes[i], tx{seq: w.seq}))
		w.nodes[i].away, w.nodes[i].ahead = false, 0
	}
	w.logs()
	w.appliesAll()
	for i := range 40 {
		if w.commit(w.now, -1, false); len(w.segments) > maxBegins-2 || w.broken != "" {
			return
		}
		for range 8 {
			w.step(0, i%3)
		}
		w.flush(&w.archivers[0], true)
		w.operate(i%3, i > 2)
		if w.operator.reported.Reason == v1alpha1.ReasonArchiving {
			return
		}
		w.now = w.now.Add(3 * time.Hour)
	}
	w.breaks("the archive is not whole again after days: %s, %s", w.operator.reported.Reason, w.operator.reported.Message)
}
