package prove

import "encoding/json"

// Busy implements handover.Part.
func (r *Monitor) Busy() string { return "" }

// Save implements handover.Keeper.
func (r *Monitor) Save() (any, []int, error) { return r.result, nil, nil }

// Load implements handover.Keeper: evidence stays evidence, and becomes old as it did.
func (r *Monitor) Load(data json.RawMessage) error {
	var s Result
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	r.result = s
	return nil
}
