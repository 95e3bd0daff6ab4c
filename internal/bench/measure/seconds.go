package measure

import (
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// seconds is a run of connections, second by second.
type seconds struct {
	points []result.Point
	// took are the latencies of the last point.
	took []float64
}

// add notes what ended at some time since the beginning; times do not go back.
func (s *seconds) add(at time.Duration, ms float64, failed bool) {
	s.upTo(at)
	p := &s.points[len(s.points)-1]
	if failed {
		p.Errors++
		return
	}
	p.TPS++
	s.took = append(s.took, ms)
}

// upTo makes points for all seconds that have begun, also for those without any connection.
func (s *seconds) upTo(at time.Duration) {
	for len(s.points) <= int(at.Seconds()) {
		s.end()
		s.points = append(s.points, result.Point{Second: float64(len(s.points) + 1)})
	}
}

// end finishes the last point.
func (s *seconds) end() {
	if len(s.points) > 0 {
		slices.Sort(s.took)
		s.points[len(s.points)-1].P95 = result.Quantile(s.took, 95)
	}
	s.took = s.took[:0]
}

// whole returns the points of a run of some length, without the second it ended in: a part of one looks like a drop.
func (s *seconds) whole(wall time.Duration) []result.Point {
	s.end()
	return s.points[:min(len(s.points), int(wall.Seconds()))]
}
