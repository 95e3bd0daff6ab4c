package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
)

// TestUnfit: when no backup leads to the end of an archive, the report has the latest one, and why it does not.
func TestUnfit(t *testing.T) {
	a := newStore().begins(5, "it is the first").segment(10, 10).segment(20, 20)
	for want, bases := range map[string][]Base{
		"":                        nil,
		"b0 it ends at 0-1-4":     {base("b0", 4, 4)},
		"b2 it is not of the":     {base("b0", 4, 4), ofLine(base("b2", 12, 12), line("c", 0))},
		"b3 it does not name its": {base("b0", 4, 4), ofLine(base("b3", 12, 12), binlog.Line{})},
	} {
		r, err := Survey(a.archive(), bases)
		got := strings.TrimSpace(r.Unfit.ID + " " + r.Unfit.Why)
		if err != nil || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if r, err := Survey(a.archive(), []Base{base("b1", 12, 12), base("b0", 4, 4)}); err != nil || r.Unfit != (Unfit{}) {
		t.Error(r, err)
	}
}

func TestSurvey(t *testing.T) {
	s := func() *store {
		return newStore().begins(5, "it is the first").segment(10, 10).segment(20, 20).segment(30, 30)
	}
	gap := func() *store { return s().begins(40, "purged").segment(50, 60) }
	for name, c := range map[string]struct {
		archive   Archive
		bases     []Base
		chain     uint64
		base, gap string
	}{
		"nothing":                          {newStore().archive(), nil, 0, "", ""},
		"no base yet":                      {s().archive(), nil, 1, "", ""},
		"the earliest":                     {s().archive(), []Base{base("b2", 25, 25), base("b1", 12, 12)}, 1, "b1", ""},
		"one before the archive":           {s().archive(), []Base{base("b0", 4, 4)}, 1, "", ""},
		"a gap":                            {gap().archive(), []Base{base("b1", 12, 12)}, 5, "", "purged"},
		"a gap that a backup makes up for": {gap().archive(), []Base{base("b1", 12, 12), base("b3", 44, 55)}, 5, "b3", ""},
		"a segment in the middle is lost":  {s().archive(3), []Base{base("b1", 12, 12)}, 4, "", "000000000003 is missing"},
		"a backup after what is lost":      {s().archive(3), []Base{base("b1", 12, 12), base("b2", 20, 25)}, 4, "b2", ""},
		"the first ones are lost": {s().archive(1, 2, 3), []Base{base("b1", 12, 12)}, 4, "",
			"000000000001 to 000000000003 are missing"},
		"the first ones were removed": {s().archive(1, 2), []Base{base("b1", 12, 12)}, 3, "b1", ""},
		"one of a lost line": {s().another("s", line("b", 800)).begins(8, "recovered").archive(),
			[]Base{base("x", 12, 12)}, 5, "", "recovered"},
		"on again, the number is the same": {s().another("s2", line("a", 0)).begins(30, "disabled").archive(),
			[]Base{base("x", 30, 40)}, 5, "", "disabled"},
		"one that the line went on without": {s().continues("b", 3000).archive(), []Base{base("x", 31, 40)}, 1, "", ""},
		"one that the line went on from":    {s().continues("b", 3000).archive(), []Base{base("x", 12, 40)}, 1, "x", ""},
		"one of a line that the chain continued in": {s().continues("b", 3000).segment(40, 50).archive(),
			[]Base{ofLine(base("x", 35, 40), line("b", 3000))}, 1, "x", ""},
		"one of a line that the chain did not continue in": {s().continues("b", 3000).segment(40, 50).archive(),
			[]Base{ofLine(base("x", 35, 40), line("c", 3000))}, 1, "", ""},
		"one without a line is none":         {s().archive(), []Base{ofLine(base("x", 12, 12), binlog.Line{})}, 1, "", ""},
		"one ahead of the archive is a base": {s().archive(), []Base{base("x", 33, 40)}, 1, "x", ""},
		"one ahead whose node numbers differently": {newStore().begins(1, "it is the first").put(binlog.Head{First: gtid(2),
			Last: gtid(2), Transactions: 1, Seqnos: true, Anchors: []binlog.Anchor{{Number: 2, Seqno: 400}}}).
			continues("b", 3000).archive(), []Base{base("x", 3, 40)}, 1, "", ""},
		"a gap, and a lost segment after it":  {gap().segment(60, 70).archive(6), nil, 7, "", "000000000006 is missing"},
		"the beginning after a gap is lost":   {gap().archive(5), nil, 6, "", "000000000005 is missing"},
		"a lost segment of a chain before it": {gap().archive(3), []Base{base("b3", 44, 55)}, 5, "b3", ""},
	} {
		r, err := Survey(c.archive, c.bases)
		if err != nil || r.Chain != c.chain || r.Base.ID != c.base || (c.gap == "") != (r.Gap == "") ||
			!strings.Contains(r.Gap, c.gap) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	again := gap()
	again.heads[3].Checksum = "of an archiver that was held up"
	if r, err := Survey(Archive{Numbers: []uint64{4, 5, 6}, Head: again.archive().Head}, nil); err != nil || r.Chain != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	late := s()
	late.heads[2].Checksum = "of an archiver that was held up"
	if r, err := Survey(late.archive(1, 2), []Base{base("b1", 12, 12), base("b2", 25, 25)}); err != nil || r.Chain != 4 ||
		r.Base.ID != "b2" {
		t.Errorf("%+v, %v", r, err)
	}
	failing := s().archive()
	failing.Head = func(uint64) (binlog.Head, error) { return binlog.Head{}, errors.New("away") }
	if _, err := Survey(failing, nil); err == nil {
		t.Error("a store that does not answer has nothing")
	}
}

func TestPrune(t *testing.T) {
	const window = 30 * time.Second
	s := func() *store {
		return newStore().begins(5, "it is the first").segment(10, 10).segment(20, 20).segment(30, 30)
	}
	gap := func() *store { return s().begins(40, "purged").segment(50, 60) }
	recovered := s().another("s", line("b", 800)).begins(8, "recovered").segment(12, 40).segment(20, 45)
	for name, c := range map[string]struct {
		archive Archive
		bases   []Base
		now     int
		want    string
	}{
		"nothing":                    {newStore().archive(), nil, 60, "[]"},
		"no base: one is being made": {s().archive(), nil, 999, "[]"},
		"what the only base needs":   {s().archive(), []Base{base("b1", 12, 12)}, 30, "[1 2]"},
		"a base within the window":   {s().archive(), []Base{base("b1", 12, 12), base("b2", 25, 25)}, 40, "[1 2]"},
		"a base before the window": {s().archive(), []Base{base("b1", 12, 12), base("b2", 25, 25)}, 61,
			"[1 2 3]"},
		"the latest of those before": {s().archive(), []Base{base("b0", 5, 5), base("b1", 12, 12),
			base("b2", 25, 25)}, 51, "[1 2]"},
		"the clocks differ":            {s().archive(), []Base{base("b1", 12, 12), base("b2", 25, 25)}, 56, "[1 2]"},
		"a Job's clock was behind":     {s().archive(), []Base{base("b1", 12, 12), base("b2", 25, 5)}, 51, "[1 2]"},
		"only such a one is there":     {s().archive(), []Base{base("b2", 25, 5)}, 51, "[1 2 3]"},
		"such a one, and one after it": {s().archive(), []Base{base("b2", 15, 5), base("b3", 25, 25)}, 41, "[1 2]"},
		"the last segment stays":       {s().archive(), []Base{base("b9", 30, 40)}, 999, "[1 2 3]"},
		"one ahead of the archive":     {s().archive(), []Base{base("b1", 12, 12), base("b9", 31, 40)}, 999, "[1 2]"},
		"a chain of the window, with its base": {gap().archive(), []Base{base("b1", 12, 12), base("b3", 44, 55)}, 45,
			"[1 2 5]"},
		"a chain before the window": {gap().archive(), []Base{base("b1", 12, 12), base("b3", 44, 55)}, 61,
			"[1 2 3 4 5]"},
		"a chain of the window, without one": {gap().archive(), []Base{base("b3", 44, 55)}, 45, "[5]"},
		"a base of a line that the chain continued in": {s().continues("b", 3000).segment(40, 50).segment(50, 60).archive(),
			[]Base{base("b1", 12, 12), ofLine(base("b2", 45, 55), line("b", 3000))}, 999, "[1 2 3 4 5 6]"},
		"a base of a lost line": {recovered.archive(), []Base{base("x", 30, 30)}, 50, "[1 2 3 4]"},
	} {
		have, _, err := Prune(c.archive, c.bases, window, at(c.now))
		if text := fmt.Sprint(have); err != nil || text != c.want {
			t.Errorf("%s: %s instead of %s, %v", name, text, c.want, err)
		}
	}
	failing := s().archive(3)
	failing.Numbers = []uint64{1, 2, 3, 4}
	if have, _, err := Prune(failing, []Base{base("b1", 12, 12)}, window, at(60)); err == nil {
		t.Errorf("a segment cannot be read, and %v are removed", have)
	}
}

// TestNeeded: each chain of the window has its backup, by what the archive shows of it.
func TestNeeded(t *testing.T) {
	const window = 30 * time.Second
	s := func() *store {
		return newStore().begins(5, "it is the first").segment(10, 10).segment(20, 20).segment(30, 30)
	}
	gap := func() *store { return s().begins(40, "purged").segment(50, 60) }
	b1, b3 := base("b1", 12, 12), base("b3", 44, 55)
	for name, c := range map[string]struct {
		archive Archive
		bases   []Base
		now     int
		want    string
	}{
		"nothing":                    {newStore().archive(), nil, 60, ""},
		"no base":                    {s().archive(), nil, 60, ""},
		"the latest of those before": {s().archive(), []Base{base("b0", 5, 5), b1, base("b2", 25, 25)}, 51, "b1"},
		"the earliest of the window": {s().archive(), []Base{base("b2", 25, 25), b1}, 40, "b1"},
		"it is not known what is of the window": {s().archive(), []Base{base("b0", 5, 5), b1, base("b2", 25, 25)}, -1e6,
			"b0"},
		"a chain that has ended":        {gap().archive(), []Base{b1, b3}, 55, "b3 b1"},
		"one that ends where it begins": {gap().archive(), []Base{b1, b3}, 60, "b3 b1"},
		"one of before the window":      {gap().archive(), []Base{b1, b3}, 61, "b3"},
		"the last chain, before it":     {s().archive(), []Base{b1}, 999, "b1"},
		"one that no backup leads to":   {gap().archive(), []Base{b1}, 55, "b1"},
		"a later backup is of no chain": {gap().archive(), []Base{b1, ofLine(base("x", 15, 15), line("c", 0)), b3}, 55,
			"b3 b1"},
		"a later one holds what is late": {gap().archive(), []Base{base("b1", 8, 4), base("b2", 15, 5)}, 41, "b1"},
		"and is from before the window":  {gap().archive(), []Base{base("b1", 8, 4), base("b2", 15, 5)}, 51, "b2"},
	} {
		have, err := Needed(c.archive, c.bases, window, at(c.now))
		var ids []string
		for _, b := range have {
			ids = append(ids, b.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != c.want {
			t.Errorf("%s: %q instead of %q, %v", name, got, c.want, err)
		}
	}
	for _, lost := range []uint64{1, 4, 6} {
		failing := gap().archive(lost)
		failing.Numbers = []uint64{1, 2, 3, 4, 5, 6}
		if have, err := Needed(failing, []Base{b1, b3}, window, at(55)); err == nil {
			t.Errorf("the segment %d cannot be read, and only %v are needed", lost, have)
		}
	}
}

// TestForeign: a base needs what other servers had written when its chain began. What it names of that says nothing:
// mariadb-backup and the binary log count it in variables of their own.
func TestForeign(t *testing.T) {
	other := binlog.GTID{Domain: 5, Server: 9, Seq: 7}
	chain := func(from int64) Archive {
		return newStore().put(binlog.Head{Begins: true, Last: gtid(5), Foreign: []binlog.GTID{other}, From: from}).archive()
	}
	of := func(gtids string, seqno int64) Base {
		m := manifest.Manifest{ID: "b1", Session: "s", Line: line("a", 0), GTID: gtids, CompletedAt: at(15)}
		m.Line.History = "11111111-2222-4333-8444-555555555555"
		m.Position = fmt.Sprintf("%s:%d", m.Line.History, seqno)
		b := BaseOf(m, 0)
		b.Line = line("a", 0)
		return b
	}
	for name, c := range map[string]struct {
		from int64
		base Base
		want string
	}{
		"one that names none of them":      {600, of("0-1-12", 1200), "b1"},
		"one that names a later one":       {600, of("0-1-12,5-9-8", 1200), "b1"},
		"one of the very beginning":        {600, of("0-1-12", 600), "b1"},
		"one of before":                    {600, of("0-1-12", 599), ""},
		"one of before that names it":      {600, of("0-1-12,5-9-7", 599), ""},
		"a chain whose seqno is not known": {0, of("0-1-12", 1200), ""},
	} {
		if r, err := Survey(chain(c.from), []Base{c.base}); err != nil || r.Base.ID != c.want {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}
