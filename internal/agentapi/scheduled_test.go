package agentapi

import (
	"strings"
	"testing"
)

// TestEventChanges: what no operator asks for is refused before anything is done.
func TestEventChanges(t *testing.T) {
	good := EventChange{Database: "d", Event: strings.Repeat("é", 64), Modified: 1, Status: EventEnabled}
	with := func(edit func(*EventChange)) EventChanges {
		e := good
		edit(&e)
		return EventChanges{[]EventChange{good, e}}
	}
	for name, tc := range map[string]struct {
		of EventChanges
		ok bool
	}{
		"one":             {EventChanges{[]EventChange{good}}, true},
		"none":            {EventChanges{}, false},
		"too many":        {EventChanges{make([]EventChange, MaxEvents+1)}, false},
		"no database":     {with(func(e *EventChange) { e.Database = "" }), false},
		"no event":        {with(func(e *EventChange) { e.Event = "" }), false},
		"a long name":     {with(func(e *EventChange) { e.Event += "é" }), false},
		"no second":       {with(func(e *EventChange) { e.Modified = 0 }), false},
		"another status":  {with(func(e *EventChange) { e.Status = EventElsewhere }), false},
		"to be disabled":  {with(func(e *EventChange) { e.Status = EventDisabled }), true},
		"a status as SQL": {with(func(e *EventChange) { e.Status = "ENABLE; DROP" }), false},
	} {
		if err := tc.of.Check(); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
