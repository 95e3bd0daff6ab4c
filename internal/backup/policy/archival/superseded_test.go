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
	p := &task.Promotion{Number: 1, Namespace: "site", Name: "standby", UID: "bbbbbbbb-1", GTID: "0-1-30,7-2-5", At: noon}
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
	later := &task.Promotion{Number: 2, Namespace: "site", Name: "third", UID: "cccccccc-1", GTID: "0-1-50"}
	see("2-cccccccc", 5, &task.Archived{Promotion: later, GTID: "0-1-55"})
	if !c.Refuses() {
		t.Error("another promotion was not overruled")
	}
}

// TestSurplusOfALine: what a cluster has that was streamed to, and this one has lost, has the numbers of others in this
// one's archive. It is not taken for them; with the token for which it was compared, its number counts.
func TestSurplusOfALine(t *testing.T) {
	line := func(id string, after uint64) binlog.Line {
		return binlog.Line{History: "h", ID: id, After: binlog.GTID{Server: 1, Seq: after}}
	}
	one := []binlog.Line{{History: "h", ID: "a"}}
	two := append(one[:1:1], line("b", 100))
	for name, tc := range map[string]struct {
		has     string
		line    string
		lines   []binlog.Line
		archive string
		token   bool
		want    int64 // below 0 where it is not known
	}{
		"before lines were recorded":       {"0-1-110", "", two, "0-1-105", false, 0},
		"its line":                         {"0-1-110", "h/a", one, "0-1-112", false, 2},
		"its line, which ends before":      {"0-1-110", "h/a", one, "0-1-100", false, 0},
		"a later line":                     {"0-1-110", "h/a", two, "0-1-105", false, 5},
		"a later line, of the same number": {"0-1-105", "h/a", two, "0-1-105", false, 5},
		"a later line, beyond it":          {"0-1-110", "h/a", two, "0-1-115", false, 15},
		"before the later line":            {"0-1-90", "h/a", two, "0-1-105", false, 15},
		"where the later line begins":      {"0-1-100", "h/a", two, "0-1-100", false, 0},
		"the later line is its own":        {"0-1-105", "h/b", two, "0-1-107", false, 2},
		"three lines":                      {"0-1-105", "h/a", append(two[:2:2], line("c", 104)), "0-1-107", false, 7},
		"another chain":                    {"0-1-110", "h/x", two, "0-1-115", false, -1},
		"no lines are known":               {"0-1-110", "h/a", nil, "0-1-115", false, -1},
		"where it begins is not known": {"0-1-110", "h/a", []binlog.Line{{History: "h", ID: "a"}, {History: "h", ID: "b"}},
			"0-1-115", false, -1},
		"its line is not known, and it had a token": {"0-1-105", "h/x", two, "0-1-105", true, 0},
		"after the token": {"0-1-105", "h/a", two, "0-1-106", true, 1},
	} {
		c := &v1alpha1.GaleraCluster{}
		p := &task.Promotion{Number: 4, UID: "bbbbbbbb-1", GTID: tc.has, Line: tc.line}
		if tc.token {
			c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Token: &v1alpha1.SwitchToken{Number: 4, GTID: tc.has, To: p.UID}}
		}
		Supersede(c, &task.Archived{Promotion: p, GTID: tc.archive, Lines: tc.lines})
		have := c.Status.Superseded.Surplus
		if (have == nil) != (tc.want < 0) || have != nil && *have != tc.want {
			t.Errorf("%s: %v, want %d", name, have, tc.want)
		}
	}
	c := &v1alpha1.GaleraCluster{}
	c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Token: &v1alpha1.SwitchToken{Number: 3, GTID: "0-1-105", To: "u"}}
	Supersede(c, &task.Archived{Promotion: &task.Promotion{Number: 4, UID: "u", GTID: "0-1-105", Line: "h/x"},
		GTID: "0-1-105", Lines: two})
	if have := c.Status.Superseded.Surplus; have != nil {
		t.Errorf("the token of another attempt: %d", *have)
	}
}
