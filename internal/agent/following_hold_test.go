//go:build integration

package agent_test

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// hold stops the channel of all nodes at a position.
func (s *following) hold(at string) {
	s.Helper()
	w := s.world
	var of *agentapi.Follow
	w.publishConfig(func(c *agentapi.NodeConfig) {
		c.Follow.Hold, c.Follow.HoldEnds = at, time.Now().Add(time.Hour).Truncate(time.Second)
		of = c.Follow
	})
	for _, n := range w.nodes {
		n.until("holding the channel at "+at, 90*time.Second, func(r agentapi.Report) bool {
			return r.Following != nil && r.Following.Held == of.Held() && r.Channel == agentapi.TaskOff
		})
	}
}

// release lets it go on.
func (s *following) release() {
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.Follow.Hold, c.Follow.HoldEnds = "", time.Time{} })
}

// held: all nodes stop where they are, then at one position that the source has passed, and go on afterwards.
func (s *following) held() {
	s.hold(agentapi.HoldNow)
	position := s.mustSource(sourcePosition)
	s.mustSource("DO SLEEP(0.5)") // the writer goes on
	s.hold(position)
	for i := range s.world.nodes {
		s.await(i, "SELECT @@gtid_slave_pos", position)
	}
	if now := s.mustSource(sourcePosition); now == position {
		s.Error("the source has written nothing meanwhile: the test shows nothing")
	}
	s.release()
	s.runsOn(0)
}
