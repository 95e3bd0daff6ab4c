package simulation

import (
	"github.com/galera-operator/galera-operator/internal/cluster"
	"github.com/galera-operator/galera-operator/internal/plan"
)

func leavesDonor(s cluster.Snapshot) plan.Decision {
	return honest(s, plan.Plan(members(s, func(m *cluster.Member) { m.StuckDonor = false })))
}

// waitsForDonor restarts it like any other: when all are Synced.
func waitsForDonor(s cluster.Snapshot) plan.Decision {
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

// restartsDonorAtOnce believes that nobody else could give.
func restartsDonorAtOnce(s cluster.Snapshot) plan.Decision {
	op := s.Operation
	if op == nil || op.Type != cluster.OpRestart {
		return plan.Plan(s)
	}
	return honest(s, plan.Plan(members(s, func(m *cluster.Member) {
		if target, ok := s.Member(op.Target); ok && target.StuckDonor {
			m.StuckDonor = true
		}
	})))
}
