package agentapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestStatusChanges: all nodes get the status that the node of the last statement has, and none is guessed.
func TestStatusChanges(t *testing.T) {
	status := map[string]string{"on": EventEnabled, "off": EventDisabled,
		"away": EventElsewhere}
	for name, tc := range map[string]struct{ of, want string }{ // MEMBER=EVENT:STATUS@MODIFIED …
		"created on a":                                  {"a=e:on@5 b=e:away@5 c=e:away@5", "b=e:ENABLED@5 c=e:ENABLED@5"},
		"created as disabled":                           {"a=e:off@5 b=e:away@5", "b=e:DISABLED@5"},
		"all are the same":                              {"a=e:on@5 b=e:on@5", ""},
		"the second is not over":                        {"a=e:on@0 b=e:away@0", ""},
		"the second is not over on the node that knows": {"a=e:on@0 b=e:away@5", ""},
		"it has ended on a":                             {"a=e:off@5 b=e:on@5 c=e:away@5", "b=e:DISABLED@5 c=e:DISABLED@5"},
		"b has not applied the last statement":          {"a=e:on@6 b=e:on@5 c=e:away@6", "c=e:ENABLED@6"},
		"only b has not applied the last one":           {"a=e:off@6 b=e:on@5", ""},
		"no node knows":                                 {"a=e:away@5 b=e:away@5", ""},
		"another event of that second": {"a=e:on@5 a=f:away@5 b=e:away@5 b=f:off@5",
			"a=f:DISABLED@5 b=e:ENABLED@5"},
		"a member has not got the event": {"a=e:on@5 b=f:on@5", ""},
		"no member has events":           {"", ""},
	} {
		of := map[string]*Scheduled{}
		for _, word := range strings.Fields(tc.of) {
			member, rest, _ := strings.Cut(word, "=")
			event, rest, _ := strings.Cut(rest, ":")
			is, at, _ := strings.Cut(rest, "@")
			e := ScheduledEvent{Database: "d", Event: event, Status: status[is]}
			_, _ = fmt.Sscan(at, &e.Modified)
			if of[member] == nil {
				of[member] = &Scheduled{}
			}
			of[member].Events = append(of[member].Events, e)
		}
		var got []string
		changes := StatusChanges(of)
		for _, member := range slices.Sorted(maps.Keys(changes)) {
			for _, c := range changes[member] {
				got = append(got, fmt.Sprintf("%s=%s:%s@%d", member, c.Event, c.Status, c.Modified))
			}
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s: %q, want %q", name, text, tc.want)
		}
	}
}
