package galera

import (
	"encoding/json"
	"testing"
)

const (
	ours   = "11111111-2222-4333-8444-555555555555"
	theirs = "99999999-2222-4333-8444-555555555555"
)

func pos(seqno int64) Position { return Position{UUID: ours, Seqno: seqno} }

// lineage has lines of epochs and starts, the earliest first.
func lineage(pairs ...int64) Lineage {
	l := FirstLine(Line{Epoch: pairs[0], Start: pos(pairs[1])})
	for i := 2; i < len(pairs); i += 2 {
		l = l.Then(Line{Epoch: pairs[i], Start: pos(pairs[i+1])})
	}
	return l
}

func TestDiverged(t *testing.T) {
	old := Lineage{Line: Line{Epoch: 9, Start: pos(40)}} // as an agent wrote it that kept one line only
	foreign := Lineage{Line: Line{Epoch: 8, Start: Position{theirs, 1}}, Earlier: []Line{{Epoch: 1, Start: pos(0)}}}
	for name, c := range map[string]struct {
		own  Lineage
		at   int64
		peer Lineage
		from int64 // -1: one history
	}{
		"the same line":                       {lineage(1, 0), 50, lineage(1, 0), -1},
		"before a later line's start":         {lineage(1, 0), 39, lineage(1, 0, 5, 40), -1},
		"at its start":                        {lineage(1, 0), 40, lineage(1, 0, 5, 40), -1},
		"beyond it":                           {lineage(1, 0), 41, lineage(1, 0, 5, 40), 40},
		"beyond that of an earlier one":       {lineage(1, 0), 41, lineage(1, 0, 5, 40, 9, 60), 40},
		"beyond one, on the other":            {lineage(1, 0, 5, 40), 50, lineage(1, 0, 5, 40, 9, 60), -1},
		"a line that ended, untouched":        {lineage(1, 0, 4, 30), 30, lineage(1, 0, 5, 40), -1},
		"a line that ended, written to":       {lineage(1, 0, 4, 30), 31, lineage(1, 0, 5, 40), 30},
		"the later line is the given up one":  {lineage(1, 0, 7, 30), 35, lineage(1, 0, 5, 40), 30},
		"two lines of one epoch":              {lineage(1, 0, 5, 30), 35, lineage(1, 0, 5, 40), 30},
		"the first of two untouched lines":    {lineage(1, 0, 3, 20, 4, 30), 30, lineage(1, 0, 5, 40), 20},
		"the peer knows nothing":              {lineage(1, 0), 1, Lineage{}, 0},
		"nothing is known":                    {Lineage{}, 50, Lineage{}, -1},
		"an old book, before the peer's line": {Lineage{}, 40, lineage(1, 40), -1},
		"an old book, beyond it":              {Lineage{}, 41, lineage(1, 40), 40},
		"the peer's book was lost before it": {lineage(1, 0, 7, 20), 40, Lineage{}.Then(Line{Epoch: 9, Start: pos(40)}),
			-1},
		"the peer kept one line, before it":      {lineage(1, 0, 7, 20), 40, old, -1},
		"the peer kept one line, beyond it":      {lineage(1, 0, 7, 20), 41, old, 40},
		"the peer kept one line, an earlier one": {lineage(1, 0, 10, 41), 42, old, 41},
		"lines of other data do not count":       {foreign, 50, lineage(1, 0), -1},
	} {
		from, diverged := c.peer.Diverged(c.own, pos(c.at))
		if diverged != (c.from >= 0) || diverged && from != pos(c.from) {
			t.Errorf("%s: %t from %s, want from %d", name, diverged, from, c.from)
		}
	}
}

func TestLineageIsBounded(t *testing.T) {
	var l Lineage
	for epoch := range int64(RememberedLines + 3) {
		l = l.Then(Line{Epoch: epoch + 1, Start: pos(epoch)})
	}
	if n := len(l.Lines()); n != RememberedLines || l.Epoch != RememberedLines+3 || l.Earlier[0].Epoch != l.Epoch-1 {
		t.Errorf("%d lines: %+v", n, l)
	}
	again := l.Then(Line{Epoch: l.Epoch, Start: pos(99)})
	if len(again.Lines()) != RememberedLines || again.Start != pos(99) || again.Earlier[0] != l.Earlier[0] {
		t.Errorf("a line begun again: %+v", again)
	}
}

func TestLineageIsReadAsItWasWritten(t *testing.T) {
	for name, l := range map[string]Lineage{"first": lineage(1, 0), "two": lineage(1, 0, 5, 40)} {
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var back Lineage
		if err := json.Unmarshal(text, &back); err != nil || !back.Equal(l) || back.Earlier == nil {
			t.Errorf("%s: %s is read as %+v (%v)", name, text, back, err)
		}
	}
	var old Lineage
	if err := json.Unmarshal([]byte(`{"epoch":7,"start":{"uuid":"`+ours+`","seqno":40}}`), &old); err != nil {
		t.Fatal(err)
	}
	if old.Line != (Line{Epoch: 7, Start: pos(40)}) || old.Earlier != nil {
		t.Errorf("without earlier lines: %+v", old)
	}
}

// TestCopies: a member whose data do not come from marked ones gets a copy of what came of them, however long ago that
// was.
func TestCopies(t *testing.T) {
	marked := lineage(1, 0).Then(Line{Epoch: 5, Start: pos(40), Copied: true})
	later := marked.Then(Line{Epoch: 6, Start: pos(50)})
	much := later
	for epoch := int64(7); epoch < 20; epoch++ {
		much = much.Then(Line{Epoch: epoch, Start: pos(50 + epoch)})
	}
	again := marked.Then(Line{Epoch: 5, Start: pos(40)})
	for name, c := range map[string]struct {
		l, own Lineage
		want   bool
	}{
		"an ordinary line":              {lineage(1, 0, 5, 40), lineage(1, 0), false},
		"marked data":                   {marked, lineage(1, 0), true},
		"those it began with":           {marked, marked, false},
		"before a later line":           {later, lineage(1, 0), true},
		"those that came of it":         {later, marked, false},
		"many lines later":              {much, lineage(1, 0), true},
		"and those that came of it":     {much, much, false},
		"the same order again":          {again, lineage(1, 0), true},
		"a member that knows no line":   {marked, Lineage{}, true},
		"one of another line since":     {marked, lineage(1, 0, 4, 39), true},
		"an equal line without a mark":  {marked, lineage(1, 0, 5, 40), false},
		"one that was given up, though": {lineage(1, 0, 6, 40), marked, true},
		"both come of it":               {later, marked.Then(Line{Epoch: 7, Start: pos(50)}), false},
	} {
		if got := c.l.Copies(c.own); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestLinesHaveNames: two lines of one epoch, from one position, are two when different operations began them.
func TestLinesHaveNames(t *testing.T) {
	first := FirstLine(Line{ID: "firststart-1-a", Epoch: 1, Start: pos(0)})
	ours := first.Then(Line{ID: "recover-5-b", Epoch: 5, Start: pos(40)})
	theirs := first.Then(Line{ID: "recover-5-c", Epoch: 5, Start: pos(40)})
	if from, diverged := ours.Diverged(theirs, pos(41)); !diverged || from != pos(40) {
		t.Errorf("two lines of one epoch are one: %v from %s", diverged, from)
	}
	if _, diverged := ours.Diverged(theirs, pos(40)); diverged {
		t.Error("nothing was written in the other line")
	}
	if again := ours.Then(Line{ID: "recover-5-c", Epoch: 5, Start: pos(41)}); len(again.Lines()) != 3 {
		t.Errorf("another operation of the same epoch has to begin another line: %+v", again)
	}
	if got := ours.IDs(); len(got) != 2 || got[0] != "recover-5-b" || got[1] != "firststart-1-a" {
		t.Errorf("ids: %v", got)
	}
}

// TestForgotten: a member that was away for more bootstraps than are remembered gets a copy, unless it is further on
// than one of them began.
func TestForgotten(t *testing.T) {
	own := lineage(1, 0, 2, 10)
	much := own
	for epoch := int64(3); epoch < 3+RememberedLines; epoch++ {
		much = much.Then(Line{Epoch: epoch, Start: pos(10 * epoch)})
	}
	for name, c := range map[string]struct {
		l, own            Lineage
		at                int64
		forgotten, beyond bool
	}{
		"before all that is remembered": {much, own, 30, true, false},
		"beyond the oldest":             {much, own, 31, true, true},
		"one of the remembered lines":   {much, own.Then(Line{Epoch: 3, Start: pos(30)}), 40, false, false},
		"all lines are known":           {lineage(1, 0, 2, 10, 3, 20), lineage(1, 0), 30, false, false},
		"no line is known":              {much, Lineage{}, 30, false, false},
		"a peer that lost its book":     {Lineage{}.Then(Line{Epoch: 9, Start: pos(40)}), own, 50, false, false},
	} {
		if forgotten, beyond := c.l.Forgotten(c.own, pos(c.at)); forgotten != c.forgotten || beyond != c.beyond {
			t.Errorf("%s: %v, %v", name, forgotten, beyond)
		}
	}
}
