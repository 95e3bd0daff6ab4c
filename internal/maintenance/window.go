// Package maintenance reports whether it is time for work that can wait. It is pure.
package maintenance

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// AgentUpgrade explains why the agents of a cluster are not replaced now, "" when they may be.
func AgentUpgrade(m *v1alpha1.MaintenanceSpec, now time.Time) (wait string) {
	switch {
	case m == nil, m.AgentUpgrade == "", m.AgentUpgrade == v1alpha1.AgentUpgradeAutomatic:
		return ""
	case m.AgentUpgrade == v1alpha1.AgentUpgradeManual:
		return "spec.maintenance.agentUpgrade is Manual: the agent is replaced with its pod"
	}
	return outside(m.Windows, now)
}

// Restart explains why no node is restarted now for the operator's own sake, "" when one may be: windows hold for that,
// if there are any.
func Restart(m *v1alpha1.MaintenanceSpec, now time.Time) (wait string) {
	switch {
	case m == nil:
		return ""
	case m.AgentUpgrade == v1alpha1.AgentUpgradeManual:
		return "spec.maintenance.agentUpgrade is Manual: delete the pods, one at a time, or change it"
	case len(m.Windows) == 0:
		return ""
	}
	return outside(m.Windows, now)
}

// outside reports when the next window begins, or which one cannot be read; "" inside of one.
func outside(windows []v1alpha1.MaintenanceWindow, now time.Time) string {
	var next time.Time
	wrong := ""
	for _, w := range windows {
		begins, err := parse(w)
		if err != nil {
			wrong = fmt.Sprintf("spec.maintenance.windows: %s: %v", w.Name, err)
			continue
		}
		if last := begins.Next(now.Add(-w.Duration.Duration)); !last.IsZero() && !last.After(now) {
			return ""
		}
		if n := begins.Next(now); !n.IsZero() && (next.IsZero() || n.Before(next)) {
			next = n
		}
	}
	switch {
	case wrong != "":
		return wrong
	case next.IsZero():
		return "no window of spec.maintenance.windows ever begins"
	}
	return "waits for the window that begins at " + next.UTC().Format(time.RFC3339)
}

// zoned is a schedule in a time zone.
type zoned struct {
	cron.Schedule
	zone *time.Location
}

// Next is the next beginning after a time.
func (z zoned) Next(t time.Time) time.Time { return z.Schedule.Next(t.In(z.zone)) }

func parse(w v1alpha1.MaintenanceWindow) (zoned, error) {
	zone, err := time.LoadLocation(w.TimeZone) // "" is UTC
	if err != nil {
		return zoned{}, err
	}
	s, err := cron.ParseStandard(w.Schedule)
	return zoned{s, zone}, err
}
