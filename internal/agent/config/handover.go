package config

import (
	"encoding/json"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// saved is what a successor of the agent needs to know of the configuration of the server that runs.
type saved struct {
	PID     int                  `json:"pid"`
	Hash    string               `json:"hash"`
	Socket  galera.SocketMode    `json:"socket"`
	Suites  []string             `json:"suites,omitempty"`
	Clients galera.ChannelPolicy `json:"clients"`
	// Sessions began before TLS was required; unknown of an agent of an earlier version.
	Sessions sessions `json:"sessions"`
	// Checked is the option file that mariadbd has accepted: it does not have to check the same again.
	Checked string `json:"checked,omitempty"`
	// Settings are those of the running server.
	Settings map[string]string `json:"settings,omitempty"`
	Back     fallback          `json:"back"`
	// AtRest is what the running server does with encryption keys.
	AtRest string `json:"atRest,omitempty"`
	// Binlog reports whether it writes all to a binary log; nil of an agent of an earlier version.
	Binlog *bool `json:"binlog,omitempty"`
}

// Busy implements handover.Part.
func (r *Manager) Busy() string {
	if r.Checking || r.live.busy {
		return "settings are being changed"
	}
	return ""
}

// Save implements handover.Keeper.
func (r *Manager) Save() (any, []int, error) {
	o := r.run.Output
	s := saved{PID: r.run.pid, Hash: o.Hash, Socket: o.Socket, Suites: o.Suites, Clients: r.run.Clients,
		Sessions: r.run.sessions, Settings: r.run.Settings, Back: r.back, AtRest: o.AtRest, Binlog: &o.WritesBinlog}
	if r.Node != nil {
		s.Checked = r.Output.MyCnf.Render()
	}
	return s, nil, nil
}

// Load implements handover.Keeper.
func (r *Manager) Load(data json.RawMessage) error {
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	r.run = Run{Output: Output{Hash: s.Hash, Socket: s.Socket, Suites: s.Suites, AtRest: s.AtRest}, Clients: s.Clients,
		Settings: s.Settings, pid: s.PID, sessions: s.Sessions}
	if s.Binlog != nil {
		r.run.Output.WritesBinlog = *s.Binlog
	} else {
		r.run.Output.WritesBinlog = writesBinlog(mycnf.Section{Name: "mysqld", Options: userSettings(s.Settings)})
	}
	r.back = s.Back
	r.checked = checked{text: s.Checked}
	return nil
}
