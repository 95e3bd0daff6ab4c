package agentapi

import (
	"reflect"
	"testing"
	"time"
)

// TestWithWritesOf: what decides who accepts writes is taken over, and nothing else is.
func TestWithWritesOf(t *testing.T) {
	ends := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	of := func(change func(n *NodeConfig)) NodeConfig {
		n := NodeConfig{Revision: "1", Cluster: "shop", Namespace: "prod", UID: "u", Settings: map[string]string{"a": "1"},
			Follow: &Follow{Host: "a", Port: 3306, ServerID: 7}}
		change(&n)
		return n
	}
	alone := func(n *NodeConfig) { n.Follow = nil }
	for name, tc := range map[string]struct{ have, newer, want func(n *NodeConfig) }{
		"another cluster has taken over": {alone, func(n *NodeConfig) {
			alone(n)
			n.Revision, n.Settings, n.Hibernated = "2", map[string]string{"a": "2"}, true
			n.Refuse, n.Refusal = true, Refusal{Switching: 3, SwitchingIn: "in", SwitchingFrom: "from", SupersededBy: "by"}
		}, func(n *NodeConfig) {
			alone(n)
			n.Refuse, n.Refusal = true, Refusal{Switching: 3, SwitchingIn: "in", SwitchingFrom: "from", SupersededBy: "by"}
		}},
		"that was overruled": {func(n *NodeConfig) { n.Refuse, n.SupersededBy = true, "by" }, func(*NodeConfig) {},
			func(*NodeConfig) {}},
		"events run no more": {func(n *NodeConfig) { n.RunEvents = true }, func(*NodeConfig) {}, func(*NodeConfig) {}},
		"a lease that is turned off": {func(n *NodeConfig) { n.Lease = true }, func(n *NodeConfig) {
			n.Lease, n.LeaseUnwanted = true, 4
		}, func(n *NodeConfig) { n.Lease, n.LeaseUnwanted = true, 4 }},
		"it takes over": {func(n *NodeConfig) { n.Follow.Hold, n.Follow.HoldEnds = "0-1-2", ends },
			func(n *NodeConfig) { n.Follow.Host, n.Follow.ServerID, n.Follow.Until = "b", 8, "0-1-2" },
			func(n *NodeConfig) { n.Follow.Until = "0-1-2" }},
		"it has taken over": {func(n *NodeConfig) { n.Follow.Until = "0-1-2" },
			func(n *NodeConfig) { n.Follow.Until, n.Follow.Ended = "0-1-2", true },
			func(n *NodeConfig) { n.Follow.Until, n.Follow.Ended = "0-1-2", true }},
		"the channel is held": {func(*NodeConfig) {},
			func(n *NodeConfig) { n.Follow.Hold, n.Follow.HoldEnds = HoldNow, ends },
			func(n *NodeConfig) { n.Follow.Hold, n.Follow.HoldEnds = HoldNow, ends }},
		"it is to follow":        {alone, func(*NodeConfig) {}, func(n *NodeConfig) { alone(n); n.Refuse = true }},
		"it has followed before": {alone, func(n *NodeConfig) { n.Follow.Until = "0-1-2" }, alone},
		"it follows nothing any more": {func(n *NodeConfig) { n.Follow.Until = "0-1-2" }, alone,
			func(n *NodeConfig) { n.Follow.Until = "0-1-2" }},
		"of another UID":       {alone, func(n *NodeConfig) { n.UID, n.Refuse, n.Lease = "v", true, true }, alone},
		"of another cluster":   {alone, func(n *NodeConfig) { n.Cluster, n.Refuse = "other", true }, alone},
		"of another namespace": {alone, func(n *NodeConfig) { n.Namespace, n.Refuse = "other", true }, alone},
	} {
		have := of(tc.have)
		if got := have.WithWritesOf(of(tc.newer)); !reflect.DeepEqual(got, of(tc.want)) {
			t.Errorf("%s: %+v, following %+v", name, got, got.Follow)
		}
		if !reflect.DeepEqual(have, of(tc.have)) {
			t.Errorf("%s: the configuration of before was changed: %+v", name, have)
		}
	}
}

// TestWritesAreWhole: a field that is added to a configuration is either taken over or not by intent.
func TestWritesAreWhole(t *testing.T) {
	taken := map[string]bool{"RunEvents": true, "Follow": true, "Refuse": true, "Refusal": true, "Lease": true,
		"LeaseUnwanted": true}
	kept := map[string]bool{"Revision": true, "Cluster": true, "Namespace": true, "UID": true, "History": true,
		"Members": true, "Arbitrator": true, "TLS": true, "StateTransfer": true, "Settings": true, "Hibernated": true,
		"SendWindows": true, "LogFormat": true, "RootAccess": true, "AtRest": true}
	for _, name := range []string{"Until", "Ended", "Hold", "HoldEnds"} {
		taken["Follow."+name] = true
	}
	for _, name := range []string{"Host", "Port", "Alternatives", "Plain", "ServerID"} {
		kept["Follow."+name] = true
	}
	for prefix, of := range map[string]reflect.Type{"": reflect.TypeFor[NodeConfig](),
		"Follow.": reflect.TypeFor[Follow]()} {
		for i := range of.NumField() {
			if name := prefix + of.Field(i).Name; taken[name] == kept[name] {
				t.Errorf("does WithWritesOf take %s over?", name)
			}
		}
	}
}
