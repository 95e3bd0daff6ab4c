package archival

import (
	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// Supersede brings status.superseded up to date. Once it is known that another cluster has taken over, that stays,
// until a person overrules it: a store that does not have the record may be another one. It is pure.
func Supersede(c *v1alpha1.GaleraCluster, a *task.Archived) {
	to := &c.Status
	switch {
	case a == nil:
		return
	case a.Promotion == nil: // as an archiver says, too, that has not read the store yet: the overrule is not there then
		if to.Superseded != nil && to.Superseded.ID == c.Spec.OverrulesPromotion && a.Next > 0 {
			to.Superseded = nil
		}
		return
	case a.Promotion.ID() == c.Spec.OverrulesPromotion: // the archiver is about to record that
		return
	}
	p := *a.Promotion
	before := to.Superseded
	to.Superseded = &v1alpha1.SupersededStatus{ID: p.ID(), Namespace: p.Namespace, Name: p.Name, UID: p.UID, GTID: p.GTID,
		RecordedAt: timeOf(p.At), Surplus: surplus(p.GTID, a.GTID)}
	if to.Superseded.Surplus == nil && before != nil && before.ID == p.ID() {
		to.Superseded.Surplus = before.Surplus
	}
}

// surplus is how many transactions the archive has after the last one that another cluster has, by their numbers; nil
// when that is not known.
func surplus(after, last string) *int64 {
	end, err := binlog.Parse(last)
	if err != nil || last == "" {
		return nil
	}
	from, _ := binlog.In(after, end.Domain)
	if from.Seq == 0 || from.Server != end.Server {
		return nil
	}
	return new(int64(max(end.Seq, from.Seq) - from.Seq)) //nolint:gosec // a position is below 2^63
}
