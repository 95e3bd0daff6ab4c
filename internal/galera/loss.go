package galera

import "time"

// SeeLoss fills in since when, and how long, no Primary component has been seen. recorded is what an earlier pass
// found, zero when it saw one. A Primary component of a few members is one: what is counted begins with its end.
func (s *Snapshot) SeeLoss(recorded, now time.Time) {
	s.NoPrimarySince, s.NoPrimaryFor = time.Time{}, 0
	for _, m := range s.Members {
		if m.InPrimary() {
			return
		}
	}
	s.NoPrimarySince = recorded
	if recorded.IsZero() {
		s.NoPrimarySince = now
	}
	s.NoPrimaryFor = max(now.Sub(s.NoPrimarySince), 0)
}
