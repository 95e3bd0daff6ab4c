package api

import (
	"testing"

	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestEventStatuses: the operator lets all nodes have the status of an event that the node of the last statement has.
func TestEventStatuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "events", spec())
	w.bringUp()
	has := map[string]string{"shop-0": agentapi.EventElsewhere, "shop-1": agentapi.EventEnabled,
		"shop-2": agentapi.EventElsewhere}
	for pod, status := range has {
		w.agents.change(pod, func(r *agentapi.Report) {
			r.Scheduled = &agentapi.Scheduled{Events: []agentapi.ScheduledEvent{
				{Name: "app.e", Database: "app", Event: "e", Status: status, Modified: 1}}}
		})
	}
	for pod := range has {
		w.Eventually(func() (string, error) {
			r, err := w.agents.Status(t.Context(), observe.Target{Pod: pod}, -1, 0)
			return r.Scheduled.Events[0].Status, err
		}).Should(Equal(agentapi.EventEnabled), pod)
	}
	w.Eventually(w.condition(v1alpha1.ConditionEventsScheduled)).Should(Equal("False EventSchedulerOff"))
}
