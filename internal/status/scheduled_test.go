package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestScheduled: where events run, from what each node has. n-0 is the primary.
func TestScheduled(t *testing.T) {
	const on, off, away = agentapi.EventEnabled, agentapi.EventDisabled, agentapi.EventElsewhere
	has := func(statuses ...string) *agentapi.Scheduled {
		s := &agentapi.Scheduled{On: true}
		for i, status := range statuses {
			s.Events = append(s.Events, agentapi.ScheduledEvent{Name: "t.e" + string(rune('0'+i)), Status: status})
		}
		return s
	}
	stopped := func(s *agentapi.Scheduled) *agentapi.Scheduled { s.On = false; return s }
	long := has(on)
	long.More = 3
	for name, tc := range map[string]struct {
		of         [3]*agentapi.Scheduled
		want, says string
	}{
		"none": {[3]*agentapi.Scheduled{has(), has(), nil}, "", ""},
		"created on the primary": {[3]*agentapi.Scheduled{has(on), has(away), has(away)}, "True EventsOnPrimary",
			"n-0"},
		"disabled": {[3]*agentapi.Scheduled{has(off), has(away), has(away)}, "True EventsOnPrimary",
			""},
		"the primary has moved": {[3]*agentapi.Scheduled{has(away), has(on), has(away)}, "False EventsElsewhere",
			`"t.e0" on n-1`},
		"disabled, the primary moved": {[3]*agentapi.Scheduled{has(away), has(off), has(away)}, "True EventsOnPrimary",
			""},
		"copied by SST": {[3]*agentapi.Scheduled{has(on), has(on), has(away)}, "False EventsRepeated",
			`"t.e0" on n-0, n-1`},
		"the creator lost its volume": {[3]*agentapi.Scheduled{has(away), has(away), has(away)}, "False EventsNowhere",
			`"t.e0"`},
		"the creator does not answer":   {[3]*agentapi.Scheduled{has(away), has(away), nil}, "Unknown EventsUnknown", "n-2"},
		"repeated, and one is silent":   {[3]*agentapi.Scheduled{has(on), has(on), nil}, "False EventsRepeated", ""},
		"on the primary, one is silent": {[3]*agentapi.Scheduled{has(on), has(away), nil}, "Unknown EventsUnknown", "n-2"},
		"the scheduler does not run": {[3]*agentapi.Scheduled{stopped(has(on)), has(away), has(away)},
			"False EventSchedulerOff", "event_scheduler"},
		"disabled, without a scheduler": {[3]*agentapi.Scheduled{stopped(has(off)), has(away), has(away)},
			"True EventsOnPrimary", ""},
		"nowhere comes before elsewhere": {[3]*agentapi.Scheduled{has(away, away), has(on, away), has(away, away)},
			"False EventsNowhere", `"t.e1"`},
		"more than are checked": {[3]*agentapi.Scheduled{long, has(away), has(away)}, "Unknown EventsUnknown",
			"3 more"},
		"many": {[3]*agentapi.Scheduled{has(away, away, away, away, away, away, away), has(),
			has()}, "False EventsNowhere", "and 2 more"},
	} {
		in := healthy()
		in.Snapshot.Members[0].Pod.Role = v1alpha1.RolePrimary
		events(in, tc.of)
		Update(&in.Facts.Cluster.Status, in)
		c := meta.FindStatusCondition(in.Facts.Cluster.Status.Conditions, v1alpha1.ConditionEventsScheduled)
		got, message := "", ""
		if c != nil {
			got, message = string(c.Status)+" "+c.Reason, c.Message
		}
		if got != tc.want || !strings.Contains(message, tc.says) {
			t.Errorf("%s: %q: %s", name, got, message)
		}
	}
	in := healthy()
	for _, tc := range []struct {
		of   [3]*agentapi.Scheduled
		want string
	}{
		{[3]*agentapi.Scheduled{}, ""},
		{[3]*agentapi.Scheduled{has(on), has(away), has(away)}, "EventsElsewhere"}, // there is no primary
		{[3]*agentapi.Scheduled{}, "EventsUnknown"},
		{[3]*agentapi.Scheduled{has(), has(), has()}, ""},
	} {
		events(in, tc.of)
		Update(&in.Facts.Cluster.Status, in)
		c := meta.FindStatusCondition(in.Facts.Cluster.Status.Conditions, v1alpha1.ConditionEventsScheduled)
		if c == nil && tc.want != "" || c != nil && c.Reason != tc.want {
			t.Errorf("want %q, have %v", tc.want, c)
		}
	}
}

// TestEnabledEvents: what was enabled is remembered for as long as no node can contradict.
func TestEnabledEvents(t *testing.T) {
	const on, off, away = agentapi.EventEnabled, agentapi.EventDisabled, agentapi.EventElsewhere
	has := func(status string) *agentapi.Scheduled {
		return &agentapi.Scheduled{On: true, Events: []agentapi.ScheduledEvent{{Name: "t.e", Status: status}}}
	}
	none := &agentapi.Scheduled{On: true}
	long := &agentapi.Scheduled{On: true, Events: []agentapi.ScheduledEvent{{Name: strings.Repeat("e", eventName+1),
		Status: on}}}
	in := healthy()
	in.Snapshot.Members[0].Pod.Role = v1alpha1.RolePrimary
	for _, step := range []struct {
		name       string
		of         [3]*agentapi.Scheduled
		kept, says string
	}{
		{"never seen enabled", [3]*agentapi.Scheduled{has(away), has(away), has(away)}, "", `"t.e" (not known)`},
		{"enabled", [3]*agentapi.Scheduled{has(on), has(away), has(away)}, "t.e", ""},
		{"the node that runs it is silent", [3]*agentapi.Scheduled{nil, has(away), has(away)}, "t.e", "n-0"},
		{"all are silent", [3]*agentapi.Scheduled{}, "t.e", "n-0, n-1, n-2"},
		{"that node has lost its volume", [3]*agentapi.Scheduled{has(away), has(away), has(away)}, "t.e",
			`"t.e" (was enabled)`},
		{"disabled by a person", [3]*agentapi.Scheduled{has(away), has(off), has(away)}, "", ""},
		{"the node where it was disabled is lost", [3]*agentapi.Scheduled{has(away), has(away), has(away)}, "",
			`"t.e" (not known)`},
		{"enabled again", [3]*agentapi.Scheduled{has(on), has(away), has(away)}, "t.e", ""},
		{"dropped", [3]*agentapi.Scheduled{none, none, none}, "", ""},
		{"a name that no server has", [3]*agentapi.Scheduled{long, none, none}, "", ""},
	} {
		events(in, step.of)
		Update(&in.Facts.Cluster.Status, in)
		c := meta.FindStatusCondition(in.Facts.Cluster.Status.Conditions, v1alpha1.ConditionEventsScheduled)
		if got := strings.Join(in.Facts.Cluster.Status.EnabledEvents, ","); got != step.kept || c != nil &&
			!strings.Contains(c.Message, step.says) {
			t.Errorf("%s: kept %q, %+v", step.name, got, c)
		}
	}
}

// events sets what the nodes report of their events.
func events(in Input, of [3]*agentapi.Scheduled) {
	for i, m := range in.Snapshot.Members {
		seen := in.Seen[m.Name]
		seen.Report.Scheduled = of[i]
		in.Seen[m.Name] = seen
	}
}
