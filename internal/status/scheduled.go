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
// because another node's client has created or altered it.
type holders struct{ enabled, disabled []string }

// scheduledFacts are what the nodes report of their events.
type scheduledFacts struct {
	events map[string]*holders
	// on are the nodes whose scheduler runs, silent those that report nothing.
	on     map[string]bool
	silent []string
	// more is how many events are in no report.
	more int
}

func scheduledOf(in Input) scheduledFacts {
	f := scheduledFacts{events: map[string]*holders{}, on: map[string]bool{}}
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || r.Scheduled == nil {
			f.silent = append(f.silent, m.Name)
			continue
		}
		f.on[m.Name], f.more = r.Scheduled.On, max(f.more, r.Scheduled.More)
		for _, e := range r.Scheduled.Events {
			h := f.events[e.Name]
			if h == nil {
				h = &holders{}
				f.events[e.Name] = h
			}
			switch e.Status {
			case agentapi.EventEnabled:
				h.enabled = append(h.enabled, m.Name)
			case agentapi.EventDisabled:
				h.disabled = append(h.disabled, m.Name)
			}
		}
	}
	return f
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

// scheduled returns where the cluster's events run; any is false while no node has an event.
func scheduled(in Input) (v verdict, any bool) {
	f := scheduledOf(in)
	if len(f.events) == 0 {
		before := meta.FindStatusCondition(in.cluster().Status.Conditions, v1alpha1.ConditionEventsScheduled)
		// a node that does not answer may have the events of before
		return unknownEvents(f.silent), before != nil && len(f.silent) > 0
	}
	return judgeEvents(f, in.cluster().Status.EnabledEvents, primary(in)), true
}

// judgeEvents is informed of what may do harm first.
func judgeEvents(f scheduledFacts, known []string, primary string) verdict {
	var repeated, nowhere, elsewhere, off []string
	for _, name := range slices.Sorted(maps.Keys(f.events)) {
		switch h := f.events[name]; {
		case len(h.enabled) > 1:
			repeated = append(repeated, fmt.Sprintf("%q on %s", name, strings.Join(h.enabled, ", ")))
		case len(h.enabled) == 0 && len(h.disabled) == 0:
			was := "was enabled"
			if !slices.Contains(known, name) {
				was = "not known"
			}
			nowhere = append(nowhere, fmt.Sprintf("%q (%s)", name, was))
		case len(h.enabled) == 1 && h.enabled[0] != primary:
			elsewhere = append(elsewhere, fmt.Sprintf("%q on %s", name, h.enabled[0]))
		case len(h.enabled) == 1 && !f.on[primary]:
			off = append(off, fmt.Sprintf("%q", name))
		}
	}
	const enable = "ALTER DEFINER = … EVENT … ENABLE"
	at := ". On " + primary + ", run: "
	switch {
	case len(repeated) > 0:
		return no(v1alpha1.ReasonEventsRepeated, "events are enabled on several nodes, and run on each of them: "+
			several(repeated)+at+enable+
			", which disables them on the others")
	case len(f.silent) > 0:
		return unknownEvents(f.silent)
	case len(nowhere) > 0:
		return no(v1alpha1.ReasonEventsNowhere, "events run on no node; in parentheses is what was last known of them: "+
			several(nowhere)+at+enable+
			", or DISABLE")
	case len(elsewhere) > 0:
		return no(v1alpha1.ReasonEventsElsewhere, "events run on another node than the primary: "+several(elsewhere)+at+
			enable)
	case len(off) > 0:
		return no(v1alpha1.ReasonEventSchedulerOff, "enabled events do not run, because event_scheduler is OFF: "+
			several(off)+
			". Set event_scheduler: \"ON\" in spec.mariadb.config, or drop the events")
	case f.more > 0:
		return unknown(v1alpha1.ReasonEventsUnknown,
			fmt.Sprintf("there are %d more events than are checked; the first %d are as they should be",
				f.more, agentapi.MaxEvents))
	}
	return yes(v1alpha1.ReasonEventsOnPrimary, "every enabled event is enabled on the primary "+primary+" only")
}

func unknownEvents(silent []string) verdict {
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
