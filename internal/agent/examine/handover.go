package examine

import (
	"encoding/json"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
)

// Busy implements handover.Part.
func (r *Room) Busy() string {
	if r.examining {
		return "the data directory is being examined"
	}
	return ""
}

// Save implements handover.Keeper.
func (r *Room) Save() (any, []int, error) { return r.Versions, nil, nil }

// Load implements handover.Keeper.
func (r *Room) Load(data json.RawMessage) error {
	var v datadir.Versions
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	r.Versions, r.waited = v, true
	return nil
}
