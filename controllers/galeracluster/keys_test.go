package galeracluster

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// TestNoNodeIsRestartedWithoutKeys: what would stop a server, or replace its pod, waits while the keys cannot be used.
func TestNoNodeIsRestartedWithoutKeys(t *testing.T) {
	refused := &validate.Problem{Reason: "KeysRefused", Message: "other bytes", Blocked: true}
	for name, c := range map[string]struct {
		action plan.Action
		keys   *validate.Problem
		held   bool
	}{
		"a pod":                      {plan.DeletePod{Member: "shop-0"}, refused, true},
		"a restart":                  {plan.SendOrder{Kind: plan.OrderRestart}, refused, true},
		"a stop":                     {plan.SendOrder{Kind: plan.OrderStop}, refused, true},
		"a bootstrap":                {plan.SendOrder{Kind: plan.OrderBootstrap}, refused, false},
		"the primary":                {plan.AssignRoles{Primary: "shop-1"}, refused, false},
		"nothing":                    {nil, refused, false},
		"a pod, with keys":           {plan.DeletePod{Member: "shop-0"}, nil, false},
		"a pod, while they are made": {plan.DeletePod{Member: "shop-0"}, &validate.Problem{Reason: "KeysPending"}, false},
	} {
		d := withKeys(plan.Decision{Action: c.action}, c.keys)
		if held := c.action != nil && d.Action == nil; held != c.held || held && !d.Blocked {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
