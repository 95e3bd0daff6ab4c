package certs

import (
	"encoding/json"
	"time"
)

// saved is what a successor of the agent needs to know of the pair of the server that runs: not the pair, which is
// installed.
type saved struct {
	PID      int           `json:"pid"`
	Provider bool          `json:"provider,omitempty"`
	Clients  bool          `json:"clients,omitempty"`
	OtherKey bool          `json:"otherKey,omitempty"`
	KeyKind  string        `json:"keyKind,omitempty"`
	Loaded   string        `json:"loaded,omitempty"`
	Serial   string        `json:"serial,omitempty"`
	NotAfter time.Time     `json:"notAfter"`
	Trusted  []string      `json:"trusted,omitempty"`
	Reloads  int           `json:"reloads,omitempty"`
	Took     time.Duration `json:"took,omitempty"`
}

// Busy implements handover.Part.
func (r *Reloader) Busy() string {
	if r.reloading || r.loaded.ID != "" && r.loaded.ID != r.installed.ID {
		return "certificates are being loaded"
	}
	return ""
}

// Save implements handover.Keeper.
func (r *Reloader) Save() (any, []int, error) {
	return saved{PID: r.run.pid, Provider: r.run.Provider, Clients: r.run.Clients, OtherKey: r.run.otherKey,
		KeyKind: r.run.keyKind,
		Loaded:  r.loaded.ID, Serial: r.loaded.Serial, NotAfter: r.loaded.NotAfter, Trusted: r.trusted, Reloads: r.reloads,
		Took: r.reloadTook}, nil, nil
}

// Load implements handover.Keeper. A pair that has been installed since is loaded as any new one.
func (r *Reloader) Load(data json.RawMessage) error {
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	r.run = Run{Provider: s.Provider, Clients: s.Clients, Pair: r.installed, pid: s.PID, keyKind: s.KeyKind,
		otherKey: s.OtherKey}
	r.trusted, r.reloads, r.reloadTook = s.Trusted, s.Reloads, s.Took
	switch s.Loaded {
	case "":
	case r.installed.ID:
		r.loaded = r.installed
	default:
		r.loaded = Bundle{ID: s.Loaded, Serial: s.Serial, NotAfter: s.NotAfter}
	}
	return nil
}
