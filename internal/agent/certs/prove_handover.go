package certs

import "encoding/json"

// Busy implements handover.Part.
func (r *ProofMonitor) Busy() string { return "" }

// Save implements handover.Keeper.
func (r *ProofMonitor) Save() (any, []int, error) { return r.result, nil, nil }

// Load implements handover.Keeper: evidence stays evidence, and becomes old as it did.
func (r *ProofMonitor) Load(data json.RawMessage) error {
	var s ProofResult
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	r.result = s
	return nil
}
