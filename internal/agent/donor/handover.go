package donor

import (
	"encoding/json"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// saved is what a successor of the agent needs: a transfer that is being given goes on, its scripts are mariadbd's children.
type saved struct {
	Giving *agentapi.Giving `json:"giving,omitempty"`
	Gave   *agentapi.Giving `json:"gave,omitempty"`
	Given  map[string]int64 `json:"given,omitempty"`
	Notes  int              `json:"notes"`
	Bytes  int64            `json:"bytes"`
}

// Busy implements handover.Part.
func (r *Room) Busy() string { return "" }

// Save implements handover.Keeper.
func (r *Room) Save() (any, []int, error) {
	return saved{r.giving, r.gave, r.given, r.notes, r.bytes}, nil, nil
}

// Load implements handover.Keeper.
func (r *Room) Load(data json.RawMessage) error {
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	r.giving, r.gave, r.given, r.notes, r.bytes = s.Giving, s.Gave, s.Given, s.Notes, s.Bytes
	return nil
}
