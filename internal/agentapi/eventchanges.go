package agentapi

import (
	"maps"
	"slices"
)

// eventState is an event as one statement has left it.
type eventState struct {
	database, event string
	modified        int64
}

// StatusChanges returns by member which of its copies of events get another status, so that all nodes have the one that
// the node of the last statement has. MariaDB disables an event on all other nodes, and the node that knows its status
// may be lost. A copy that is disabled counts more than one that is enabled: an event for one point in time is disabled
// where it has run. Where no node knows, nothing is changed.
func StatusChanges(of map[string]*Scheduled) map[string][]EventChange {
	known := map[eventState]string{}
	for _, s := range of {
		for _, e := range s.Events {
			k := eventState{e.Database, e.Event, e.Modified}
			switch {
			case e.Modified == 0:
			case e.Status == EventDisabled, e.Status == EventEnabled && known[k] == "":
				known[k] = e.Status
			}
		}
	}
	out := map[string][]EventChange{}
	for _, member := range slices.Sorted(maps.Keys(of)) {
		for _, e := range of[member].Events {
			to := known[eventState{e.Database, e.Event, e.Modified}]
			if to != "" && e.Status != to && e.Status != EventDisabled {
				out[member] = append(out[member],
					EventChange{Database: e.Database, Event: e.Event, Modified: e.Modified, Status: to})
			}
		}
	}
	return out
}
