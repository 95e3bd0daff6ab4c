package process

import (
	"encoding/json"

	"github.com/galera-operator/galera-operator/internal/datadir"
)

// Busy implements handover.Part.
func (r *Examiner) Busy() string {
	if r.examining {
		return "the data directory is being examined"
	}
	return ""
}

// Save implements handover.Keeper.
func (r *Examiner) Save() (any, []int, error) { return r.Versions, nil, nil }

// Load implements handover.Keeper.
func (r *Examiner) Load(data json.RawMessage) error {
	var v datadir.Versions
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	r.Versions, r.waited = v, true
	return nil
}
