package archiver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// explain asks all nodes about numbers that are missing here.
func (r *reader) explain(ctx context.Context, next binlog.GTID) error {
	if r.unsure.after != r.last {
		r.unsure = unsure{r.last, time.Now()}
	}
	own := policy.Asked{Node: r.node.name(), Answer: policy.Purged}
	if r.near {
		own.Answer = policy.Lacks
	}
	asked := []policy.Asked{own}
	for _, other := range r.all.synced {
		if other.name() == r.node.name() {
			continue
		}
		a := lacks(ctx, other, r.before, known{GTID: r.last, sum: r.sum}, known{GTID: next})
		if why := r.refused[a.Node]; why != "" && a.Answer == policy.Has {
			a.Answer, a.Why = policy.HasAndRefused, why
		}
		asked = append(asked, a)
	}
	for name, why := range r.all.away {
		asked = append(asked, policy.Asked{Node: name, Answer: policy.Unknown, Why: why})
	}
	slices.SortFunc(asked, func(a, b policy.Asked) int { return strings.Compare(a.Node, b.Node) })
	v := policy.JudgeHole(r.last, next, asked, time.Since(r.unsure.since) >= refusedTime)
	switch v.Act {
	case policy.Follow:
		r.hole = &binlog.Hole{After: r.last, Next: next, Why: v.Why}
		return nil
	case policy.Refuse:
		if r.prefer = v.Prefer; v.Prefer != "" {
			return once{fmt.Errorf("%s: %s", r.node.name(), v.Why)}
		}
		return refusal{errors.New(v.Why)}
	case policy.Begin:
		return gap{errors.New(v.Why)}
	}
	return errors.New(v.Why)
}

// isNext asks the other nodes whether a transaction is the next one there, too. It is the first one that
// was read after a server's start, and the view has changed.
func (r *reader) isNext(ctx context.Context, t binlog.Transaction) error {
	if r.unsure.after != r.last {
		r.unsure = unsure{r.last, time.Now()}
	}
	last := known{r.last, r.sum, r.seqno}
	if last.seqno == 0 { // a statement that changes tables does not name it: it is that of the archive, or later
		last.seqno = r.at.Seqno
	}
	own := r.at0.shows(policy.Asked{Node: r.node.name(), Answer: policy.Lacks}, last)
	// Whether last is its transaction of that number is compared with others, and of one node there is no other one.
	own.Own = own.Own && (r.sure || len(r.all.synced)+len(r.all.away) == 1)
	asked := []policy.Asked{own}
	for _, other := range r.all.synced {
		if other.name() != r.node.name() {
			asked = append(asked, lacks(ctx, other, r.before, last, known{GTID: t.GTID, sum: t.Sum}))
		}
	}
	for name, why := range r.all.away {
		asked = append(asked, policy.Asked{Node: name, Answer: policy.Unknown, Why: why})
	}
	slices.SortFunc(asked, func(a, b policy.Asked) int { return strings.Compare(a.Node, b.Node) })
	v := policy.JudgeNext(r.last, t.GTID, asked, time.Since(r.unsure.since) >= refusedTime)
	switch v.Act {
	case policy.Follow:
		return nil
	case policy.Refuse:
		return refusal{errors.New(v.Why)}
	case policy.Begin:
		return gap{errors.New(v.Why)}
	}
	return errors.New(v.Why)
}

// purged is the refusal of a server that does not have what follows a position.
type purged struct{ error }
