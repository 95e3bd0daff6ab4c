package policy

import (
	"strings"
	"testing"
)

func TestJudgeHole(t *testing.T) {
	one := func(n string, a Answer) Asked { return Asked{Node: n, Answer: a, Why: "it is away", Own: a == Lacks} }
	for name, c := range map[string]struct {
		next   uint64
		nodes  []Asked
		waited bool
		want   Act
		prefer string
		says   string
	}{
		"two lack it": {12, []Asked{one("a", Lacks), one("b", Lacks)}, false, Follow, "",
			"a and b have nothing there"},
		"two lack it, and one is away": {12, []Asked{one("a", Lacks), one("b", Lacks), one("c", Unknown)}, false,
			Follow, "", ""},
		"one has it": {12, []Asked{one("a", Lacks), one("b", Lacks), one("c", Has)}, false,
			Refuse, "c", "c has"},
		"one that is no use has it": {12, []Asked{one("a", Lacks), one("b", HasAndRefused)}, false, Refuse, "",
			"does not go on either"},
		"the other has a copy": {12, []Asked{one("a", Lacks), {Node: "b", Answer: Lacks}}, false, Begin, "",
			"a lacks it; b got a full copy"},
		"the other is away": {12, []Asked{one("a", Lacks), one("b", Unknown)}, false, Wait, "",
			"b (it is away)"},
		"the other is not waited for for ever": {12, []Asked{one("a", Lacks), one("b", Unknown)}, true, Begin, "",
			"does not answer"},
		"the other has purged it": {12, []Asked{one("a", Lacks), one("b", Purged)}, false, Begin, "",
			"b was started, or has purged"},
		"all were started in between": {12, []Asked{one("a", Purged), one("b", Purged), one("c", Purged)}, false,
			Begin, "", "a, b, c was started"},
		"one node of one: it may be its own": {12, []Asked{one("a", Lacks)}, false, Begin, "", "a lacks it"},
		"more than so many statements that fail": {12 + MaxHole, []Asked{one("a", Lacks), one("b", Lacks), one("c", Lacks)},
			false, Begin, "", "on no node"},
		"as many statements that fail as allowed": {11 + MaxHole, []Asked{one("a", Lacks), one("b", Lacks)}, false, Follow,
			"", ""},
	} {
		v := JudgeHole(gtid(10), gtid(c.next), c.nodes, c.waited)
		if v.Act != c.want || v.Prefer != c.prefer || !strings.Contains(v.Why, c.says) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestJudgeNext(t *testing.T) {
	one := func(n string, a Answer) Asked { return Asked{Node: n, Answer: a, Why: "it is away"} }
	own := func(n string) Asked { return Asked{Node: n, Answer: Lacks, Own: true} }
	for name, c := range map[string]struct {
		nodes  []Asked
		waited bool
		want   Act
		says   string
	}{
		"two show":                   {[]Asked{own("a"), own("b"), one("c", Unknown)}, false, Follow, ""},
		"one shows, another is away": {[]Asked{own("a"), one("b", Lacks), one("c", Unknown)}, false, Wait, "for c (it"},
		"one shows, none is waited for": {[]Asked{own("a"), one("b", Lacks), one("c", Unknown)}, true, Begin,
			": a alone shows it; b got a full copy, or ran without a binary log, since; c (it is away) does not"},
		"all others have a copy of one": {[]Asked{own("a"), one("b", Lacks), one("c", Purged)}, false, Begin, "b got"},
		"all ran without one":           {[]Asked{one("a", Lacks), one("b", Lacks)}, false, Begin, ": a, b got"},
		"one was not started":           {[]Asked{one("a", Lacks), {Answer: Lacks, Near: true}}, false, Follow, ""},
		"it is another one there":       {[]Asked{own("a"), own("b"), one("c", Has)}, false, Refuse, "on c"},
		"one node of one":               {[]Asked{own("a")}, false, Follow, ""},
		"one of one, without a log":     {[]Asked{one("a", Lacks)}, false, Begin, "a got"},
	} {
		v := JudgeNext(gtid(10), gtid(11), c.nodes, c.waited)
		if v.Act != c.want || !strings.Contains(v.Why, c.says) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestJudgeLast(t *testing.T) {
	one := func(n string, a Answer) Asked { return Asked{Node: n, Answer: a, Why: "it is away"} }
	own := func(n string) Asked { return Asked{Node: n, Answer: Lacks, Own: true} }
	for name, c := range map[string]struct {
		nodes  []Asked
		waited bool
		want   Act
		says   string
	}{
		"two show it":                {[]Asked{own("a"), own("b"), one("c", Unknown)}, false, Follow, ""},
		"one shows, another is away": {[]Asked{own("a"), one("b", Lacks), one("c", Unknown)}, false, Wait, "for c (it"},
		"one shows, none is waited for": {[]Asked{own("a"), one("b", Lacks), one("c", Unknown)}, true, Begin,
			"show that nothing follows 0-1-10: a alone shows it; b got a full copy"},
		"all others have a copy":       {[]Asked{own("a"), one("b", Lacks), one("c", Purged)}, false, Begin, "b got"},
		"one that has more, for long":  {[]Asked{own("a"), own("b"), one("c", Has)}, true, Wait, "c has a"},
		"one that is refused has more": {[]Asked{own("a"), own("b"), one("c", HasAndRefused)}, true, Wait, "c has a"},
		"one was not started":          {[]Asked{{Answer: Lacks, Near: true}, one("b", Lacks)}, false, Begin, "b got"},
		"one node of one":              {[]Asked{own("a")}, false, Follow, ""},
		"one of one, without a log":    {[]Asked{one("a", Lacks)}, false, Begin, "a got"},
	} {
		v := JudgeLast(gtid(10), c.nodes, c.waited)
		if v.Act != c.want || !strings.Contains(v.Why, c.says) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
