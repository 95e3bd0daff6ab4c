package model

import (
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// Deliberate bugs of requests by annotation.
var requestMutants = []mutant{
	{"a node that does not serve is promoted", promotesUnfit, requests, []string{PrimaryUnfit}},
	{"a restart that was asked for does not wait", restartsAskedAtOnce, requests,
		[]string{TakenWhileWeak, TwoTaken, WriterTaken}},
	{"a restart that was cut off counts as in progress", awaitsCutRestarts, requests, []string{Stuck}},
	{"requests are recorded and forgotten", forgetsRequests, requests, []string{Stuck}},
}

func init() { mutants = append(mutants, requestMutants...) }

func promotesUnfit(s galera.Snapshot) plan.Decision {
	if m, ok := s.Member(s.Promote); ok && m.Pod.Exists && m.Pod.Role != roles[rolePrimary] && !noPrimary(s) &&
		!seesTwoPrimaries(s) {
		return plan.Decision{Action: plan.AssignRoles{Primary: m.Name}}
	}
	return plan.Plan(s)
}

func restartsAskedAtOnce(s galera.Snapshot) plan.Decision {
	for _, m := range s.Members {
		if m.RestartAsked && m.InPrimary() && s.Operation != nil && !seesTwoPrimaries(s) {
			return plan.Decision{Action: plan.SendOrder{Member: m.Name, ID: s.Operation.ID + "/" + m.Name + "/now",
				Epoch: s.Operation.Epoch, Kind: plan.OrderRestart}}
		}
	}
	return plan.Plan(s)
}

func forgetsRequests(s galera.Snapshot) plan.Decision {
	s.Promote = ""
	return plan.Plan(members(s, func(m *galera.Member) { m.RestartAsked = false }))
}

// awaitsCutRestarts takes an order that its agent has given up for one that is being carried out.
func awaitsCutRestarts(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.Order != nil && m.Order.Kind == string(plan.OrderRestart) && m.Order.State == "Failed" {
			cut := *m.Order
			cut.State, m.Order = "Accepted", &cut
		}
	}))
}
