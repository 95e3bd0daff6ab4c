package config

import (
	"encoding/json"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestHandoverOfABinlog: a successor knows whether the server that it takes over writes a binary log, also from an
// agent of an earlier version.
func TestHandoverOfABinlog(t *testing.T) {
	on := map[string]string{"log_bin": "binlog", "log_slave_updates": "ON"}
	off := map[string]string{"log_bin": "binlog", "log_slave_updates": "OFF"}
	for name, c := range map[string]struct {
		config  agentapi.NodeConfig
		earlier bool
		want    bool
	}{
		"with one":                    {agentapi.NodeConfig{Settings: on}, false, true},
		"of own transactions only":    {agentapi.NodeConfig{Settings: off}, false, false},
		"without one":                 {agentapi.NodeConfig{}, false, false},
		"of a cluster that follows":   {agentapi.NodeConfig{Follow: &agentapi.Follow{ServerID: 2}}, false, true},
		"by an earlier agent":         {agentapi.NodeConfig{Settings: on}, true, true},
		"by an earlier one, own only": {agentapi.NodeConfig{Settings: off}, true, false},
		"by an earlier one, without":  {agentapi.NodeConfig{}, true, false},
	} {
		var from, to Manager
		from.Started(1, Run{Output: Build(Input{Config: c.config, Name: "shop-0", Address: "10.0.0.1"}),
			Settings: c.config.Settings})
		s, _, err := from.Save()
		if err != nil {
			t.Fatal(err)
		}
		state := s.(saved)
		if c.earlier {
			state.Binlog = nil
		}
		data, err := json.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		if err := to.Load(data); err != nil {
			t.Fatal(err)
		}
		if got := to.Running().Output.WritesBinlog; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
