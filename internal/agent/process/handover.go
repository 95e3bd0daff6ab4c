package process

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// saved is what a successor of the agent needs. Without Process nothing runs. The order a run was for is done
// (orders.Store.Busy).
type saved struct {
	Process  *mariadbd.Handed   `json:"process,omitempty"`
	Formed   string             `json:"formed,omitempty"`
	From     galera.Position    `json:"from"`
	Status   *agentapi.Server   `json:"status,omitempty"`
	Position galera.Position    `json:"position"`
	View     wsrep.SavedView    `json:"view"`
	Away     []agentapi.Away    `json:"away,omitempty"`
	Attempts lifecycle.Attempts `json:"attempts"`
	Down     time.Time          `json:"down"`
	Ended    *agentapi.Ended    `json:"ended,omitempty"`
}

// Busy implements handover.Part: a server that serves and answers can be handed over, one that starts, joins or stops
// cannot.
func (r *Supervisor) Busy() string {
	switch {
	case r.Proc == nil:
		return ""
	case r.Leaving():
		return "mariadbd is being stopped"
	case !r.Served || r.Note != nil:
		return "the member is joining"
	case r.Status == nil:
		return "mariadbd does not answer"
	}
	return ""
}

// Save implements handover.Keeper.
func (r *Supervisor) Save() (any, []int, error) {
	s := saved{Formed: r.Formed, From: r.From, Status: r.Status, Position: r.Position,
		View: r.View.Save(), Away: r.Service.Save(), Attempts: r.Attempts, Down: r.DownSince, Ended: r.ended}
	if r.Proc == nil {
		return s, nil, nil
	}
	h, err := r.Proc.Hand()
	s.Process = &h
	return s, []int{h.Log}, err
}

// ServerOf returns the process number of the server that Save has named, 0 for none.
func ServerOf(data json.RawMessage) int {
	var s saved
	if json.Unmarshal(data, &s) != nil || s.Process == nil {
		return 0
	}
	return s.Process.PID
}

// Load implements handover.Keeper. The server has answered a moment ago: its hang timeout starts again.
func (r *Supervisor) Load(data json.RawMessage) error {
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s.Process != nil {
		if s.Process.PID <= 0 || s.Process.Log <= 0 {
			return errors.New("it names no process")
		}
		proc, err := r.take(*s.Process)
		if err != nil {
			return err
		}
		r.Proc, r.Run = proc, Run{Formed: s.Formed, From: s.From, Served: true}
		r.hang = hanging{answeredAt: time.Now(), since: time.Now(), answered: true}
		r.Status, r.Position = s.Status, s.Position
		r.View.Load(s.View)
	}
	r.Service.Load(s.Away)
	r.Attempts, r.DownSince, r.ended = s.Attempts, s.Down, s.Ended
	return nil
}
