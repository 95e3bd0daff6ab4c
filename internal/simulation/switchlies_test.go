package simulation

import (
	"github.com/galera-operator/galera-operator/internal/cluster"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// strictAtOnce skips the dynamic step.
func strictAtOnce(s cluster.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if p, ok := d.Action.(plan.PublishEncryption); ok && p.To.Sockets == cluster.SocketDynamic {
		d.Action = plan.PublishEncryption{From: p.From, To: s.Wanted}
	}
	return d
}

// strictTooEarly does not look at what the nodes run with.
func strictTooEarly(s cluster.Snapshot) plan.Decision {
	if s.Operation == nil || s.Operation.Type != cluster.OpSwitchTLS || s.Published.Sockets != cluster.SocketDynamic {
		return plan.Plan(s)
	}
	return plan.Plan(members(s, func(m *cluster.Member) {
		if m.Running.Sockets == cluster.SocketPlain {
			m.Running.Sockets = cluster.SocketDynamic
		}
		m.LinksVerified = true
	}))
}

// leavesUnjoinable does not go back to what the serving node runs with.
func leavesUnjoinable(s cluster.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if p, ok := d.Action.(plan.PublishEncryption); ok && p.To != s.Wanted && p.To.Sockets != cluster.SocketDynamic {
		return plan.Decision{}
	}
	return d
}

// oneEpoch goes on under the epoch the switch was begun with.
func oneEpoch(s cluster.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if b, ok := d.Action.(plan.Begin); ok && s.Operation != nil && s.Operation.Type == cluster.OpSwitchTLS {
		b.Operation.ID, b.Operation.Epoch = s.Operation.ID, s.Operation.Epoch
		d.Action = b
	}
	return d
}
