package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// eventsNamed is how many events a message names.
const eventsNamed = 5

// holders are the nodes that have one event enabled, and those that have it disabled. All others have disabled it because another
// node's client has created or altered it.
type holders struct{ enabled, disabled []string }

// scheduled returns where the cluster's events run; any is false while no node has an event.
func scheduled(in Input) (v verdict, any bool) {
	events, on, silent, more := map[string]*holders{}, map[string]bool{}, []string(nil), 0
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || r.Scheduled == nil {
			silent = append(silent, m.Name)
			continue
		}
		on[m.Name], more = r.Scheduled.On, max(more, r.Scheduled.More)
		for _, e := range r.Scheduled.Events {
			h := events[e.Name]
			if h == nil {
				h = &holders{}
				events[e.Name] = h
			}
			switch e.Status {
			case agentapi.EventEnabled:
				h.enabled = append(h.enabled, m.Name)
			case agentapi.EventDisabled:
				h.disabled = append(h.disabled, m.Name)
			}
		}
	}
	if len(events) == 0 {
		before := meta.FindStatusCondition(in.cluster().Status.Conditions, v1alpha1.ConditionEventsScheduled)
		return unknownEvents(silent), before != nil && len(silent) > 0 // a node that does not answer may have the events of before
	}
	return judgeEvents(events, on, silent, more, primary(in)), true
}

// judgeEvents is told of what may do harm first.
func judgeEvents(events map[string]*holders, on map[string]bool, silent []string, more int, primary string) verdict {
	var repeated, nowhere, elsewhere, off []string
	for _, name := range slices.Sorted(maps.Keys(events)) {
		switch h := events[name]; {
		case len(h.enabled) > 1:
			repeated = append(repeated, fmt.Sprintf("%q on %s", name, strings.Join(h.enabled, ", ")))
		case len(h.enabled) == 0 && len(h.disabled) == 0:
			nowhere = append(nowhere, fmt.Sprintf("%q", name))
		case len(h.enabled) == 1 && h.enabled[0] != primary:
			elsewhere = append(elsewhere, fmt.Sprintf("%q on %s", name, h.enabled[0]))
		case len(h.enabled) == 1 && !on[primary]:
			off = append(off, fmt.Sprintf("%q", name))
		}
	}
	const enable = "ALTER DEFINER = … EVENT … ENABLE"
	at := ". On " + primary + ", run: "
	switch {
	case len(repeated) > 0:
		return no(v1alpha1.ReasonEventsRepeated, "events are enabled on several nodes, and run on each of them: "+several(repeated)+at+enable+
			", which disables them on the others")
	case len(silent) > 0:
		return unknownEvents(silent)
	case len(nowhere) > 0:
		return no(v1alpha1.ReasonEventsNowhere, "events run on no node, and whether they are to be enabled is known to none: "+several(nowhere)+at+enable+
			", or DISABLE")
	case len(elsewhere) > 0:
		return no(v1alpha1.ReasonEventsElsewhere, "events run on another node than the primary: "+several(elsewhere)+at+enable)
	case len(off) > 0:
		return no(v1alpha1.ReasonEventSchedulerOff, "enabled events do not run, because event_scheduler is OFF: "+several(off)+
			". Set event_scheduler: \"ON\" in spec.mariadb.config, or drop the events")
	case more > 0:
		return unknown(v1alpha1.ReasonEventsUnknown, fmt.Sprintf("there are %d more events than are checked; the first %d are as they should be",
			more, agentapi.MaxEvents))
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
