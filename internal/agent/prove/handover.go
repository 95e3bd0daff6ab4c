package prove

import "encoding/json"

// Busy implements handover.Part.
func (r *Room) Busy() string { return "" }

// Save implements handover.Keeper.
func (r *Room) Save() (any, []int, error) { return r.result, nil, nil }

// Load implements handover.Keeper: evidence stays evidence, and becomes old as it did.
func (r *Room) Load(data json.RawMessage) error {
	var s Result
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	r.result = s
	return nil
}
