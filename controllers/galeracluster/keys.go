package galeracluster

import (
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// withKeys is the planner's decision while the encryption keys cannot be used: no pod is replaced, and no server is
// stopped, because the next one could not read its data.
func withKeys(d plan.Decision, keys *validate.Problem) plan.Decision {
	if keys == nil || !keys.Blocked {
		return d
	}
	stops := false
	switch a := d.Action.(type) {
	case plan.DeletePod:
		stops = true
	case plan.SendOrder:
		stops = a.Kind == plan.OrderRestart || a.Kind == plan.OrderStop
	}
	if !stops {
		return d
	}
	return plan.Decision{Reason: keys.Reason, Message: keys.Message, Blocked: true}
}
