package galera

import (
	"testing"
	"time"
)

func TestSeeLoss(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	primary := Member{Known: true, Server: &Server{Component: ComponentPrimary, ClusterUUID: "u"}}
	lost := Member{Known: true, Server: &Server{Component: ComponentNonPrimary, ClusterUUID: "u"}}
	for name, tc := range map[string]struct {
		members  []Member
		recorded time.Time
		since    time.Time
		lasts    time.Duration
	}{
		"a Primary component":                    {[]Member{primary, primary, primary}, time.Time{}, time.Time{}, 0},
		"of a minority":                          {[]Member{primary, lost, {}}, time.Time{}, time.Time{}, 0},
		"of a minority, after a total loss":      {[]Member{primary, lost, {}}, now.Add(-time.Hour), time.Time{}, 0},
		"just lost":                              {[]Member{lost, lost, {}}, time.Time{}, now, 0},
		"lost for a while":                       {[]Member{lost, {}, {}}, now.Add(-time.Minute), now.Add(-time.Minute), time.Minute},
		"recorded by a clock that is ahead":      {[]Member{lost, {}, {}}, now.Add(time.Minute), now.Add(time.Minute), 0},
		"no agent answers: no component is seen": {[]Member{{}, {}, {}}, now.Add(-time.Minute), now.Add(-time.Minute), time.Minute},
	} {
		s := Snapshot{Members: tc.members, NoPrimarySince: now, NoPrimaryFor: time.Hour}
		s.SeeLoss(tc.recorded, now)
		if !s.NoPrimarySince.Equal(tc.since) || s.NoPrimaryFor != tc.lasts {
			t.Errorf("%s: since %s for %s, want %s for %s", name, s.NoPrimarySince, s.NoPrimaryFor, tc.since, tc.lasts)
		}
	}
}
