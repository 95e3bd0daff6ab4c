package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestScheduled: where events run, from what each node has. n-0 is the primary; + is a scheduler that runs.
func TestScheduled(t *testing.T) {
	const on, off, away = agentapi.EventEnabled, agentapi.EventDisabled, agentapi.EventElsewhere
	has := func(statuses ...string) *agentapi.Scheduled {
		s := &agentapi.Scheduled{}
		for i, status := range statuses {
			s.Events = append(s.Events, agentapi.ScheduledEvent{Name: "t.e" + string(rune('0'+i)), Status: status})
		}
		return s
	}
	runs := func(statuses ...string) *agentapi.Scheduled { s := has(statuses...); s.On = true; return s }
	waits := has(on)
	waits.Waiting = "the event scheduler of n-1 has not been turned off"
	long := runs(on)
	long.More = 3
	missed := runs(off)
	missed.Events[0].Missed = true
	for name, tc := range map[string]struct {
		of         [3]*agentapi.Scheduled
		want, says string
	}{
		"none":                {[3]*agentapi.Scheduled{has(), has(), nil}, "", ""},
		"runs on the primary": {[3]*agentapi.Scheduled{runs(on), has(on), has(on)}, "True EventsOnPrimary", "n-0"},
		"created on the primary, not copied yet": {[3]*agentapi.Scheduled{runs(on), has(away), has(away)},
			"True EventsOnPrimary", "n-0"},
		"disabled": {[3]*agentapi.Scheduled{has(off), has(off), has(away)}, "True EventsOnPrimary", ""},
		"created elsewhere, not copied yet": {[3]*agentapi.Scheduled{runs(away), has(on), has(away)},
			"False EventsElsewhere", `"t.e0" on n-1`},
		"the primary waits": {[3]*agentapi.Scheduled{waits, runs(on), has(on)}, "False EventSchedulerOff",
			"of n-1 has not been turned off"},
		"two run": {[3]*agentapi.Scheduled{runs(on), runs(on), has(on)}, "False EventsRepeated", `"t.e0" on n-0, n-1`},
		"two schedulers run, and one has the event": {[3]*agentapi.Scheduled{runs(on), runs(away), has(on)},
			"True EventsOnPrimary", ""},
		"no node knows": {[3]*agentapi.Scheduled{runs(away), has(away), has(away)}, "False EventsNowhere", `"t.e0"`},
		"the creator does not answer": {[3]*agentapi.Scheduled{runs(away), has(away), nil}, "Unknown EventsUnknown",
			"n-2"},
		"repeated, and one is silent":   {[3]*agentapi.Scheduled{runs(on), runs(on), nil}, "False EventsRepeated", ""},
		"on the primary, one is silent": {[3]*agentapi.Scheduled{runs(on), has(on), nil}, "Unknown EventsUnknown", "n-2"},
		"the scheduler does not run": {[3]*agentapi.Scheduled{has(on), has(on), has(on)}, "False EventSchedulerOff",
			"about to turn"},
		"it has ended on one": {[3]*agentapi.Scheduled{has(off), has(on), has(on)}, "True EventsOnPrimary", ""},
		"its time has passed": {[3]*agentapi.Scheduled{missed, has(off), has(off)}, "False EventsMissed", `"t.e0"`},
		"nowhere comes before elsewhere": {[3]*agentapi.Scheduled{has(away, away), has(on, away), has(away, away)},
			"False EventsNowhere", `"t.e1"`},
		"more than are checked": {[3]*agentapi.Scheduled{long, has(on), has(on)}, "Unknown EventsUnknown", "3 more"},
		"many": {[3]*agentapi.Scheduled{has(away, away, away, away, away, away, away), has(),
			has()}, "False EventsNowhere", "and 2 more"},
	} {
		in := healthy()
		in.Snapshot.Members[0].Pod.Role = v1alpha1.RolePrimary
		in.Facts.Cluster.Spec.MariaDB.Events = v1alpha1.EventsFollowPrimary
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
		{[3]*agentapi.Scheduled{has(on), has(on), has(on)}, "EventSchedulerOff"}, // nothing is to run
		{[3]*agentapi.Scheduled{}, "EventsUnknown"},
		{[3]*agentapi.Scheduled{has(), has(), has()}, ""},
	} {
		events(in, tc.of)
		Update(&in.Facts.Cluster.Status, in)
		c := meta.FindStatusCondition(in.Facts.Cluster.Status.Conditions, v1alpha1.ConditionEventsScheduled)
		if c == nil && tc.want != "" || c != nil && c.Reason != tc.want {
			t.Errorf("want %q, have %v", tc.want, c)
		}
		if tc.want == "EventSchedulerOff" && !strings.Contains(c.Message, "spec.mariadb.events: FollowPrimary") {
			t.Error(c.Message)
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
