package runner

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestWhatATransferMakes: the same events disturb a run of transactions, and most of them a transfer.
func TestWhatATransferMakes(t *testing.T) {
	members := []result.Member{{Name: "x-0"}, {Name: "x-1"}, {Name: "x-2"}}
	all := []string{"x-0", "x-1", "x-2"}
	measured := &result.TransferFacts{Victim: "x-1", Donor: "x-0"}
	for name, tc := range map[string]struct {
		member   string
		view     agentapi.PeerView
		transfer *result.TransferFacts
		want     string
	}{
		"all well":        {"x-0", agentapi.PeerView{State: galera.NodeSynced, Members: all}, nil, ""},
		"names not known": {"x-0", agentapi.PeerView{State: galera.NodeSynced}, nil, ""},
		"gives":           {"x-0", agentapi.PeerView{State: galera.NodeDonor}, nil, "x-0 was Donor instead of Synced"},
		"victim is gone":  {"x-0", agentapi.PeerView{State: galera.NodeDonor, Members: []string{"x-0", "x-2"}}, measured, ""},
		"catches up":      {"x-0", agentapi.PeerView{State: galera.NodeJoined}, measured, ""},
		"a second donor":  {"x-2", agentapi.PeerView{State: galera.NodeDonor}, measured, "x-2 was Donor instead of Synced"},
		"donor not known": {"x-2", agentapi.PeerView{State: galera.NodeDonor}, &result.TransferFacts{Victim: "x-1"}, ""},
		"victim joins":    {"x-1", agentapi.PeerView{State: galera.NodeJoining}, measured, ""},
		"third joins": {"x-2", agentapi.PeerView{State: galera.NodeJoining}, measured,
			"x-2 was Joining instead of Synced"},
		"donor joins": {"x-0", agentapi.PeerView{State: galera.NodeJoining}, measured,
			"x-0 was Joining instead of Synced"},
		"third is gone": {"x-0", agentapi.PeerView{State: galera.NodeSynced, Members: all[:2]}, measured, "x-2 was gone"},
		"donor cut off": {"x-0", agentapi.PeerView{Component: galera.ComponentNonPrimary, State: galera.NodeDonor},
			measured, "x-0 was not in a Primary component"},
	} {
		if tc.view.Component == "" {
			tc.view.Component = galera.ComponentPrimary
		}
		r := &runner{agents: newAgents(members), out: result.Output{Transfer: tc.transfer}}
		got := strings.Join(r.noticed(r.agents.judge(result.Member{Name: tc.member}, tc.view)), "; ")
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	once := event{member: "x-0", text: "x-0 was Donor"}
	if got := add([]event{once}, once); len(got) != 1 {
		t.Errorf("reported again: %v", got)
	}
}
