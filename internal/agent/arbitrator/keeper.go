package arbitrator

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// keeper hands a running garbd to another agent: it stays in its group.
type keeper struct{ *arbitrator }

// saved is what must outlive the agent. Pair is without the key: garbd has read it.
type saved struct {
	Garbd    *mariadbd.Handed  `json:"garbd,omitempty"`
	Process  string            `json:"process,omitempty"`
	Run      config.Arbitrator `json:"run"`
	Pair     savedPair         `json:"pair"`
	Restarts int               `json:"restarts,omitempty"`
}

type savedPair struct {
	ID       string    `json:"id,omitempty"`
	Serial   string    `json:"serial,omitempty"`
	NotAfter time.Time `json:"notAfter"`
	CAs      []string  `json:"cas,omitempty"`
}

// Busy implements handover.Part: only a garbd that is counted is handed over.
func (k keeper) Busy() string {
	switch {
	case k.proc == nil:
		return ""
	case k.ordered || !k.stopping.IsZero():
		return "garbd is being stopped"
	case !k.counted:
		return "garbd is joining"
	}
	return ""
}

// Save implements handover.Keeper.
func (k keeper) Save() (any, []int, error) {
	s := saved{Restarts: k.restarts}
	if k.proc == nil {
		return s, nil, nil
	}
	h, err := k.proc.Hand()
	s.Garbd, s.Process, s.Run = &h, k.process, k.run
	s.Pair = savedPair{ID: k.pair.ID, Serial: k.pair.Serial, NotAfter: k.pair.NotAfter, CAs: k.pair.CAs}
	return s, []int{h.Log}, err
}

// Load implements handover.Keeper. The members' patience with garbd begins anew.
func (k keeper) Load(data json.RawMessage) error {
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s.Garbd != nil {
		if s.Garbd.PID <= 0 || s.Garbd.Log <= 0 || s.Process == "" {
			return errors.New("it names no process")
		}
		proc, err := mariadbd.Take(&k.table, *s.Garbd, k.Output)
		if err != nil {
			return err
		}
		k.proc, k.process, k.run, k.since = proc, s.Process, s.Run, time.Now()
		k.pair = certs.Bundle{ID: s.Pair.ID, Serial: s.Pair.Serial, NotAfter: s.Pair.NotAfter, CAs: s.Pair.CAs}
		k.follow(proc)
	}
	k.restarts = s.Restarts
	return nil
}
