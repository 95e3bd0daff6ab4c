package archival

import (
	"slices"

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
	p, before := *a.Promotion, to.Superseded
	to.Superseded = &v1alpha1.SupersededStatus{ID: p.ID(), Namespace: p.Namespace, Name: p.Name, UID: p.UID, GTID: p.GTID,
		RecordedAt: timeOf(p.At), CountedBy: countedBy(p, ofToken(to.SwitchSite, p))}
	now := to.Superseded
	if now.CountedBy != v1alpha1.CountedByNothing {
		now.Surplus = surplus(p, a, now.CountedBy)
		if now.Surplus == nil && before != nil && before.ID == p.ID() && before.Surplus != nil {
			now.Surplus, now.CountedBy = before.Surplus, before.CountedBy
		}
	}
}

// ofToken reports whether a promotion is the one for which this cluster has given a token.
func ofToken(s *v1alpha1.SwitchSiteStatus, p task.Promotion) bool {
	return s != nil && s.Token != nil && s.Token.To == p.UID && s.Token.GTID == p.GTID &&
		uint64(s.Token.Number) == p.Number //nolint:gosec // records are counted from one on
}

// countedBy is by what it is counted what a cluster lacks that has taken over. A record of an earlier release does not
// tell one that was sent the archive alone from one that was sent more, and had not compared that.
func countedBy(p task.Promotion, ofToken bool) string {
	switch {
	case ofToken && p.Compared:
		return v1alpha1.CountedByContent
	case p.Line != "":
		return v1alpha1.CountedByLines
	case p.Alone:
		return v1alpha1.CountedByNumbers
	}
	return v1alpha1.CountedByNothing
}

// surplus is how many transactions the archive has after the last one that it has in common with a cluster that has
// taken over, by their numbers; nil when that is not known. One that was sent more than was archived has that in a line
// of history: what the archive has in a later line are other transactions, with the same numbers, unless the content
// was compared before that was recorded.
func surplus(p task.Promotion, a *task.Archived, by string) *int64 {
	end, err := binlog.Parse(a.GTID)
	if err != nil || a.GTID == "" {
		return nil
	}
	from, _ := binlog.In(p.GTID, end.Domain)
	if from.Seq == 0 || from.Server != end.Server {
		return nil
	}
	if by == v1alpha1.CountedByLines {
		i := slices.IndexFunc(a.Lines, func(l binlog.Line) bool { return l.String() == p.Line })
		if i < 0 {
			return nil
		}
		if later := a.Lines[i+1:]; len(later) > 0 {
			if later[0].After.Seq == 0 {
				return nil
			}
			from.Seq = min(from.Seq, later[0].After.Seq)
		}
	}
	return new(int64(max(end.Seq, from.Seq) - from.Seq)) //nolint:gosec // a position is below 2^63
}
