package galera

import "time"

// SeeLoss sets NoPrimarySince and NoPrimaryFor. recorded is the time that an earlier pass found, zero when it saw a
// Primary component. A Primary component of a minority counts, too: the time begins with its end.
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
