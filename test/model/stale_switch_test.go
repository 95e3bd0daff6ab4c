package model

import (
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// strictAtOnce skips the dynamic step.
func strictAtOnce(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if p, ok := d.Action.(plan.PublishEncryption); ok && p.To.Socket == galera.SocketDynamic {
		d.Action = plan.PublishEncryption{From: p.From, To: s.Wanted}
	}
	return d
}

// strictTooEarly does not look at what the nodes run with.
func strictTooEarly(s galera.Snapshot) plan.Decision {
	if s.Operation == nil || s.Operation.Type != galera.OpSwitchTLS || s.Published.Socket != galera.SocketDynamic {
		return plan.Plan(s)
	}
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.Running.Socket == galera.SocketPlain {
			m.Running.Socket = galera.SocketDynamic
		}
		m.LinksVerified = true
	}))
}

// leavesUnjoinable does not go back to what the serving node runs with.
func leavesUnjoinable(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if p, ok := d.Action.(plan.PublishEncryption); ok && p.To != s.Wanted && p.To.Socket != galera.SocketDynamic {
		return plan.Decision{}
	}
	return d
}

// oneEpoch goes on under the epoch the switch was begun with.
func oneEpoch(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if b, ok := d.Action.(plan.Begin); ok && s.Operation != nil && s.Operation.Type == galera.OpSwitchTLS {
		b.Operation.ID, b.Operation.Epoch = s.Operation.ID, s.Operation.Epoch
		d.Action = b
	}
	return d
}
