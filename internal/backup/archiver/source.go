package archiver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// source is a node that can be followed.
type source interface {
	// name is its host.
	name() string
	// position is where it is now: it has all that was committed anywhere before.
	position(ctx context.Context) (position, error)
	// open asks for what follows a position, one GTID for each domain. A refusal states that the node does not have it.
	open(after []string) (events, error)
	close()
}

// events is a node's binary log as it goes on.
type events interface {
	// Event is the next one, nil when none comes for a while. It is valid until the next call.
	Event(ctx context.Context, wait time.Duration) (binlog.Event, error)
	Close()
}

// position is where a node is.
type position struct {
	// Node has the domain of the cluster's GTIDs, and the lines of history.
	policy.Node
	// last is the last GTID of that domain, others are the last ones of every other domain, and foreign those of other
	// servers.
	last    binlog.GTID
	others  []string
	foreign []binlog.GTID
	// applied is the position of what the node has applied of a source (gtid_slave_pos), which is part of its data.
	applied string
	// before is a seqno that what follows last in the node's binary log is after, 0 when none is known.
	before int64
	// seqno is Galera's, and view names the group's view, within which a line of history does not change.
	seqno int64
	view  string
	// since is the seqno since which the node has written a binary log of its own, 0 while its agent does not report it.
	since int64
	// ahead is how far the node's clock is ahead of the archiver's, as far as the answer shows it.
	ahead time.Duration
	// local is the domain and the server of what the node writes for itself.
	local binlog.GTID
}

// isForeign reports whether another server has written a transaction: it is neither the cluster's nor the node's own.
func (p position) isForeign(g binlog.GTID) bool {
	return g.Domain != p.Domain && (g.Domain != p.local.Domain || g.Server != p.local.Server)
}

// sort splits a position in the binary log.
func (p *position) sort(all string) {
	p.last, p.others = binlog.In(all, p.Domain)
	for _, text := range p.others {
		if g, err := binlog.Parse(text); err == nil && p.isForeign(g) {
			p.foreign = append(p.foreign, g)
		}
	}
}

// same reports whether a node is still in the line of history, and the view, of before.
func (p position) same(before position) bool {
	return p.view == before.view && len(p.Lines) > 0 && len(before.Lines) > 0 && p.Lines[0].Same(before.Lines[0])
}

// known is a transaction that was read, or its GTID alone.
type known struct {
	binlog.GTID
	sum   string // of its content, "" when it is not known
	seqno int64  // up to which all was read, 0 when it is not known
}

// shows adds to the answer that the next transaction is the same on a node whether its binary log shows that. A node
// whose agent does not report it yet is asked again.
func (p position) shows(a policy.Asked, after known) policy.Asked {
	switch {
	case a.Answer != policy.Lacks:
	case p.since == 0 && !a.Near:
		a.Answer, a.Why = policy.Unknown, "its agent does not report since when it has a binary log of its own"
	default:
		a.Own = p.since > 0 && p.since <= after.seqno
	}
	return a
}

// preceding is the number before that of a transaction. A node that lacks it refuses it.
func preceding(g binlog.GTID) binlog.GTID {
	g.Seq--
	return g
}

// contentOf reads the last transaction of a node, and returns the checksum of its content.
func contentOf(ctx context.Context, n source, at position) (sum string, err error) {
	if at.last.Seq <= 1 {
		return "", errors.New("it is the first one")
	}
	s, err := n.open(append(slices.Clone(at.others), preceding(at.last).String()))
	if err != nil {
		return "", err
	}
	defer s.Close()
	var group binlog.Grouper
	for end := time.Now().Add(askTime); time.Now().Before(end); {
		e, err := s.Event(ctx, time.Second)
		if err != nil {
			return "", err
		}
		if e == nil {
			continue
		}
		kind, err := group.See(e)
		if err != nil {
			return "", err
		}
		switch t := group.Done(); {
		case kind == binlog.Begin && t.GTID.Domain == at.last.Domain && t.GTID != at.last:
			return "", fmt.Errorf("%s comes in its place", t.GTID)
		case kind == binlog.End && t.GTID == at.last:
			return t.Sum, nil
		}
	}
	return "", errors.New("it is not given")
}

// lacks asks a node what it has between two transactions, or after the first of them when the second one has no GTID.
// before is the one before the first of them. A number names
// the same transaction only where the content is the same: where it is not known, or not given any more, nothing is
// shown. foreign is what other servers have written there.
func lacks(ctx context.Context, n source, before binlog.GTID, last, next known) (asked policy.Asked,
	foreign []binlog.GTID) {
	at, err := n.position(ctx)
	if err != nil {
		return policy.Asked{Node: n.name(), Answer: policy.Unknown, Why: err.Error()}, nil
	}
	return between(ctx, n, at, before, last, next), at.foreign
}

// between is what lacks returns of a node that answers where it is.
func between(ctx context.Context, n source, at position, before binlog.GTID, last, next known) policy.Asked {
	answer := func(a policy.Answer, why string) policy.Asked {
		return policy.Asked{Node: n.name(), Answer: a, Why: why}
	}
	if before == (binlog.GTID{}) || last.sum == "" {
		return answer(policy.Purged, "the content of "+last.String()+" is not known")
	}
	ends := next.GTID == binlog.GTID{}
	if ends && last.Follows(at.last) {
		return answer(policy.Differs, "it ends at "+at.last.String())
	}
	s, err := n.open(append(at.others, before.String()))
	var no refusal
	switch {
	case errors.As(err, &no):
		return answer(policy.Purged, err.Error())
	case err != nil:
		return answer(policy.Unknown, err.Error())
	}
	defer s.Close()
	q := question{last: last, next: next}
	for end := time.Now().Add(askTime); time.Now().Before(end); {
		e, err := s.Event(ctx, time.Second)
		switch {
		case errors.As(err, &no):
			return answer(policy.Purged, err.Error())
		case err != nil:
			return answer(policy.Unknown, err.Error())
		case e == nil || e.Check() != nil:
			continue
		}
		a, why, ok := q.see(e)
		switch {
		case !ok && ends && q.same && at.last == last.GTID:
			a, ok = policy.Lacks, true
		case !ok && ends && q.same:
			a, ok = policy.Has, true
		}
		if ok {
			asked := answer(a, why)
			asked.Near = q.near && a == policy.Lacks && next.sum != ""
			return at.shows(asked, last)
		}
	}
	return answer(policy.Unknown, "it gives nothing")
}

// question sees what a node gives, until that answers what is between two transactions.
type question struct {
	last, next known
	group      binlog.Grouper
	near       bool // the last event of a transaction was that of last, and the server was not started since
	same       bool // last was seen, and has the same content
}

func (q *question) see(e binlog.Event) (a policy.Answer, why string, ok bool) {
	kind, err := q.group.See(e)
	t := q.group.Done()
	g := t.GTID
	switch {
	case err == nil && kind == binlog.Format:
		q.near = q.near && !e.Starts()
	case err != nil || g.Domain != q.last.Domain || g.Server != q.last.Server && kind != binlog.Begin:
	case kind == binlog.Begin && g.Server == q.last.Server && g.Seq <= q.last.Seq:
		q.near = g == q.last.GTID
	case kind == binlog.Begin && g.Server == q.last.Server && g.Seq < q.next.Seq:
		return policy.Has, g.String(), true
	case kind == binlog.Begin && !q.same:
		return policy.Differs, "", true
	case kind == binlog.Begin && g == q.next.GTID && q.next.sum != "": // seen to its end
	case kind == binlog.Begin && q.next.sum != "": // of another number
		return policy.Has, g.String(), true
	case kind == binlog.Begin && q.near:
		return policy.Lacks, "", true
	case kind == binlog.Begin:
		return policy.Purged, "its server was started in between", true
	case kind == binlog.End && g == q.last.GTID && t.Sum != q.last.sum:
		return policy.Differs, "", true
	case kind == binlog.End && g == q.last.GTID:
		q.same = true
	case kind == binlog.End && g == q.next.GTID && t.Sum == q.next.sum:
		return policy.Lacks, "", true
	case kind == binlog.End && g == q.next.GTID:
		return policy.Has, g.String(), true
	}
	return 0, "", false
}

func closeAll(all []source) {
	for _, n := range all {
		n.close()
	}
}
