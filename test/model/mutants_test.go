package model

import (
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// mutant is a planner with one deliberate bug, made by lying to the real one about the facts or
// by changing its decision. TestMutants fails for every mutant that the model does not catch.
type mutant struct {
	name string
	plan Planner
	// in is what goes wrong in the schedules the mutant is looked for in.
	in scheduleWeights
	// breaks are the promises one of which it must be caught breaking.
	breaks []string
}

var mutants = []mutant{
	{"positions are compared without their UUID", ignoresUUID, disks, []string{NotBootstrap}},
	{"a foreign volume with a high seqno is adopted", adoptsForeign, disks, []string{NotBootstrap}},
	{"the lowest seqno is chosen", choosesLowest, anything, []string{BehindAnother}},
	{"a member that does not answer is left out", skipsUnknown, anything, []string{BehindAnother}},
	{"quorum is rebuilt without a complete view", rebuildsBlind, network, []string{TwoPrimaries, BehindAnother}},
	{"quorum is rebuilt on every part", rebuildsEverywhere, network, []string{TwoPrimaries}},
	{"separated nodes are not stopped before quorum is rebuilt", leavesApart, network, []string{TwoPrimaries}},
	{"bootstrap is ordered without a journal", bootstrapsUnjournalled, oldReports, []string{TwoPrimaries, BehindAnother}},
	{"another member is chosen when the reply is lost", choosesAgainWhenSilent, anything,
		[]string{TwoPrimaries, BehindAnother}},
	{"the facts are not checked again before the order", believesJournal, oldReports,
		[]string{TwoPrimaries, BehindAnother}},
	{"no member learns of the epoch", omitsEpoch, oldReports, []string{TwoPrimaries, BehindAnother}},
	{"what members remember of epochs is ignored", forgetsEpochs, disks, []string{TwoBootstraps, Stuck}},
	{"an empty member is initialised when there is no Primary", initialisesEmpty, disks, []string{NewHistory}},
	{"an incomplete member counts as data", countsIncomplete, disks, []string{Stuck, BadAdvice}},
	{"that a member has held data is forgotten", forgetsHeldData, disks, []string{Unapproved}},
	{"an approval counts whatever its position", trustsAnyPosition, disks, []string{BehindAnother, Unapproved}},
	{"an approval counts for any missing member", trustsWithoutAll, disks,
		[]string{TwoPrimaries, BehindAnother, Unapproved}},
	{"an approval counts for ever", trustsForever, disks, []string{BehindAnother, Unapproved}},
	{"an approval that was not needed is left lying", leavesApproval, network,
		[]string{TwoPrimaries, BehindAnother, Unapproved}},
	{"a member that cannot read its order book is chosen", ignoresDamage, disks, []string{Stuck, BehindAnother, LostWrite,
		Unapproved}},
	{"the line of history is ignored", ignoresLine, disks, []string{LostWrite, Unapproved}},
	{"the first start goes on though there is a history", startsTwice, disks, []string{NewHistory}},
	{"a quorum lost again is not noticed", waitsForLostQuorum, network, []string{Stuck}},
	{"two nodes are restarted at once", restartsTwo, changes, []string{TwoTaken, TakenWhileWeak}},
	{"whose turn it is to restart comes from caches", restartsByCache, oldLeader, []string{TwoTaken}},
	{"nodes are restarted while another is not Synced", restartsWhileWeak, changes, []string{TakenWhileWeak}},
	{"the writer is restarted before the role has moved", restartsWriter, changes, []string{WriterTaken}},
	{"the writer is stopped first", stopsWriterFirst, changes, []string{WriterTaken}},
	{"a lifted stop is sent again", repeatsStop, oldLeader, []string{Stuck}},
	{"a stop is lifted under a known ID", repeatsStart, oldLeader, []string{Stuck}},
	{"a missing pod counts as stopped", missingIsStopped, changes, []string{Disorderly}},
	{"an old report of a stop is believed", believesOldStops, oldLeader, []string{Disorderly}},
	{"a restart waits for what only a Start ends", neverLifts, changes, []string{Stuck}},
	{"strict sockets are published to plain nodes", strictAtOnce, switches, []string{Stuck, MixedMembership}},
	{"strict sockets are published before all nodes are dynamic", strictTooEarly, switches,
		[]string{Stuck, MixedMembership}},
	{"a switch that was given up leaves nodes that cannot be joined", leavesUnjoinable, switches, []string{Stuck}},
	{"one epoch does for a whole switch", oneEpoch, switches, []string{Stuck}},
	{"a donor for ever is left alone", leavesDonor, network, []string{Stuck}},
	{"a donor for ever is waited for", waitsForDonor, network, []string{Stuck}},
	{"a donor for ever is restarted while another node gives", restartsDonorAtOnce, network, []string{TakenWhileWeak}},
	{"two Primary components are not noticed", ignoresSplit, network, []string{TouchedSplit}},
}

func ignoresUUID(s galera.Snapshot) plan.Decision {
	if !noPrimary(s) || s.ClusterUUID == "" || !allKnown(s) {
		return plan.Plan(s)
	}
	return honest(s, plan.Plan(members(s, func(m *galera.Member) {
		if m.Position.Known() {
			m.Position.UUID = s.ClusterUUID
		}
	})))
}

func adoptsForeign(s galera.Snapshot) plan.Decision {
	best := galera.Position{Seqno: -1}
	for _, m := range s.Members {
		if m.Position.Known() && m.Position.Seqno > best.Seqno {
			best = m.Position
		}
	}
	if noPrimary(s) && s.ClusterUUID != "" && best.UUID != "" {
		s.ClusterUUID = best.UUID
		s = keep(s, func(m galera.Member) bool { return !m.Position.Known() || m.Position.UUID == best.UUID })
	}
	return plan.Plan(s)
}

func choosesLowest(s galera.Snapshot) plan.Decision {
	if !noPrimary(s) || !allKnown(s) {
		return plan.Plan(s)
	}
	return honest(s, plan.Plan(members(s, func(m *galera.Member) {
		if m.Position.Known() {
			m.Position.Seqno = 1000 - m.Position.Seqno
		}
	})))
}

func skipsUnknown(s galera.Snapshot) plan.Decision {
	if !noPrimary(s) {
		return plan.Plan(s)
	}
	return plan.Plan(keep(s, func(m galera.Member) bool { return m.Known }))
}

func rebuildsBlind(s galera.Snapshot) plan.Decision {
	for _, m := range s.Members {
		if m.Known && m.Server != nil {
			return skipsUnknown(s)
		}
	}
	return plan.Plan(s)
}

func rebuildsEverywhere(s galera.Snapshot) plan.Decision {
	for _, m := range s.Members {
		if m.Server != nil && m.Server.Component == galera.ComponentNonPrimary && m.Position.Known() {
			epoch := topEpoch(s) + 1
			return plan.Decision{Action: plan.SendOrder{Member: m.Name, ID: fmt.Sprintf("both-%d/%s", epoch, m.Name),
				Epoch: epoch,
				Kind:  plan.OrderRebuildQuorum, Position: m.Position}}
		}
	}
	return plan.Plan(s)
}

func leavesApart(s galera.Snapshot) plan.Decision {
	if s.Operation == nil || s.Operation.Type != galera.OpRebuildQuorum {
		return plan.Plan(s)
	}
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.Server != nil {
			server := *m.Server
			server.Members = names[:len(s.Members)]
			m.Server = &server
		}
	}))
}

func bootstrapsUnjournalled(s galera.Snapshot) plan.Decision {
	if s.ClusterUUID != "" && noPrimary(s) {
		s.Operation = nil
	}
	d := plan.Plan(s)
	if b, ok := d.Action.(plan.Begin); ok && b.Operation.Type == galera.OpRecover {
		op := b.Operation
		d.Action = plan.SendOrder{Member: op.BootstrapMember, ID: op.ID + "/" + op.BootstrapMember, Epoch: op.Epoch,
			Kind: plan.OrderBootstrap, Position: op.Position}
	}
	return d
}

func choosesAgainWhenSilent(s galera.Snapshot) plan.Decision {
	if forming(s) {
		if m, ok := s.Member(s.Operation.BootstrapMember); ok && !m.Known {
			s.Operation = nil
			return skipsUnknown(s)
		}
		return skipsUnknown(s)
	}
	return plan.Plan(s)
}

func believesJournal(s galera.Snapshot) plan.Decision {
	if !forming(s) {
		return plan.Plan(s)
	}
	return plan.Plan(keep(s, func(m galera.Member) bool { return m.Name == s.Operation.BootstrapMember || m.InPrimary() }))
}

func omitsEpoch(s galera.Snapshot) plan.Decision {
	if !forming(s) {
		return plan.Plan(s)
	}
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.Name != s.Operation.BootstrapMember && (m.Order == nil || m.Order.Epoch < s.Operation.Epoch) {
			m.Order = &galera.Order{ID: "believed", Epoch: s.Operation.Epoch}
		}
	}))
}

func believesOldReports(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) { m.ConfigLoaded = s.ConfigRevision }))
}

func ignoresDamage(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) { m.BookDamaged = false }))
}

func initialisesEmpty(s galera.Snapshot) plan.Decision {
	for _, m := range s.Members {
		if noPrimary(s) && m.Down() && m.Data == galera.DataEmpty && s.ClusterUUID != "" {
			epoch := topEpoch(s) + 1
			return plan.Decision{Action: plan.SendOrder{Member: m.Name, ID: fmt.Sprintf("init-%d", epoch), Epoch: epoch,
				Kind: plan.OrderInitialise}}
		}
	}
	return plan.Plan(s)
}

func countsIncomplete(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.Data == galera.DataIncomplete && s.ClusterUUID != "" {
			m.Data, m.Position = galera.DataPresent, galera.Position{UUID: s.ClusterUUID, Seqno: 1000}
		}
	}))
}

func forgetsHeldData(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) { m.HeldData = false }))
}

func trustsAnyPosition(s galera.Snapshot) plan.Decision {
	if s.Approval != nil {
		if m, ok := s.Member(s.Approval.Member); ok && m.Position.Known() {
			s.Approval = &galera.Approval{Member: m.Name, Position: m.Position, Epoch: s.Approval.Epoch,
				Without: s.Approval.Without}
		}
	}
	return trustsForever(s)
}

func trustsWithoutAll(s galera.Snapshot) plan.Decision {
	if s.Approval != nil {
		t := *s.Approval
		t.Without = names[:]
		s.Approval = &t
	}
	return plan.Plan(s)
}

func trustsForever(s galera.Snapshot) plan.Decision {
	if s.Approval != nil && noPrimary(s) {
		t := *s.Approval
		t.Epoch = topEpoch(s) + 1
		if s.Operation != nil && s.Operation.BootstrapMember == t.Member {
			t.Epoch = s.Operation.Epoch
		}
		s.Approval = &t
	}
	return plan.Plan(s)
}

func leavesApproval(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if r, ok := d.Action.(plan.RecordUUID); ok && s.Approval != nil && r.Epoch == s.Approval.Epoch {
		s.Approval = nil
		d = plan.Plan(s)
	}
	return d
}

func ignoresLine(s galera.Snapshot) plan.Decision {
	s.Line = ""
	return plan.Plan(members(s, func(m *galera.Member) { m.Line, m.Lines = 0, nil }))
}

func startsTwice(s galera.Snapshot) plan.Decision {
	if s.Operation != nil && s.Operation.Type == galera.OpFirstStart && noPrimary(s) {
		s.ClusterUUID = ""
		s = members(s, func(m *galera.Member) { m.HeldData = false })
	}
	return plan.Plan(s)
}

func waitsForLostQuorum(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if c, ok := d.Action.(plan.Complete); ok && c.Abandoned && d.Reason == plan.ReasonQuorumLost {
		d.Action = nil
	}
	return d
}

func restartsTwo(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if s.Operation == nil || s.Operation.Type != galera.OpRestart || d.Action != nil {
		return d
	}
	for _, m := range s.Members {
		if m.RestartNeeded && m.Synced() && m.Name != s.Operation.Target && m.Pod.Role != roles[rolePrimary] {
			d.Action = plan.SendOrder{Member: m.Name, ID: s.Operation.ID + "/" + m.Name, Epoch: s.Operation.Epoch,
				Kind: plan.OrderRestart}
		}
	}
	return d
}

func restartsByCache(s galera.Snapshot) plan.Decision {
	if s.Operation != nil && s.Operation.Type == galera.OpRestart {
		op := *s.Operation
		for _, m := range s.Members {
			if (m.RestartNeeded || m.Pod.Outdated) && m.Pod.Role != roles[rolePrimary] {
				op.Target = m.Name
			}
		}
		s.Operation = &op
	}
	return plan.Plan(s)
}

func restartsWhileWeak(s galera.Snapshot) plan.Decision {
	if s.Operation != nil && s.Operation.Type == galera.OpRestart {
		s = keep(s, func(m galera.Member) bool { return m.Synced() })
	}
	return plan.Plan(s)
}

func restartsWriter(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if _, ok := d.Action.(plan.AssignRoles); ok && s.Operation != nil && s.Operation.Type == galera.OpRestart {
		d.Action = plan.SendOrder{Member: s.Operation.Target, ID: s.Operation.ID, Epoch: s.Operation.Epoch,
			Kind: plan.OrderRestart}
	}
	return d
}

func stopsWriterFirst(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	o, ok := d.Action.(plan.SendOrder)
	for _, m := range s.Members {
		if ok && o.Kind == plan.OrderStop && s.Hibernate && m.Pod.Role == roles[rolePrimary] && m.Known &&
			m.Phase != galera.PhaseStopped {
			o.Member, o.ID = m.Name, s.Operation.ID+"/"+m.Name+"/stop"
			d.Action = o
		}
	}
	return d
}

func repeatsStop(s galera.Snapshot) plan.Decision {
	if s.Operation != nil { // nothing random is in its name
		op := *s.Operation
		op.ID = fmt.Sprintf("%s-%d", strings.ToLower(string(op.Type)), op.Epoch)
		s.Operation = &op
	}
	return withoutLeap(plan.Plan(members(s, func(m *galera.Member) {
		if s.Operation != nil && s.Operation.Type == galera.OpHibernate && m.Order != nil &&
			m.Order.Epoch == s.Operation.Epoch {
			m.Order = &galera.Order{ID: m.Order.ID, Epoch: m.Order.Epoch, Kind: string(plan.OrderStop), State: m.Order.State}
		}
	})))
}

func repeatsStart(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if o, ok := d.Action.(plan.SendOrder); ok && o.Kind == plan.OrderStart {
		o.ID, _, _ = strings.Cut(o.ID, "/start/")
		d.Action = o
	}
	return d
}

func missingIsStopped(s galera.Snapshot) plan.Decision {
	if s.Operation == nil || s.Operation.Type != galera.OpHibernate || !s.Hibernate {
		return plan.Plan(s)
	}
	return plan.Plan(members(s, func(m *galera.Member) {
		if !m.Pod.Exists {
			m.Pod.Exists, m.Known, m.Phase = true, true, galera.PhaseStopped
			m.Order = &galera.Order{Epoch: s.Operation.Epoch, Kind: string(plan.OrderStop)}
		}
	}))
}

func believesOldStops(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) {
		if s.Operation != nil && s.Operation.Type == galera.OpHibernate && m.Phase == galera.PhaseStopped {
			m.Order = &galera.Order{Epoch: s.Operation.Epoch, Kind: string(plan.OrderStop)}
		}
	}))
}

func neverLifts(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if o, ok := d.Action.(plan.SendOrder); ok && o.Kind == plan.OrderStart && !noPrimary(s) {
		return plan.Decision{Reason: plan.ReasonRestarting}
	}
	return d
}

func ignoresSplit(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.Server != nil && m.InPrimary() {
			server := *m.Server
			server.Members = nil
			m.Server = &server
		}
	}))
}
