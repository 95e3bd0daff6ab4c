package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// eventsNamed is how many events a message names.
const eventsNamed = 5

// eventName is the longest name, DATABASE.EVENT, in characters.
const eventName = 64 + 1 + 64

// holders are the nodes that have one event enabled, and those that have it disabled. All others have disabled it
// because another node's client has created or altered it. missed reports whether its time has passed on one.
type holders struct {
	enabled, disabled []string
	missed            bool
}

// scheduledFacts are what the nodes report of their events.
type scheduledFacts struct {
	events map[string]*holders
	// on are the nodes whose scheduler runs, silent those that report nothing.
	on, silent []string
	// more is how many events are in no report.
	more int
	// wanted reports whether the primary is to run events, waiting what it waits for.
	wanted  bool
	waiting string
}

func scheduledOf(in Input) scheduledFacts {
	f := scheduledFacts{events: map[string]*holders{},
		wanted: in.cluster().Spec.MariaDB.Events == v1alpha1.EventsFollowPrimary}
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || r.Scheduled == nil {
			f.silent = append(f.silent, m.Name)
			continue
		}
		f.see(m.Name, r.Scheduled)
		if m.Name == primary(in) {
			f.waiting = r.Scheduled.Waiting
		}
	}
	return f
}

func (f *scheduledFacts) see(member string, s *agentapi.Scheduled) {
	f.more = max(f.more, s.More)
	if s.On {
		f.on = append(f.on, member)
	}
	for _, e := range s.Events {
		h := f.events[e.Name]
		if h == nil {
			h = &holders{}
			f.events[e.Name] = h
		}
		h.missed = h.missed || e.Missed
		switch e.Status {
		case agentapi.EventEnabled:
			h.enabled = append(h.enabled, member)
		case agentapi.EventDisabled:
			h.disabled = append(h.disabled, member)
		}
	}
}

// enabledEvents returns the events that are enabled, and those that were and are on no node now. One that no node has
// is kept while not all are known.
func enabledEvents(in Input) []string {
	f, before := scheduledOf(in), in.cluster().Status.EnabledEvents
	var enabled []string
	for name, h := range f.events {
		was := len(h.disabled) == 0 && slices.Contains(before, name)
		if (len(h.enabled) > 0 || was) && utf8.RuneCountInString(name) <= eventName {
			enabled = append(enabled, name)
		}
	}
	if len(f.silent) > 0 || f.more > 0 {
		for _, name := range before {
			if f.events[name] == nil {
				enabled = append(enabled, name)
			}
		}
	}
	slices.Sort(enabled)
	return enabled[:min(len(enabled), agentapi.MaxEvents)]
}

// scheduled returns where the cluster's events run; exist is false while no node has an event.
func scheduled(in Input) (v condition, exist bool) {
	f := scheduledOf(in)
	if len(f.events) == 0 {
		before := meta.FindStatusCondition(in.cluster().Status.Conditions, v1alpha1.ConditionEventsScheduled)
		// a node that does not answer may have the events of before
		return unknownEvents(f.silent), before != nil && len(f.silent) > 0
	}
	return judgeEvents(f, in.cluster().Status.EnabledEvents, primary(in)), true
}

// sortedEvents are the events by what may be wrong with them.
type sortedEvents struct{ repeated, nowhere, elsewhere, enabled, missed []string }

func (f scheduledFacts) sort(known []string, primary string) (out sortedEvents) {
	for _, name := range slices.Sorted(maps.Keys(f.events)) {
		h := f.events[name]
		if runs := common(h.enabled, f.on); len(runs) > 1 {
			out.repeated = append(out.repeated, fmt.Sprintf("%q on %s", name, strings.Join(runs, ", ")))
		}
		switch {
		case len(h.enabled) == 0 && len(h.disabled) == 0:
			was := "was enabled"
			if !slices.Contains(known, name) {
				was = "not known"
			}
			out.nowhere = append(out.nowhere, fmt.Sprintf("%q (%s)", name, was))
		case len(h.disabled) > 0 && h.missed:
			out.missed = append(out.missed, fmt.Sprintf("%q", name))
		case len(h.disabled) > 0:
		case !slices.Contains(h.enabled, primary):
			out.elsewhere = append(out.elsewhere, fmt.Sprintf("%q on %s", name, strings.Join(h.enabled, ", ")))
		}
		if len(h.enabled) > 0 && len(h.disabled) == 0 {
			out.enabled = append(out.enabled, fmt.Sprintf("%q", name))
		}
	}
	return out
}

// judgeEvents reports first what may do harm.
func judgeEvents(f scheduledFacts, known []string, primary string) condition {
	e := f.sort(known, primary)
	const alter = "ALTER DEFINER = … EVENT … "
	switch {
	case len(e.repeated) > 0:
		return no(v1alpha1.ReasonEventsRepeated,
			"events run on several nodes, because event_scheduler was turned on by hand: "+
				several(e.repeated)+". The agents turn it off where it is not to run")
	case len(f.silent) > 0:
		return unknownEvents(f.silent)
	case len(e.nowhere) > 0:
		return no(v1alpha1.ReasonEventsNowhere, "events run on no node; in parentheses is what was last known of them: "+
			several(e.nowhere)+". On "+primary+", run: "+alter+"ENABLE, or DISABLE")
	case len(e.enabled) > 0 && !slices.Contains(f.on, primary):
		return f.schedulerOff(e.enabled)
	case len(e.elsewhere) > 0:
		return no(v1alpha1.ReasonEventsElsewhere, "events are enabled on other nodes than the primary, and do not run: "+
			several(e.elsewhere)+". The operator enables them on "+primary+" within about 20 seconds")
	case len(e.missed) > 0:
		return no(v1alpha1.ReasonEventsMissed, "events for one point in time were disabled when it came, and have not run: "+
			several(e.missed)+". Do by hand what they do, then drop them, or give them another time")
	case f.more > 0:
		return unknown(v1alpha1.ReasonEventsUnknown,
			fmt.Sprintf("there are %d more events than are checked at once; they take turns, 64 a minute, and those of now "+
				"are as they should be", f.more))
	}
	return yes(v1alpha1.ReasonEventsOnPrimary, "every enabled event is enabled on the primary "+primary+
		", and runs on no other node")
}

// schedulerOff explains why enabled events do not run.
func (f scheduledFacts) schedulerOff(enabled []string) condition {
	message := "enabled events do not run: " + several(enabled) + ". "
	switch {
	case !f.wanted:
		message += "Set spec.mariadb.events: FollowPrimary to run them on the primary, or disable or drop the events"
	case f.waiting != "":
		message += "The primary waits before it runs them: " + f.waiting
	default:
		message += "The primary is about to turn its event scheduler on"
	}
	return no(v1alpha1.ReasonEventSchedulerOff, message)
}

// common returns what both lists have.
func common(a, b []string) (out []string) {
	for _, s := range a {
		if slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

func unknownEvents(silent []string) condition {
	return unknown(v1alpha1.ReasonEventsUnknown, "whether events are enabled is not known of "+strings.Join(silent, ", "))
}

// several names the first of several.
func several(names []string) string {
	for i, n := range names {
		names[i] = clip(n, 160)
	}
	if left := len(names) - eventsNamed; left > 0 {
		return strings.Join(names[:eventsNamed], "; ") + fmt.Sprintf("; and %d more", left)
	}
	return strings.Join(names, "; ")
}
