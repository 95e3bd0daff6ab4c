//go:build integration

package agent_test

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// sendWindows: members of one host run with the windows for that; those of the configuration take their place and go
// again, and no server is restarted for it.
func (s *scenario) sendWindows() {
	n, near := s.node(2), agentapi.SendWindows{UserSendWindow: 1, SendWindow: 2}
	before := n.serverPID()
	await := func(what string, want agentapi.SendWindows) {
		s.Helper()
		r := n.until(what, 40*time.Second, func(r agentapi.Report) bool {
			return r.Replication != nil &&
				r.Replication.SendWindows == want
		})
		if rtt := r.Replication.RoundTripMicroseconds; rtt <= 0 || rtt > 20_000 {
			s.Errorf("%s: a round trip of %d µs on one host", what, rtt)
		}
		if r.Config.RestartNeeded {
			s.Errorf("%s: a restart is needed", what)
		}
	}
	inForce := func(want string) {
		s.Helper()
		if got := n.mustSQL(
			"SELECT @@global.wsrep_provider_evs_user_send_window, @@global.wsrep_provider_evs_send_window"); got != want {
			s.Errorf("the server has %q, want %q", got, want)
		}
	}
	fix := func(w *agentapi.SendWindows) {
		s.world.publishConfig(func(c *agentapi.NodeConfig) { c.SendWindows = w })
	}
	await("the windows of one host", near)
	inForce("1\t2")
	for _, w := range []agentapi.SendWindows{{UserSendWindow: 24, SendWindow: 64}, {UserSendWindow: 2, SendWindow: 3}} {
		fix(&w)
		await("the configured windows", w)
	}
	inForce("2\t3")
	s.write(2)
	fix(nil)
	await("the windows of one host again", near)
	inForce("1\t2")
	s.write(2)
	if n.serverPID() != before {
		s.Error("mariadbd was restarted")
	}
}
