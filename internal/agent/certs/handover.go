package certs

import (
	"encoding/json"
	"fmt"
	"time"
)

// saved is what a successor of the agent needs to know of the pair of the server that runs: not the pair, which is installed.
type saved struct {
	PID      int           `json:"pid"`
	Provider bool          `json:"provider,omitempty"`
	Clients  bool          `json:"clients,omitempty"`
	OtherKey bool          `json:"otherKey,omitempty"`
	Loaded   string        `json:"loaded,omitempty"`
	Trusted  []string      `json:"trusted,omitempty"`
	Reloads  int           `json:"reloads,omitempty"`
	Took     time.Duration `json:"took,omitempty"`
}

// Busy implements handover.Part.
func (r *Room) Busy() string {
	if r.reloading || r.loaded.ID != "" && r.loaded.ID != r.installed.ID {
		return "certificates are being loaded"
	}
	return ""
}

// Save implements handover.Keeper.
func (r *Room) Save() (any, []int, error) {
	return saved{r.run.pid, r.run.Provider, r.run.Clients, r.run.otherKey, r.loaded.ID, r.trusted, r.reloads, r.reloadTook}, nil, nil
}

// Load implements handover.Keeper. What the server has loaded is what is installed (Busy); where its keys were of another kind when it was
// started, OtherKey says so already.
func (r *Room) Load(data json.RawMessage) error {
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s.Loaded != "" && s.Loaded != r.installed.ID {
		return fmt.Errorf("the server has loaded the certificate %.12s, and %.12s is installed", s.Loaded, r.installed.ID)
	}
	r.run = Run{Provider: s.Provider, Clients: s.Clients, Pair: r.installed, pid: s.PID, otherKey: s.OtherKey}
	if s.Loaded != "" {
		r.loaded, r.trusted = r.installed, s.Trusted
	}
	r.reloads, r.reloadTook = s.Reloads, s.Took
	return nil
}
