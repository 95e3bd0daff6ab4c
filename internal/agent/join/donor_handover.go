package join

import (
	"encoding/json"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// saved is what a successor of the agent needs: a running transfer goes on: its scripts are mariadbd's children.
type saved struct {
	Current *agentapi.Donation `json:"giving,omitempty"`
	Last    *agentapi.Donation `json:"gave,omitempty"`
	Counts  map[string]int64   `json:"given,omitempty"`
	Notes   int                `json:"notes"`
	Bytes   int64              `json:"bytes"`
}

// Busy implements handover.Part.
func (r *DonorTracker) Busy() string { return "" }

// Save implements handover.Keeper.
func (r *DonorTracker) Save() (any, []int, error) {
	return saved{r.current, r.last, r.counts, r.notes, r.bytes}, nil, nil
}

// Load implements handover.Keeper.
func (r *DonorTracker) Load(data json.RawMessage) error {
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	r.current, r.last, r.counts, r.notes, r.bytes = s.Current, s.Last, s.Counts, s.Notes, s.Bytes
	return nil
}
