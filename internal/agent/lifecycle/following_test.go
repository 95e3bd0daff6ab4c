package lifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func TestChannelHere(t *testing.T) {
	view := func(names ...string) *agentapi.Server {
		s := &agentapi.Server{}
		for _, name := range names {
			s.Group = append(s.Group, agentapi.GroupMember{UUID: name, Name: name})
		}
		return s
	}
	knows := func(name string) map[string]agentapi.PeerView {
		return map[string]agentapi.PeerView{name: {Name: name, Primary: true}}
	}
	for name, tc := range map[string]struct {
		of   ChannelFacts
		want bool
	}{
		"the primary": {ChannelFacts{Self: "n-1", Primary: "n-1", Server: view("n-0", "n-1")},
			true},
		"another member": {ChannelFacts{Self: "n-0", Primary: "n-1", Server: view("n-0", "n-1")},
			false},
		"the primary is not in the component": {ChannelFacts{Self: "n-1", Primary: "n-0", Server: view("n-2", "n-1")},
			true},
		"and another member is the first": {ChannelFacts{Self: "n-2", Primary: "n-0", Server: view("n-2", "n-1")},
			false},
		"no primary is known": {ChannelFacts{Self: "n-0", Server: view("n-1", "n-0")}, true},
		"an arbitrator runs none": {ChannelFacts{Self: "n-1", Server: view("arbitrator.shop", "n-1")},
			true},
		"the members are not known": {ChannelFacts{Self: "n-0", Primary: "n-0", Server: view()},
			false},
		"the members are not known for now": {ChannelFacts{Self: "n-0", Primary: "n-0", Server: view(), Runs: true},
			true},
		"the server does not answer": {ChannelFacts{Self: "n-0", Primary: "n-0", Runs: true}, false},
		"a restarted primary does not know that it is": {ChannelFacts{Self: "n-0", Primary: "n-1",
			Server: view("n-0", "n-1"), Runs: true}, true},
		"a restarted primary does not know, and none runs it": {ChannelFacts{Self: "n-0", Primary: "n-1",
			Server: view("n-0", "n-1"), Others: map[string]agentapi.PeerView{"n-1": {Name: "n-1"}}}, true},
		"the primary knows that it is": {ChannelFacts{Self: "n-0", Primary: "n-1", Server: view("n-0", "n-1"),
			Runs: true, Others: knows("n-1")}, false},
		"a restarted member learns of the primary": {ChannelFacts{Self: "n-0", Server: view("n-0", "n-1"),
			Others: knows("n-1")}, false},
		"one that runs it keeps it when the primary has left": {ChannelFacts{Self: "n-2", Primary: "n-0",
			Server: view("n-1", "n-2"), Runs: true}, true},
		"an answer of a member that has left does not count": {ChannelFacts{Self: "n-1", Server: view("n-1", "n-2"),
			Others: knows("n-0")}, true},
	} {
		if got, _ := tc.of.Here(); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestIncludes(t *testing.T) {
	for name, tc := range map[string]struct {
		position, of string
		want         bool
	}{
		"the same":                       {"0-1-7", "0-1-7", true},
		"later, of another server":       {"0-2-8", "0-1-7", true},
		"earlier":                        {"0-1-6", "0-1-7", false},
		"not compared as text":           {"0-1-10", "0-1-9", true},
		"one domain of two is earlier":   {"0-1-7,3-1-5", "0-1-7,3-1-6", false},
		"a domain is missing":            {"0-1-7", "0-1-7,3-1-6", false},
		"a domain more":                  {"0-1-7,3-1-6", "3-1-6", true},
		"an unknown position":            {"", "0-1-7", false},
		"an unknown end":                 {"0-1-7", "", false},
		"both unknown":                   {"", "", false},
		"no position":                    {"0-1-x", "0-1-1", false},
		"a position with a domain twice": {"0-1-7,0-2-9", "0-1-7", false},
	} {
		if got := Includes(tc.position, tc.of); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestDiverged: a number that another server has given shows nothing, in any domain of the end.
func TestDiverged(t *testing.T) {
	for name, tc := range map[string]struct {
		position, of string
		want         bool
	}{
		"the same":                        {"0-2-105", "0-2-105", false},
		"later, of the same server":       {"0-1-8", "0-1-7", false},
		"later, of another server":        {"0-1-110", "0-2-105", true},
		"the same number, another server": {"0-1-105", "0-2-105", true},
		"earlier, of another server":      {"0-1-98", "0-2-105", false},
		"another server in one domain":    {"0-1-7,3-1-6", "3-2-6,0-1-7", true},
		"another server in another one":   {"0-1-7,3-1-6", "0-1-7", false},
		"a domain is missing":             {"0-1-7", "3-2-6", false},
		"an unknown position":             {"", "0-1-7", false},
		"an unknown end":                  {"0-1-7", "", false},
	} {
		if got := Diverged(tc.position, tc.of); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestFollowState(t *testing.T) {
	for name, tc := range map[string]struct {
		of   FollowState
		want FollowAct
	}{
		"follows":                         {FollowState{Applied: "0-1-7", ReadOnly: true, ChannelOff: true}, FollowStay},
		"follows, and was opened by hand": {FollowState{Applied: "0-1-7"}, FollowRefuse},
		"the position is not known":       {FollowState{Until: "0-1-7", ReadOnly: true, ChannelOff: true}, FollowStay},
		"has not applied everything": {FollowState{Until: "0-1-7", Applied: "0-1-6", ReadOnly: true, ChannelOff: true},
			FollowStay},
		"has applied everything, the channel runs": {FollowState{Until: "0-1-7", Applied: "0-1-7", ReadOnly: true},
			FollowStay},
		"has applied everything": {FollowState{Until: "0-1-7", Applied: "0-1-7", ReadOnly: true,
			ChannelOff: true, Known: true}, FollowAccept},
		"another server has written what it has": {FollowState{Until: "0-2-105", Applied: "0-1-110", ReadOnly: true,
			ChannelOff: true, Known: true}, FollowDiverged},
		"as above, and its channel runs": {FollowState{Until: "0-2-105", Applied: "0-1-110", ReadOnly: true},
			FollowDiverged},
		"as above, with more of what follows": {FollowState{Until: "0-1-105", Applied: "0-1-110", ReadOnly: true,
			ChannelOff: true, Known: true}, FollowAccept},
		"as above, and all have accepted writes": {FollowState{Until: "0-2-105", Applied: "0-1-110", ReadOnly: true,
			ChannelOff: true, Known: true, Ended: true}, FollowAccept},
		"as above, and it accepts writes": {FollowState{Until: "0-2-105", Applied: "0-1-110", ChannelOff: true, Known: true},
			FollowStay},
		"as above, and another cluster has taken over": {FollowState{Until: "0-2-105", Applied: "0-1-110", ReadOnly: true,
			ChannelOff: true, Known: true, Refuse: true}, FollowStay},
		"another channel may go on": {FollowState{Until: "0-1-7", Applied: "0-1-7", ReadOnly: true, ChannelOff: true,
			Known: true, Unfenced: []string{"n-1"}}, FollowAsk},
		"the members are not known": {FollowState{Until: "0-1-7", Applied: "0-1-7", ReadOnly: true, ChannelOff: true},
			FollowAsk},
		"accepts writes": {FollowState{Until: "0-1-7", Applied: "0-1-7", ChannelOff: true}, FollowStay},
		"accepts writes, and another cluster has taken over": {FollowState{Until: "0-1-7", Applied: "0-1-7",
			ChannelOff: true, Refuse: true}, FollowRefuse},
		"has applied everything, and another cluster has taken over": {FollowState{Until: "0-1-7", Applied: "0-1-7",
			ReadOnly: true, ChannelOff: true, Known: true, Refuse: true}, FollowStay},
	} {
		if got := tc.of.Next(); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestUnfenced(t *testing.T) {
	server := &agentapi.Server{}
	for _, name := range []string{"n-0", "n-1", "n-2", "arbitrator.shop"} {
		server.Group = append(server.Group, agentapi.GroupMember{UUID: name, Name: name})
	}
	all := map[string]agentapi.PeerView{"n-1": {ChannelUntil: "0-1-7", ChannelFenced: true},
		"n-2": {ChannelUntil: "0-1-7", ChannelFenced: true}}
	with := func(v agentapi.PeerView) map[string]agentapi.PeerView {
		return map[string]agentapi.PeerView{"n-1": all["n-1"], "n-2": v}
	}
	for name, tc := range map[string]struct {
		server *agentapi.Server
		others map[string]agentapi.PeerView
		want   []string
		known  bool
	}{
		"all":                          {server, all, nil, true},
		"the server does not answer":   {nil, all, nil, false},
		"the members are not known":    {&agentapi.Server{}, all, nil, false},
		"one does not answer":          {server, map[string]agentapi.PeerView{"n-1": all["n-1"]}, []string{"n-2"}, true},
		"one has no end":               {server, with(agentapi.PeerView{Channel: agentapi.TaskOff}), []string{"n-2"}, true},
		"the channel of one may go on": {server, with(agentapi.PeerView{ChannelUntil: "0-1-7"}), []string{"n-2"}, true},
		"one has another end": {server, with(agentapi.PeerView{ChannelUntil: "0-1-9", ChannelFenced: true}), []string{"n-2"},
			true},
		"one that has left does not count": {&agentapi.Server{Group: server.Group[:2]},
			map[string]agentapi.PeerView{"n-1": all["n-1"]}, nil, true},
	} {
		if got, known := Unfenced("n-0", tc.server, tc.others, "0-1-7"); !slices.Equal(got, tc.want) || known != tc.known {
			t.Errorf("%s: %v, %v", name, got, known)
		}
	}
}

func TestChannelEnd(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		of   agentapi.Follow
		end  string
		stop bool
	}{
		"follows":               {},
		"is cut over":           {agentapi.Follow{Until: "0-1-7"}, "0-1-7", false},
		"is held":               {agentapi.Follow{Hold: agentapi.HoldNow, HoldEnds: now.Add(time.Second)}, "", true},
		"is held at a position": {agentapi.Follow{Hold: "0-1-5", HoldEnds: now.Add(time.Second)}, "0-1-5", false},
		"was held for long":     {agentapi.Follow{Hold: agentapi.HoldNow, HoldEnds: now}, "", false},
		"is cut over, being held": {agentapi.Follow{Until: "0-1-7", Hold: "0-1-5", HoldEnds: now.Add(time.Second)},
			"0-1-7", false},
	} {
		if end, stop := ChannelEnd(tc.of, now); end != tc.end || stop != tc.stop {
			t.Errorf("%s: %q, %v", name, end, stop)
		}
	}
}
