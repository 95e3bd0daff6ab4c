package lifecycle

import (
	"testing"

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
		"the primary": {ChannelFacts{Self: "n-1", Primary: "n-1",
			Server: view("n-0", "n-1")}, true},
		"another member": {ChannelFacts{Self: "n-0", Primary: "n-1",
			Server: view("n-0", "n-1")}, false},
		"the primary is not in the component": {ChannelFacts{Self: "n-1", Primary: "n-0",
			Server: view("n-2", "n-1")}, true},
		"and another member is the first": {ChannelFacts{Self: "n-2", Primary: "n-0",
			Server: view("n-2", "n-1")}, false},
		"no primary is known": {ChannelFacts{Self: "n-0", Server: view("n-1", "n-0")}, true},
		"an arbitrator runs none": {ChannelFacts{Self: "n-1",
			Server: view("arbitrator.shop", "n-1")}, true},
		"the members are not known": {ChannelFacts{Self: "n-0", Primary: "n-0", Server: view()},
			false},
		"the members are not known for now": {ChannelFacts{Self: "n-0", Primary: "n-0", Server: view(),
			Runs: true}, true},
		"the server does not answer": {ChannelFacts{Self: "n-0", Primary: "n-0", Runs: true}, false},
		"a restarted primary does not know that it is": {ChannelFacts{Self: "n-0", Primary: "n-1",
			Server: view("n-0", "n-1"), Runs: true}, true},
		"the primary knows that it is": {ChannelFacts{Self: "n-0", Primary: "n-1",
			Server: view("n-0", "n-1"), Runs: true, Others: knows("n-1")}, false},
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

func TestFollowState(t *testing.T) {
	for name, tc := range map[string]struct {
		of   FollowState
		want FollowAct
	}{
		"follows": {FollowState{Applied: "0-1-7", ReadOnly: true, ChannelOff: true},
			FollowStay},
		"follows, and was opened by hand": {FollowState{Applied: "0-1-7"}, FollowRefuse},
		"the position is not known": {FollowState{Until: "0-1-7", ReadOnly: true, ChannelOff: true},
			FollowStay},
		"has not applied everything": {FollowState{Until: "0-1-7", Applied: "0-1-6", ReadOnly: true,
			ChannelOff: true}, FollowStay},
		"has applied everything, the channel runs": {FollowState{Until: "0-1-7", Applied: "0-1-7", ReadOnly: true},
			FollowStay},
		"has applied everything": {FollowState{Until: "0-1-7", Applied: "0-1-7", ReadOnly: true,
			ChannelOff: true}, FollowAccept},
		"accepts writes": {FollowState{Until: "0-1-7", Applied: "0-1-7", ChannelOff: true},
			FollowStay},
	} {
		if got := tc.of.Next(); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
