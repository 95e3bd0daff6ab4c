package config

import (
	"errors"
	"fmt"
	"maps"

	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// failuresToFallBack is how often a server must have failed to start with new settings that are not certain to be the
// cause.
const failuresToFallBack = 2

// fallback is what the member runs with when no server starts with the published settings.
type fallback struct {
	// Served are the settings of the last server that served, nil before one did.
	Served map[string]string `json:"served"`
	// Refused are settings that no server started with, Why is what it said. They are tried again when the agent starts,
	// and others at once.
	Refused map[string]string `json:"refused"`
	Why     string            `json:"why,omitempty"`
	// Failed are the settings of the last starts that failed, Failures is their number.
	Failed   map[string]string `json:"failed"`
	Failures int               `json:"failures,omitempty"`
}

// Served notes that the running server serves with its settings. It returns them if they are others than those of the
// last server that served.
func (r *Manager) Served() (settings map[string]string, changed bool) {
	changed = r.back.Served == nil || !maps.Equal(r.back.Served, r.run.Settings)
	r.back.Served = copied(r.run.Settings)
	r.back.Failed, r.back.Failures = nil, 0
	return r.back.Served, changed
}

// Remember sets the settings of the last server that served, as they are on the volume; nil when nothing is known of
// it.
func (r *Manager) Remember(served map[string]string) {
	if served != nil {
		r.back.Served = served
	}
}

// FailedStart notes that a server ended before it served. certain reports whether it blames a setting. The member falls
// back to the settings it served with last, so that a change of the spec does not cost a node.
func (r *Manager) FailedStart(run Run, certain bool, why string) {
	b := &r.back
	if b.Served == nil || maps.Equal(run.Settings, b.Served) {
		return
	}
	if b.Failures == 0 || !maps.Equal(b.Failed, run.Settings) {
		b.Failed, b.Failures = copied(run.Settings), 0
	}
	b.Failures++
	if !certain && b.Failures < failuresToFallBack {
		return
	}
	b.Refused, b.Why = copied(run.Settings), why
	r.loop.Logger.Error("mariadbd does not start with the new settings: going back to those before", "message", why)
	r.Read()
}

// Blame returns what notes that an examination of the data did not succeed with the settings that are in use now.
func (r *Manager) Blame() func(certain bool, why string) {
	if r.Node == nil {
		return func(bool, string) {}
	}
	used := r.ForStart()
	return func(certain bool, why string) { r.FailedStart(used, certain, why) }
}

// refuseFirst falls back when mariadbd does not accept the first settings that the agent reads. One that has others
// already keeps them.
func (r *Manager) refuseFirst(published map[string]string, err error) {
	b := &r.back
	if r.Node != nil || b.Served == nil || maps.Equal(b.Served, published) || !errors.Is(err, mariadbd.ErrSettings) {
		return
	}
	b.Refused, b.Why = copied(published), err.Error()
	r.Read()
}

// fallBack returns the settings to use instead of the published ones, and why; "" when the published ones are to be
// used.
func (r *Manager) fallBack(published map[string]string) (settings map[string]string, why string) {
	b := &r.back
	if b.Refused == nil || b.Served == nil || !maps.Equal(b.Refused, published) {
		b.Refused, b.Why = nil, ""
		return published, ""
	}
	return b.Served, fmt.Sprintf("mariadbd does not start with the new settings, and continues with the previous ones: %s",
		b.Why)
}

// copied is a copy that is not nil.
func copied(settings map[string]string) map[string]string {
	out := make(map[string]string, len(settings))
	maps.Copy(out, settings)
	return out
}
