package model

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// sendEvictions sends the evictions, which are planned in addition to the action.
func (w *controllers) sendEvictions(o *operator, s galera.Snapshot) bool {
	evictions := plan.Evictions(s)
	if w.careless {
		evictions = carelessEvictions(withoutViews(s))
	}
	reported := false
	for _, e := range evictions {
		i := nameNumber(e.Member)
		if !o.mute.has(i) && o.pods[i].uid == w.nodes[i].pod.uid {
			reported = w.evict(i, nameNumber(e.Gone), int16(e.ViewID)) || reported
		}
	}
	return reported
}

// carelessEvictions sends all evictions to the same member.
func carelessEvictions(s galera.Snapshot) (out []plan.Eviction) {
	for i := range s.Members {
		one := s
		one.Members = slices.Clone(s.Members)
		for j := range one.Members {
			if j != i {
				one.Members[j].Ended = nil
			}
		}
		out = append(out, plan.Evictions(one)...)
	}
	return out
}

// withoutViews makes all views look the same.
func withoutViews(s galera.Snapshot) galera.Snapshot {
	s.Members = slices.Clone(s.Members)
	for i := range s.Members {
		m := &s.Members[i]
		if m.Ended != nil {
			m.Ended = &galera.Ended{NodeUUID: m.Ended.NodeUUID}
		}
		if m.Server != nil {
			server := *m.Server
			server.ViewID, m.Server = 0, &server
		}
	}
	return s
}
