package measure

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// TestWhatATransferMakes: the same events disturb a run of transactions, and most of them a transfer.
func TestWhatATransferMakes(t *testing.T) {
	members := []result.Member{{Name: "x-0"}, {Name: "x-1"}, {Name: "x-2"}}
	all := []string{"x-0", "x-1", "x-2"}
	measured := &result.TransferFacts{Victim: "x-1", Donor: "x-0"}
	for name, tc := range map[string]struct {
		member   string
		view     result.Sample
		transfer *result.TransferFacts
		want     string
	}{
		"all well":        {"x-0", place("Synced", all...), nil, ""},
		"names not known": {"x-0", place("Synced"), nil, ""},
		"gives":           {"x-0", place("Donor"), nil, "x-0 was Donor instead of Synced"},
		"victim is gone":  {"x-0", place("Donor", "x-0", "x-2"), measured, ""},
		"catches up":      {"x-0", place("Joined"), measured, ""},
		"a second donor":  {"x-2", place("Donor"), measured, "x-2 was Donor instead of Synced"},
		"donor not known": {"x-2", place("Donor"), &result.TransferFacts{Victim: "x-1"}, ""},
		"victim joins":    {"x-1", place("Joining"), measured, ""},
		"third joins": {"x-2", place("Joining"), measured,
			"x-2 was Joining instead of Synced"},
		"donor joins": {"x-0", place("Joining"), measured,
			"x-0 was Joining instead of Synced"},
		"third is gone": {"x-0", place("Synced", all[:2]...), measured, "x-2 was gone"},
		"donor cut off": {"x-0", place("Donor"),
			measured, "x-0 was not in a Primary component"},
	} {
		if name == "donor cut off" {
			tc.view[result.MetricPrimary] = 0
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
