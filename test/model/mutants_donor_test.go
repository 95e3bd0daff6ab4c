package model

import (
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

func leavesDonor(s galera.Snapshot) plan.Decision {
	return honest(s, plan.Plan(members(s, func(m *galera.Member) { m.StuckDonor = false })))
}

// waitsForDonor restarts it like any other: when all are Synced.
func waitsForDonor(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if o, ok := d.Action.(plan.SendOrder); ok && o.Kind == plan.OrderRestart {
		for _, m := range s.Members {
			if !m.Synced() {
				return plan.Decision{}
			}
		}
	}
	return d
}

// restartsDonorAtOnce believes that no other node could give.
func restartsDonorAtOnce(s galera.Snapshot) plan.Decision {
	op := s.Operation
	if op == nil || op.Type != galera.OpRestart {
		return plan.Plan(s)
	}
	return honest(s, plan.Plan(members(s, func(m *galera.Member) {
		if target, ok := s.Member(op.Target); ok && target.StuckDonor {
			m.StuckDonor = true
		}
	})))
}
