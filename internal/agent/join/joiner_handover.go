package join

import (
	"encoding/json"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Busy implements handover.Part.
func (r *JoinerTracker) Busy() string {
	if r.measuring || r.completing || r.recording || r.syncing && !r.synced || r.Join != nil && r.Join.EndedAt == nil {
		return "the member is joining"
	}
	return ""
}

// Save implements handover.Keeper.
func (r *JoinerTracker) Save() (any, []int, error) { return r.Join, nil, nil }

// Load implements handover.Keeper.
func (r *JoinerTracker) Load(data json.RawMessage) error {
	var j *agentapi.Join
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	r.Join = j
	return nil
}
