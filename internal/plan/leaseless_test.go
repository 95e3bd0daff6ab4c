package plan

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestLeaselessPrimary: a node that alone refuses writes, because it has heard of no renewal of the lease, is the
// primary no longer. Where all do, it stays.
func TestLeaselessPrimary(t *testing.T) {
	var s galera.Snapshot
	for _, name := range []string{"n-0", "n-1"} {
		s.Members = append(s.Members, galera.Member{Name: name, Known: true, Phase: galera.PhaseRunning,
			Pod:    galera.Pod{Exists: true, Ready: true},
			Server: &galera.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: "u"}})
	}
	s.Members[1].Pod.Role, s.Primary = rolePrimary, "n-1"
	for _, c := range []struct {
		first, second bool
		want          string
	}{{false, false, "n-1"}, {false, true, "n-0"}, {true, true, "n-1"}, {true, false, "n-1"}} {
		s.Members[0].Leaseless, s.Members[1].Leaseless = c.first, c.second
		if have := chooseWriter(s); have != c.want {
			t.Errorf("without a lease %v, %v: %s", c.first, c.second, have)
		}
	}
}
