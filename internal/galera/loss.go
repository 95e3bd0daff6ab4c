package galera

import (
	"slices"
	"time"
)

// Loss is what one process of the operator remembers of the loss of the Primary component: since when it has seen none,
// and what was recorded then.
type Loss struct{ Since, Recorded time.Time }

// SeeLoss sets NoPrimarySince, which is recorded and shown, and NoPrimaryFor, which decides. recorded is the time that
// an earlier pass of any process found, zero when it saw a Primary component. seen is what the last pass of this
// process returned: processes have different clocks, so each measures for itself, as long as the record stays as it saw
// it. A record in the future is made anew, and so is the count: this process may not be able to write its own record,
// and another one may make the same. A Primary component of a minority counts, too: the time begins with its end. A
// hibernated cluster has none, as it is asked to: the time begins when it is to start again.
func (s *Snapshot) SeeLoss(recorded time.Time, seen Loss, now time.Time) Loss {
	s.NoPrimarySince, s.NoPrimaryFor = time.Time{}, 0
	if s.Hibernate && s.Hibernated || slices.ContainsFunc(s.Members, Member.InPrimary) {
		return Loss{}
	}
	s.NoPrimarySince = recorded
	anew := recorded.IsZero() || recorded.After(now)
	if anew {
		s.NoPrimarySince = now
	}
	if anew || seen.Since.IsZero() || seen.Since.After(now) ||
		!recorded.Truncate(time.Second).Equal(seen.Recorded.Truncate(time.Second)) { // as the API keeps it
		seen.Since = now
	}
	s.NoPrimaryFor = now.Sub(seen.Since)
	return Loss{Since: seen.Since, Recorded: s.NoPrimarySince}
}

// longLoss is how long there must be no Primary component before a member whose pods come and go counts as one that
// does not answer.
const longLoss = 10 * time.Minute

// SeeSilence sets SilentFor of the i-th member, and returns since when this process has waited for its agent; seen is
// what it returned last, and samePod reports whether the pod is the same since, and has not begun to run. Another pod
// has its own time to start, but not again and again forever. In a hibernated cluster nothing is waited for.
func (s *Snapshot) SeeSilence(i int, seen time.Time, samePod bool, now time.Time) time.Time {
	s.Members[i].SilentFor = 0
	switch {
	case s.Members[i].Known || s.Hibernate && s.Hibernated:
		return time.Time{}
	case seen.IsZero() || seen.After(now) || !samePod && s.NoPrimaryFor < longLoss:
		return now
	}
	s.Members[i].SilentFor = now.Sub(seen)
	return seen
}
