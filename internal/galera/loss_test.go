package galera

import (
	"testing"
	"time"
)

func TestSeeLoss(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	before := func(d time.Duration) time.Time { return now.Add(-d) }
	primary := Member{Known: true, Server: &Server{Component: ComponentPrimary, ClusterUUID: "u"}}
	lost := Member{Known: true, Server: &Server{Component: ComponentNonPrimary, ClusterUUID: "u"}}
	var never time.Time
	for name, tc := range map[string]struct {
		members        []Member
		recorded, seen time.Time
		since          time.Time
		lasts          time.Duration
	}{
		"a Primary component":               {[]Member{primary, primary, primary}, never, never, never, 0},
		"of a minority":                     {[]Member{primary, lost, {}}, never, never, never, 0},
		"of a minority, after a total loss": {[]Member{primary, lost, {}}, before(time.Hour), before(time.Hour), never, 0},
		"just lost":                         {[]Member{lost, lost, {}}, never, never, now, 0},
		"lost for a while": {[]Member{lost, {}, {}}, before(time.Minute), before(time.Minute),
			before(time.Minute), time.Minute},
		"recorded by a clock that is ahead":   {[]Member{lost, {}, {}}, before(-time.Hour), never, now, 0},
		"the clock was set behind the record": {[]Member{lost, {}, {}}, before(-time.Hour), before(time.Minute), now, 0},
		"another process has seen one since":  {[]Member{lost, {}, {}}, never, before(time.Minute), now, 0},
		"recorded by another process":         {[]Member{lost, {}, {}}, before(time.Hour), never, before(time.Hour), 0},
		"this process has not seen it as long": {[]Member{lost, {}, {}}, before(time.Hour), before(time.Minute),
			before(time.Hour), time.Minute},
		"no agent answers: no component is seen": {[]Member{{}, {}, {}}, before(time.Minute), before(time.Minute),
			before(time.Minute), time.Minute},
		"the clock of this process was set back": {[]Member{lost, {}, {}}, before(time.Minute), before(-time.Hour),
			before(time.Minute), 0},
	} {
		s := Snapshot{Members: tc.members, NoPrimarySince: now, NoPrimaryFor: time.Hour}
		next := s.SeeLoss(tc.recorded, Loss{tc.seen, tc.recorded}, now).Since
		if !s.NoPrimarySince.Equal(tc.since) || s.NoPrimaryFor != tc.lasts {
			t.Errorf("%s: since %s for %s, want %s for %s", name, s.NoPrimarySince, s.NoPrimaryFor, tc.since, tc.lasts)
		}
		if want := now.Add(-tc.lasts); !tc.since.IsZero() && !next.Equal(want) || tc.since.IsZero() && !next.IsZero() {
			t.Errorf("%s: goes on from %s, want %s", name, next, want)
		}
	}
	another := Snapshot{Members: []Member{lost, {}, {}}}
	if another.SeeLoss(before(time.Minute), Loss{before(time.Hour), before(time.Hour)}, now); another.NoPrimaryFor != 0 {
		t.Errorf("another process has seen a Primary component since, and its loss: %s", another.NoPrimaryFor)
	}
	s := Snapshot{Hibernate: true, Hibernated: true, Members: []Member{{}, {}}}
	if next := s.SeeLoss(before(time.Hour), Loss{}, now).Since; !next.IsZero() || !s.NoPrimarySince.IsZero() ||
		s.NoPrimaryFor != 0 {
		t.Errorf("a hibernated cluster: %s, %s", next, s.NoPrimaryFor)
	}
}

func TestSeeSilence(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, tc := range map[string]struct {
		known, hibernate, same bool
		ago, lost              time.Duration
		want                   time.Duration
	}{
		"it answers":                               {known: true, same: true, ago: time.Minute},
		"it is hibernated":                         {hibernate: true, same: true, ago: time.Minute},
		"it has been silent":                       {same: true, ago: time.Minute, want: time.Minute},
		"its pod is another one":                   {ago: time.Minute},
		"its pods come and go, and nothing serves": {ago: 11 * time.Minute, lost: 11 * time.Minute, want: 11 * time.Minute},
		"the clock was set back":                   {same: true, ago: -time.Minute},
	} {
		s := Snapshot{Hibernate: tc.hibernate, Hibernated: tc.hibernate, NoPrimaryFor: tc.lost,
			Members: []Member{{Known: tc.known}}}
		next := s.SeeSilence(0, now.Add(-tc.ago), tc.same, now)
		if got := s.Members[0].SilentFor; got != tc.want || next.IsZero() != (tc.known || tc.hibernate) {
			t.Errorf("%s: silent for %s since %s, want %s", name, got, next, tc.want)
		}
		if again := s.SeeSilence(0, next, true, now.Add(time.Second)); !next.IsZero() && !again.Equal(next) {
			t.Errorf("%s: the time does not go on: %s, %s", name, next, again)
		}
	}
}
