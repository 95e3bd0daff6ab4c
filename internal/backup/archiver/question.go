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
	own := policy.Asked{Answer: policy.Purged}
	if r.near {
		own.Answer = policy.Lacks
	}
	asked, waited, err := r.ask(ctx, own, known{GTID: next})
	if err != nil {
		return err
	}
	for i, a := range asked {
		if why := r.refused[a.Node]; why != "" && a.Answer == policy.Has {
			asked[i].Answer, asked[i].Why = policy.HasAndRefused, why
		}
	}
	v := policy.JudgeHole(r.last, next, asked, waited)
	if v.Act == policy.Follow {
		r.hole = &binlog.Hole{After: r.last, Next: next, Why: v.Why}
		return nil
	}
	if v.Act == policy.Refuse && v.Prefer != "" {
		r.prefer = v.Prefer
		return once{fmt.Errorf("%s: %s", r.node.name(), v.Why)}
	}
	return failed(v)
}

// isNext asks the other nodes whether a transaction is the next one there, too. It is the first one that
// was read after a server's start, and the view has changed.
func (r *reader) isNext(ctx context.Context, t binlog.Transaction) error {
	asked, waited, err := r.ask(ctx, policy.Asked{Answer: policy.Lacks}, known{GTID: t.GTID, sum: t.Sum})
	if err != nil {
		return err
	}
	return failed(policy.JudgeNext(r.last, t.GTID, asked, waited))
}

// complete reports whether nothing but what was read was committed until the node was asked: Galera's seqno shows that,
// or two nodes by binary logs of their own.
func (r *reader) complete(ctx context.Context) (bool, error) {
	switch {
	case r.verify: // the last one is not compared yet
		return false, nil
	case r.ended, r.now > 0 && r.now <= r.upTo():
		return true, nil
	case !r.idle:
		return false, nil
	case r.isNear() && (r.logged > 0 && r.logged <= r.upTo() || len(r.all.synced)+len(r.all.away) == 1):
		return true, nil
	}
	var err error
	r.ended, err = r.isLast(ctx)
	return r.ended, err
}

// isNear reports whether this node gives all that it has committed since last. Its agent may know already that it was
// started with another binary log, before the event that shows a start is here.
func (r *reader) isNear() bool { return r.near && r.at0.since <= r.upTo() }

// isLast asks the other nodes whether nothing follows the last transaction there either.
func (r *reader) isLast(ctx context.Context) (bool, error) {
	asked, waited, err := r.ask(ctx, policy.Asked{Answer: policy.Lacks, Near: r.isNear()}, known{})
	if err != nil {
		return false, err
	}
	v := policy.JudgeLast(r.last, asked, waited)
	if v.Prefer != "" { // it is read first
		return false, nil
	}
	return v.Act == policy.Follow, failed(v)
}

// confirms reports whether the node that confirms the last transaction ends with it, too, by its content. One that was
// not compared may number lower: its last number does not show then that nothing follows.
func confirms(ctx context.Context, r *reader) bool {
	if r.by == nil {
		return false
	}
	a, _ := lacks(ctx, r.by, r.before, known{r.last, r.sum, r.upTo()}, known{})
	return a.Answer == policy.Lacks
}

// ask asks all nodes about what follows the last transaction. own is what the followed one shows, and waited reports
// whether those that are away were waited for.
func (r *reader) ask(ctx context.Context, own policy.Asked, next known) (asked []policy.Asked, waited bool, err error) {
	if r.unsure.after != r.last {
		r.unsure = unsure{r.last, time.Now()}
	}
	last := known{r.last, r.sum, r.upTo()}
	own.Node = r.node.name()
	own = r.at0.shows(own, last)
	// Whether last is its transaction of that number is compared with others, and of one node there is no other one. A
	// server that has written it, and was not started since, has its own binary log since then.
	own.Own = own.Near || own.Own && (r.sure || len(r.all.synced)+len(r.all.away) == 1)
	asked = []policy.Asked{own}
	for _, other := range r.all.synced {
		if other.name() != r.node.name() {
			a, foreign := lacks(ctx, other, r.before, last, next)
			if err := r.noOther(other.name(), foreign); err != nil {
				return nil, false, err
			}
			asked = append(asked, a)
		}
	}
	for name, why := range r.all.away {
		asked = append(asked, policy.Asked{Node: name, Answer: policy.Unknown, Why: why})
	}
	slices.SortFunc(asked, func(a, b policy.Asked) int { return strings.Compare(a.Node, b.Node) })
	return asked, time.Since(r.unsure.since) >= refusedTime, nil
}

// noOther refuses to go on where the binary log of a node shows that another server has written: that of a node with a
// full copy begins after it.
func (r *reader) noOther(name string, foreign []binlog.GTID) error {
	later := policy.Foreign(r.at.Head, foreign)
	if len(later) == 0 {
		return nil
	}
	r.drop()
	return once{fmt.Errorf("%s was written to by another server: %v", name, later)}
}

// adjoins reports whether Galera's numbers show that no transaction is between the last one and that of a seqno. The
// view that a line of history begins with takes one, too.
func (r *reader) adjoins(seqno int64) bool {
	begins := len(r.at0.Lines) > 0 && r.at0.Lines[0].Start == r.seqno
	return r.seqno > 0 && (seqno == r.seqno+1 || begins && seqno == r.seqno+2)
}

// upTo is a seqno up to which everything was archived, or read. A statement that changes tables does not name its own.
func (r *reader) upTo() int64 { return max(r.held, r.seqno, r.seqnos.last) }

// failed is why a reader does not go on, nil when it does.
func failed(v policy.HoleAnswer) error {
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
