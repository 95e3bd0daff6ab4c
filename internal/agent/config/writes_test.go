package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// change publishes another configuration, and reads it until mariadbd has checked it.
func (c *configured) change(change func(n *agentapi.NodeConfig)) {
	c.Helper()
	path := filepath.Join(c.places.Config, agentapi.ConfigKey)
	data, err := os.ReadFile(path)
	var n agentapi.NodeConfig
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	change(&n)
	if err == nil {
		data, err = json.Marshal(n)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		c.Fatal(err)
	}
	c.Read()
}

// TestWritesAreNotHeldBack: a member whose settings are refused, or whose configuration cannot be used otherwise,
// refuses writes as a newer configuration has it, also from the start of the next server, and accepts them again. It
// reports the settings as refused, and the revision of those that it has.
func TestWritesAreNotHeldBack(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil  func(n *agentapi.NodeConfig)
		reason agentapi.ConfigReason
	}{
		"a setting that mariadbd does not know": {func(n *agentapi.NodeConfig) { n.Settings = settings{"unknown": "1"} },
			agentapi.ConfigSettings},
		"keys that it does not have": {func(n *agentapi.NodeConfig) {
			n.AtRest = &agentapi.AtRest{State: agentapi.AtRestEncrypted, Algorithm: "AES_CTR",
				Keys: map[string]string{"1": "other"}}
		}, ""},
		"a method of a later release": {func(n *agentapi.NodeConfig) { n.StateTransfer.Method = "Later" },
			agentapi.ConfigInvalid},
	} {
		c := configure(t)
		c.publish("r1", settings{"max_connections": "1"})
		c.change(func(n *agentapi.NodeConfig) { n.Revision = "r2"; tc.spoil(n) })
		c.settle()
		started := c.ForStart().Output
		shows := func(what string, refuse bool, want agentapi.Refusal) {
			c.Helper()
			var r agentapi.Report
			c.Report(&r)
			written, err := os.ReadFile(c.places.MyCnf())
			if err != nil {
				c.Fatal(err)
			}
			if c.Node.Refuse != refuse || r.Refusal != want || c.ForStart().Output.ReadOnly() != refuse ||
				strings.Contains(string(written), "read_only") != refuse || c.ForStart().Output.Hash != started.Hash {
				c.Errorf("%s, %s: refuses %v: %+v\n%s", name, what, c.Node.Refuse, r.Refusal, written)
			}
			if r.Config.Loaded != "r1" || r.Config.Reason != tc.reason || c.Node.Settings["max_connections"] != "1" {
				c.Errorf("%s, %s: %+v with %v", name, what, r.Config, c.Node.Settings)
			}
		}
		shows("before", false, agentapi.Refusal{})
		c.change(func(n *agentapi.NodeConfig) { n.Revision, n.Refuse, n.SupersededBy = "r3", true, "by" })
		c.settle()
		shows("superseded", true, agentapi.Refusal{SupersededBy: "by"})
		c.change(func(n *agentapi.NodeConfig) { n.Revision, n.UID, n.Refuse = "r4", "another", false })
		c.settle()
		shows("another cluster's", true, agentapi.Refusal{SupersededBy: "by"})
		c.change(func(n *agentapi.NodeConfig) { n.Revision, n.UID = "r5", "" })
		c.settle()
		shows("overruled", false, agentapi.Refusal{})
	}
}

// TestWritesDoNotWaitForACheck: who accepts writes is taken over while mariadbd looks at new settings, which may take a
// minute.
func TestWritesDoNotWaitForACheck(t *testing.T) {
	c := configure(t)
	c.publish("r1", settings{})
	c.change(func(n *agentapi.NodeConfig) {
		n.Revision, n.Settings, n.Refuse = "r2", settings{"max_connections": "1"}, true
	})
	if !c.Checking || !c.Node.Refuse || c.Node.Revision != "r1" {
		t.Errorf("checking %t, %+v", c.Checking, c.Node)
	}
	if c.settle(); !c.Node.Refuse || c.Node.Revision != "r2" {
		t.Errorf("%+v", c.Node)
	}
}

// TestWritesThatAreNotWritten: an option file that cannot be written is a problem, and the running server gets it all
// the same. It is written later.
func TestWritesThatAreNotWritten(t *testing.T) {
	c := configure(t)
	c.publish("r1", settings{})
	blocked := c.places.MyCnf()
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(blocked, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.change(func(n *agentapi.NodeConfig) { n.Revision, n.Refuse = "r2", true })
	var r agentapi.Report
	if c.Report(&r); !c.Node.Refuse || r.Config.Reason != agentapi.ConfigNotWritten || c.ForStart().Output.ReadOnly() {
		t.Errorf("%+v, %+v", r.Config, c.Node)
	}
	if err := os.RemoveAll(blocked); err != nil {
		t.Fatal(err)
	}
	if c.Read(); !c.ForStart().Output.ReadOnly() || c.Node.Revision != "r2" {
		t.Errorf("%+v", c.Node)
	}
}
