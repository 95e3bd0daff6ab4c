package archival

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestSupersede: another cluster that has taken over stays known, also when the store does not have the record any
// more, until a person overrules that very record. What it lacks is counted in the domain of its last transaction.
func TestSupersede(t *testing.T) {
	p := &task.Promotion{Number: 1, Namespace: "site", Name: "standby", UID: "bbbbbbbb-1", GTID: "0-1-30,7-2-5",
		Alone: true, At: noon}
	c := &v1alpha1.GaleraCluster{}
	see := func(want string, surplus int64, a *task.Archived) {
		t.Helper()
		Supersede(c, a)
		s := c.Status.Superseded
		switch {
		case (s == nil) != (want == ""), s != nil && s.ID != want:
			t.Errorf("%+v instead of %s", s, want)
		case s != nil && (s.Surplus == nil) != (surplus < 0), s != nil && s.Surplus != nil && *s.Surplus != surplus:
			t.Errorf("%+v instead of %d more", s, surplus)
		}
	}
	see("", 0, nil)
	see("", 0, &task.Archived{GTID: "0-1-40"})
	see("1-bbbbbbbb", -1, &task.Archived{Promotion: p})
	see("1-bbbbbbbb", 0, &task.Archived{Promotion: p, GTID: "0-1-28"})
	see("1-bbbbbbbb", 12, &task.Archived{Promotion: p, GTID: "0-1-42"})
	see("1-bbbbbbbb", 12, &task.Archived{Promotion: p, GTID: "0-9-99"})
	see("1-bbbbbbbb", 12, &task.Archived{GTID: "0-1-42"})
	see("1-bbbbbbbb", 12, nil)
	if !c.Refuses() {
		t.Error("accepts writes")
	}
	c.Spec.OverrulesPromotion = "1-bbbbbbbb"
	see("1-bbbbbbbb", 12, &task.Archived{Promotion: p, GTID: "0-1-43"})
	if c.Refuses() {
		t.Error("refuses writes though that was overruled")
	}
	see("1-bbbbbbbb", 12, &task.Archived{GTID: "0-1-43"}) // it was made anew, and has not read the store
	see("", 0, &task.Archived{GTID: "0-1-43", Next: 2})
	later := &task.Promotion{Number: 2, Namespace: "site", Name: "third", UID: "cccccccc-1", GTID: "0-1-50",
		Alone: true}
	see("2-cccccccc", 5, &task.Archived{Promotion: later, GTID: "0-1-55"})
	if !c.Refuses() {
		t.Error("another promotion was not overruled")
	}
}

// TestSurplusOfALine: what a cluster has that was streamed to, and this one has lost, has the numbers of others in this
// one's archive. It is not taken for them; with the token for which it was compared, its number counts. A record with a
// token that does not state that is of an earlier release: its line counts, or nothing.
func TestSurplusOfALine(t *testing.T) {
	line := func(id string, after uint64) binlog.Line {
		return binlog.Line{History: "h", ID: id, After: binlog.GTID{Server: 1, Seq: after}}
	}
	const none, token, compared = 0, 1, 2
	const content, byLines, numbers, nothing = v1alpha1.CountedByContent, v1alpha1.CountedByLines,
		v1alpha1.CountedByNumbers, v1alpha1.CountedByNothing
	one := []binlog.Line{{History: "h", ID: "a"}}
	two := []binlog.Line{one[0], line("b", 100)}
	three := []binlog.Line{two[0], two[1], line("c", 104)}
	for name, tc := range map[string]struct {
		has     string
		line    string
		lines   []binlog.Line
		archive string
		with    int
		want    int64 // below 0 where it is not known
		by      string
	}{
		"of the archive alone":             {"0-1-110", "", two, "0-1-105", none, 0, numbers},
		"before lines were recorded":       {"0-1-110", "", two, "0-1-105", none, -1, nothing},
		"its line":                         {"0-1-110", "h/a", one, "0-1-112", none, 2, byLines},
		"its line, which ends before":      {"0-1-110", "h/a", one, "0-1-100", none, 0, byLines},
		"a later line":                     {"0-1-110", "h/a", two, "0-1-105", none, 5, byLines},
		"a later line, of the same number": {"0-1-105", "h/a", two, "0-1-105", none, 5, byLines},
		"a later line, beyond it":          {"0-1-110", "h/a", two, "0-1-115", none, 15, byLines},
		"before the later line":            {"0-1-90", "h/a", two, "0-1-105", none, 15, byLines},
		"where the later line begins":      {"0-1-100", "h/a", two, "0-1-100", none, 0, byLines},
		"the later line is its own":        {"0-1-105", "h/b", two, "0-1-107", none, 2, byLines},
		"three lines":                      {"0-1-105", "h/a", three, "0-1-107", none, 7, byLines},
		"another chain":                    {"0-1-110", "h/x", two, "0-1-115", none, -1, byLines},
		"no lines are known":               {"0-1-110", "h/a", nil, "0-1-115", none, -1, byLines},
		"where it begins is not known": {"0-1-110", "h/a", []binlog.Line{{History: "h", ID: "a"}, {History: "h", ID: "b"}},
			"0-1-115", none, -1, byLines},
		"its line is not known, and it was compared": {"0-1-105", "h/x", two, "0-1-105", compared, 0, content},
		"after what was compared":                    {"0-1-105", "h/a", two, "0-1-106", compared, 1, content},
		"of an earlier release, of the same number":  {"0-1-105", "h/a", two, "0-1-105", token, 5, byLines},
		"of an earlier release, in its line":         {"0-1-105", "h/a", one, "0-1-105", token, 0, byLines},
		"of an earlier release, in another chain":    {"0-1-105", "h/x", two, "0-1-105", token, -1, byLines},
		"of an earlier release, and without a line":  {"0-1-105", "", two, "0-1-105", token, -1, nothing},
		"of the archive alone, and compared":         {"0-1-105", "", two, "0-1-105", compared, 0, content},
	} {
		p := &task.Promotion{Number: 4, UID: "bbbbbbbb-1", GTID: tc.has, Line: tc.line, Alone: tc.by == numbers,
			Compared: tc.with == compared}
		// An operator of an earlier release may have counted something else. It does not state by what.
		for _, before := range []*v1alpha1.SupersededStatus{nil, {ID: p.ID(), Surplus: new(int64(0))}} {
			c := &v1alpha1.GaleraCluster{}
			c.Status.Superseded = before
			if tc.with != none {
				c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Token: &v1alpha1.SwitchToken{Number: 4, GTID: tc.has, To: p.UID}}
			}
			Supersede(c, &task.Archived{Promotion: p, GTID: tc.archive, Lines: tc.lines})
			have, want, by := c.Status.Superseded, tc.want, tc.by
			if before != nil && want < 0 && by != nothing { // it is kept, and proves nothing
				want, by = 0, ""
			}
			if (have.Surplus == nil) != (want < 0) || have.Surplus != nil && *have.Surplus != want || have.CountedBy != by {
				t.Errorf("%s, %v before: %+v, want %d by %q", name, before != nil, have, want, by)
			}
		}
	}
	c := &v1alpha1.GaleraCluster{}
	c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Token: &v1alpha1.SwitchToken{Number: 3, GTID: "0-1-105", To: "u"}}
	another := &task.Promotion{Number: 4, UID: "u", GTID: "0-1-105", Line: "h/x", Compared: true}
	Supersede(c, &task.Archived{Promotion: another, GTID: "0-1-105", Lines: two})
	if have := c.Status.Superseded.Surplus; have != nil {
		t.Errorf("the token of another attempt: %d", *have)
	}
}

// TestTakenByAnEarlierRelease: a planned change that was recorded by an earlier release ends as any other one.
func TestTakenByAnEarlierRelease(t *testing.T) {
	for _, line := range []string{"", "h/a"} {
		s := newSite(t)
		s.offered()
		s.answer(5, "0-1-30").Promotion = &task.Promotion{Number: 4, UID: "bbbbbbbb-1", GTID: "0-1-30", Line: line}
		s.sees(v1alpha1.SwitchTaken, "")
		if by := s.c.Status.Superseded; by == nil || by.Surplus != nil || !s.c.Superseded() {
			t.Errorf("%+v", by)
		}
	}
}
