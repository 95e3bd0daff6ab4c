package binlog

import (
	"strings"
	"testing"
	"time"
)

func gtid(seq uint64) GTID { return GTID{Server: 1, Seq: seq} }

func at(seconds int) time.Time { return time.Date(2026, 11, 24, 12, 0, seconds, 0, time.UTC) }

// segment n has the transactions after previous up to last, the latest of which is of a time.
func segment(n, previous, last uint64, latest int) Head {
	return Head{Format: 1, Number: n, Chain: 1, Previous: gtid(previous), First: gtid(previous + 1), Last: gtid(last), FirstTime: at(latest - 1), LastTime: at(latest), Bytes: 10}
}

func begins(n, last uint64, why string) Head {
	return Head{Format: 1, Number: n, Chain: n, Begins: true, Last: gtid(last), Why: why}
}

func TestChoose(t *testing.T) {
	archive := []Head{begins(1, 5, ""), segment(2, 5, 10, 10), segment(3, 10, 20, 20), segment(4, 20, 30, 30)}
	base := Base{ID: "b1", GTID: gtid(12), Time: at(15)}
	through := Through{Time: at(50), Last: gtid(30)}
	with := func(change func(h []Head)) []Head {
		h := append([]Head{}, archive...)
		change(h)
		return h
	}
	for name, c := range map[string]struct {
		heads    []Head
		base     Base
		target   Target
		from, to uint64
		says     string
	}{
		"latest":                          {archive, base, Target{Latest: true}, 3, 4, ""},
		"a time within":                   {archive, base, Target{Time: at(25)}, 3, 4, ""},
		"a time in the first segment":     {archive, base, Target{Time: at(17)}, 3, 3, ""},
		"the time of the last one":        {archive, base, Target{Time: at(30)}, 3, 4, ""},
		"a time when nothing was written": {archive, base, Target{Time: at(50)}, 3, 4, ""},
		"a time that is not archived yet": {archive, base, Target{Time: at(51)}, 0, 0, "the archive ends before it"},
		"a transaction":                   {archive, base, Target{GTID: gtid(21)}, 3, 4, ""},
		"the last of a segment":           {archive, base, Target{GTID: gtid(20)}, 3, 3, ""},
		"one that is not archived":        {archive, base, Target{GTID: gtid(31)}, 0, 0, "to 2026-11-24T12:00:50Z (0-1-30)"},
		"one of another server":           {archive, base, Target{GTID: GTID{Server: 2, Seq: 21}}, 0, 0, "the archive ends before it"},
		"the base is where it begins":     {archive, Base{ID: "b0", GTID: gtid(5), Time: at(5)}, Target{GTID: gtid(6)}, 2, 2, ""},
		"the base is older":               {archive, Base{ID: "b0", GTID: gtid(4), Time: at(4)}, Target{Latest: true}, 0, 0, "does not go back"},
		"the base is the latest":          {archive, Base{ID: "b9", GTID: gtid(30), Time: at(40)}, Target{Latest: true}, 4, 4, ""},
		"nothing is archived":             {nil, base, Target{Latest: true}, 0, 0, "does not go back"},
		"a segment is missing":            {append(append([]Head{}, archive[:3]...), segment(5, 30, 40, 40)), base, Target{Latest: true}, 0, 0, "missing"},
		"one before it is missing":        {archive[1:], base, Target{Latest: true}, 3, 4, ""},
		"a segment of another archive": {with(func(h []Head) { h[3].Previous = gtid(19) }), base, Target{Latest: true}, 0, 0,
			"goes on after 0-1-19"},
		"a gap":               {append(append([]Head{}, archive...), begins(5, 40, "purged"), segment(6, 40, 50, 60)), base, Target{Latest: true}, 0, 0, "purged"},
		"a time before a gap": {append(append([]Head{}, archive...), begins(5, 40, "purged"), segment(6, 40, 50, 60)), base, Target{Time: at(25)}, 3, 4, ""},
		"a base after a gap": {append(append([]Head{}, archive...), begins(5, 40, "purged"), segment(6, 40, 50, 60)), Base{ID: "b2", GTID: gtid(45), Time: at(55)},
			Target{Latest: true}, 6, 6, ""},
	} {
		r, err := Choose(c.heads, c.base, c.target, through)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || r.From != c.from || r.To != c.to {
			t.Errorf("%s: %d to %d instead of %d to %d: %v", name, r.From, r.To, c.from, c.to, err)
		}
	}
}

func TestTargetBefore(t *testing.T) {
	base := Base{ID: "b1", GTID: gtid(12), Time: at(15)}
	for name, c := range map[string]struct {
		base   Base
		target Target
		want   bool
	}{
		"its own time":          {base, Target{Time: at(15)}, true},
		"before":                {base, Target{Time: at(14)}, false},
		"its own transaction":   {base, Target{GTID: gtid(12)}, true},
		"an earlier one":        {base, Target{GTID: gtid(11)}, false},
		"latest":                {base, Target{Latest: true}, true},
		"a base without a GTID": {Base{ID: "b0", Time: at(1)}, Target{Latest: true}, false},
	} {
		if c.target.Before(c.base) != c.want {
			t.Errorf("%s: not %v", name, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	take := func(c *Cut, seq uint64, seconds int) bool {
		return c.Takes(Transaction{GTID: gtid(seq), Time: at(seconds)})
	}
	c := &Cut{Base: gtid(12), Last: gtid(12), Target: Target{Time: at(20)}}
	if take(c, 12, 10) || !take(c, 13, 18) || !take(c, 15, 20) || take(c, 16, 21) || take(c, 17, 19) || !c.Ended() || c.Last != gtid(15) {
		t.Errorf("a time: %+v", c)
	}
	c = &Cut{Base: gtid(12), Last: gtid(12), Target: Target{GTID: gtid(14)}}
	if !take(c, 13, 18) || !take(c, 14, 30) || take(c, 15, 19) || c.Last != gtid(14) {
		t.Errorf("a GTID: %+v", c)
	}
	c = &Cut{Base: gtid(12), Last: gtid(12), Target: Target{Latest: true}}
	if !take(c, 13, 18) || !take(c, 14, 30) || c.Ended() {
		t.Errorf("latest: %+v", c)
	}
}

func TestGTID(t *testing.T) {
	for text, good := range map[string]bool{"": true, "0-1-5": true, "0-1-18446744073709551615": true, "0-1": false, "0-1-5x": false, "-1-1-5": false, "00-1-5": false, "0-1-5,1-1-2": false} {
		if g, err := Parse(text); (err == nil) != good || err == nil && g.String() != text {
			t.Errorf("%q: %v %v", text, g, err)
		}
	}
	g, others := In("0-1-5,1-1-7, 2-3-9", 1)
	if g != (GTID{1, 1, 7}) || len(others) != 2 || others[1] != "2-3-9" {
		t.Errorf("%v %v", g, others)
	}
	if gtid(5).Follows(GTID{Server: 2, Seq: 4}) || gtid(5).Follows(gtid(5)) || !gtid(6).Follows(gtid(4)) || !gtid(6).Follows(GTID{}) {
		t.Error("what follows what")
	}
}

func TestHead(t *testing.T) {
	line, err := segment(3, 10, 20, 20).Encode()
	if err != nil {
		t.Fatal(err)
	}
	h, size, err := Decode(append(line, "\x00\x01\n"...))
	if err != nil || size != len(line) || h.Last != gtid(20) || !h.LastTime.Equal(at(20)) {
		t.Errorf("%+v, %d: %v", h, size, err)
	}
	for _, bad := range []string{"", "{}\n", "{", "{\"format\":2}\n", "x\n"} {
		if _, _, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for name, good := range map[string]bool{Name(7): true, "x/" + Name(123456): true, ThroughName: false, "7": false, "00000000000x": false} {
		if _, ok := Number(name); ok != good {
			t.Errorf("%s: %v", name, ok)
		}
	}
}
