package model

import (
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// members returns a copy of the snapshot whose members may be changed.
func members(s galera.Snapshot, change func(m *galera.Member)) galera.Snapshot {
	s.Members = append([]galera.Member(nil), s.Members...)
	for i := range s.Members {
		change(&s.Members[i])
	}
	return s
}

// keep returns a copy of the snapshot with the members for which f is true.
func keep(s galera.Snapshot, f func(m galera.Member) bool) galera.Snapshot {
	all := s.Members
	s.Members = nil
	for _, m := range all {
		if f(m) {
			s.Members = append(s.Members, m)
		}
	}
	return s
}

// honest puts the member's real position into an order that was decided by a false one.
func honest(s galera.Snapshot, d plan.Decision) plan.Decision {
	if o, ok := d.Action.(plan.SendOrder); ok && o.Position.UUID != "" {
		m, _ := s.Member(o.Member)
		o.Position = m.Position
		d.Action = o
	}
	return d
}

func noPrimary(s galera.Snapshot) bool {
	for _, m := range s.Members {
		if m.InPrimary() {
			return false
		}
	}
	return true
}

// allKnown reports whether all members are there, with data: no approval has to be asked for.
func allKnown(s galera.Snapshot) bool {
	for _, m := range s.Members {
		if !m.Known || m.Data != galera.DataPresent || !m.Position.Known() {
			return false
		}
	}
	return true
}

func topEpoch(s galera.Snapshot) int64 {
	e := s.Epoch
	for _, m := range s.Members {
		e = max(e, m.Line)
		if m.Order != nil {
			e = max(e, m.Order.Epoch)
		}
	}
	return e
}

func forming(s galera.Snapshot) bool { return s.Operation != nil && s.Operation.BootstrapMember != "" }
