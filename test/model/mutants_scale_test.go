package model

import (
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// Deliberate bugs of scaling.
var scaleMutants = []mutant{
	{"a member is removed before it has stopped", removesFirst, sizes, []string{RemovedRunning, RemovedAhead}},
	{"a member is removed when it stopped, whatever the others report", removesUnseen, sizes, []string{RemovedAhead}},
	{"old reports of the others are believed", believesOldViews, sizes, []string{RemovedAhead}},
	{"a removed member does not count in a recovery", forgetsUnwanted, sizes,
		[]string{BehindAnother, LostWrite, Unapproved}},
	{"the last member leaves while another is away", leavesWhileWeak, sizes, []string{TakenWhileWeak}},
	{"the writer leaves before the role has moved", leavesAsWriter, sizes, []string{WriterTaken}},
	{"the stop of a leave is lifted", liftsLeaves, sizes, []string{Stuck, RemovedRunning}},
}

func init() { mutants = append(mutants, scaleMutants...) }

// leaver is the member that is being taken out.
func leaver(s galera.Snapshot) (m galera.Member, ok bool) {
	if s.Operation == nil || s.Operation.Type != galera.OpScaleDown {
		return m, false
	}
	m, ok = s.Member(s.Operation.Target)
	return m, ok && m.Ordinal > 0 && m.Ordinal == len(s.Members)-1
}

func removesFirst(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	m, ok := leaver(s)
	if o, stop := d.Action.(plan.SendOrder); ok && stop && o.Kind == plan.OrderStop {
		d.Action = plan.Complete{Size: m.Ordinal}
	}
	return d
}

// announcesLeaveOnce announces a leave with the order that was known before another one came.
func announcesLeaveOnce(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if o, ok := d.Action.(plan.SendOrder); ok && s.Operation != nil && s.Operation.Type == galera.OpScaleDown &&
		o.Kind == plan.OrderStart {
		if reported := s.Operation.ID + "/" + o.Member + "/start"; strings.HasPrefix(o.ID, reported) {
			o.ID = reported
			d.Action = o
		}
	}
	return d
}

func removesUnseen(s galera.Snapshot) plan.Decision {
	if m, ok := leaver(s); ok && s.Replicas <= m.Ordinal && m.Phase == galera.PhaseStopped {
		return plan.Decision{Action: plan.Complete{Size: m.Ordinal}}
	}
	return plan.Plan(s)
}

// believesOldViews pretends that all were notified.
func believesOldViews(s galera.Snapshot) plan.Decision {
	target, ok := leaver(s)
	if !ok || target.Phase != galera.PhaseStopped {
		return plan.Plan(s)
	}
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.Name != target.Name && m.Known {
			m.Order = &galera.Order{ID: s.Operation.ID + "/" + m.Name + "/start", Epoch: s.Operation.Epoch,
				Kind: string(plan.OrderStart)}
		}
	}))
}

func forgetsUnwanted(s galera.Snapshot) plan.Decision {
	if noPrimary(s) && s.Replicas < len(s.Members) {
		s.Members = s.Members[:s.Replicas]
	}
	return plan.Plan(s)
}

func leavesWhileWeak(s galera.Snapshot) plan.Decision {
	if target, ok := leaver(s); ok && target.InPrimary() && s.Replicas <= target.Ordinal &&
		target.Pod.Role != roles[rolePrimary] {
		return plan.Decision{Action: plan.SendOrder{Member: target.Name, ID: s.Operation.ID + "/" + target.Name + "/stop",
			Epoch: s.Operation.Epoch, Kind: plan.OrderStop}}
	}
	return plan.Plan(s)
}

func leavesAsWriter(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	target, ok := leaver(s)
	if _, moves := d.Action.(plan.AssignRoles); ok && moves && target.Pod.Role == roles[rolePrimary] {
		d.Action = plan.SendOrder{Member: target.Name, ID: s.Operation.ID + "/stop", Epoch: s.Operation.Epoch,
			Kind: plan.OrderStop}
	}
	return d
}

func liftsLeaves(s galera.Snapshot) plan.Decision {
	if m, ok := leaver(s); ok && m.Phase == galera.PhaseStopped && !noPrimary(s) {
		return plan.Decision{Action: plan.SendOrder{Member: m.Name, ID: s.Operation.ID + "/lift", Epoch: s.Operation.Epoch,
			Kind: plan.OrderStart}}
	}
	return plan.Plan(s)
}
