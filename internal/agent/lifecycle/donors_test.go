package lifecycle

import (
	"maps"
	"slices"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestDonors(t *testing.T) {
	is := primary
	clients := func(p *agentapi.PeerView) { p.Primary = true }
	gives := func(p *agentapi.PeerView) {
		p.State, p.Donation = galera.NodeDonor, &agentapi.Donation{Kind: agentapi.JoinSST, To: "10.0.0.9"}
	}
	givesIncrement := func(p *agentapi.PeerView) {
		p.State, p.Donation = galera.NodeDonor, &agentapi.Donation{Kind: agentapi.JoinIST, To: "10.0.0.9"}
	}
	for name, c := range map[string]struct {
		peers     []map[string]agentapi.PeerView
		preferred []string
		failed    string
		want      []string
		busy      string
		blocks    bool
	}{
		"no peer":          {nil, nil, "", nil, "", false},
		"only the primary": {[]map[string]agentapi.PeerView{is("a", clients)}, nil, "", nil, "", false},
		"never the primary": {[]map[string]agentapi.PeerView{is("a", clients), is("b", nil), is("c", nil)}, nil,
			"", []string{"b", "c"}, "", false},
		"nor when it is preferred": {[]map[string]agentapi.PeerView{is("a", clients), is("b", nil), is("c", nil)},
			[]string{"a", "c"}, "", []string{"c", "b"}, "", false},
		"preferred, in their order": {[]map[string]agentapi.PeerView{is("a", nil), is("b", nil), is("c", nil)},
			[]string{"c", "b"}, "", []string{"c", "b", "a"}, "", false},
		"the one that failed comes last": {[]map[string]agentapi.PeerView{is("a", nil), is("b", nil), is("c", nil)},
			[]string{"c"}, "c", []string{"a", "b", "c"}, "", false},
		"not who is leaving": {[]map[string]agentapi.PeerView{is("a",
			func(p *agentapi.PeerView) { p.Draining = true }), is("b", nil)}, nil, "", []string{"b"}, "", false},
		"not who is joining": {[]map[string]agentapi.PeerView{is("a",
			func(p *agentapi.PeerView) { p.State = galera.NodeJoining }), is("b", nil)}, nil, "", []string{"b"}, "", false},
		"the primary is spared": {[]map[string]agentapi.PeerView{is("a", clients), is("b", gives)}, nil, "", nil,
			"b", false},
		"not waiting for one that failed": {[]map[string]agentapi.PeerView{is("a", clients), is("b", gives)}, nil, "b", nil,
			"", false},
		"rather the primary than again": {[]map[string]agentapi.PeerView{is("a", clients), is("b", nil)}, nil, "b",
			[]string{"a", "b"}, "", false},
		"unless giving blocks it": {[]map[string]agentapi.PeerView{is("a", clients), is("b", nil)}, nil, "b",
			[]string{"b"}, "", true},
		"rather another than either": {[]map[string]agentapi.PeerView{is("a", clients), is("b", nil), is("c", nil)}, nil,
			"b", []string{"c", "b"}, "", false},
		"the primary has failed": {[]map[string]agentapi.PeerView{is("a", clients), is("b", nil)}, nil, "a",
			[]string{"b"}, "", false},
		"a busy one among free ones": {[]map[string]agentapi.PeerView{is("a", clients), is("b", gives), is("c", nil)},
			nil, "", []string{"c"}, "", false},
		"an increment is over in no time": {[]map[string]agentapi.PeerView{is("a", clients), is("b", givesIncrement)}, nil,
			"", nil, "", false},
	} {
		peers := map[string]agentapi.PeerView{}
		for _, p := range c.peers {
			maps.Copy(peers, p)
		}
		got, busy := Donors(peers, DonorPreferences{Preferred: c.preferred, Failed: c.failed, Blocks: c.blocks})
		if !slices.Equal(got, c.want) || busy != c.busy {
			t.Errorf("%s: %v, busy %q; want %v, %q", name, got, busy, c.want, c.busy)
		}
	}
}
