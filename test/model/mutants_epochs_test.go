package model

import (
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

func forgetsEpochs(s galera.Snapshot) plan.Decision {
	return withoutLeap(plan.Plan(members(s, func(m *galera.Member) {
		m.Line = 0
		if m.Order != nil {
			o := *m.Order
			o.Epoch = min(o.Epoch, s.Epoch)
			m.Order = &o
		}
	})))
}

// forgetsLines distinguishes lines of history by their epochs alone.
func forgetsLines(s galera.Snapshot) plan.Decision {
	s.Line = ""
	return plan.Plan(members(s, func(m *galera.Member) { m.Lines = nil }))
}

// withoutLeap lets a status that has lost its epoch go on right above those remembered.
func withoutLeap(d plan.Decision) plan.Decision {
	if r, ok := d.Action.(plan.RecordUUID); ok {
		r.Leap = false
		d.Action = r
	}
	return d
}

func adoptsReadable(s galera.Snapshot) plan.Decision {
	if s.ClusterUUID != "" || s.Operation != nil {
		return plan.Plan(s)
	}
	return withoutLeap(plan.Plan(members(s, func(m *galera.Member) {
		if m.BookDamaged {
			m.Position = galera.Position{}
		}
	})))
}

// leavesTurn ends the turn of a node that came by its configuration without an order, and sends it nothing.
func leavesTurn(s galera.Snapshot) plan.Decision {
	op := s.Operation
	if op == nil || op.Target == "" {
		return plan.Plan(s)
	}
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.Name == op.Target && !m.RestartNeeded && !m.Pod.Outdated && (m.Order == nil || m.Order.Epoch < op.Epoch) {
			m.Order = &galera.Order{Epoch: op.Epoch, State: "Done", Kind: string(plan.OrderStart)}
		}
	}))
}

// restartsTwice restarts a node more than once in one turn of a switch.
func restartsTwice(s galera.Snapshot) plan.Decision {
	op := s.Operation
	if op == nil || op.Type != galera.OpSwitchTLS {
		return plan.Plan(s)
	}
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.Name == op.Target && m.RestartNeeded && m.Order != nil && m.Order.Kind == string(plan.OrderRestart) {
			o := *m.Order
			o.State = "Accepted"
			m.Order = &o
		}
	}))
}
