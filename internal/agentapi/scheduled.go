package agentapi

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"
)

// PathScheduled takes POST of EventChanges. The answer does not wait for the statements: the next report has the
// result.
const PathScheduled = "/v1/scheduled"

// Scheduled is what one server's event scheduler has. The node that a CREATE or ALTER EVENT came from knows whether the
// event is enabled; the others apply the statement and disable the event (EventElsewhere).
type Scheduled struct {
	// On reports whether the scheduler runs (event_scheduler).
	On bool `json:"on,omitempty"`
	// Waiting is why the scheduler of a member that is asked to run events does not run yet, "" otherwise.
	Waiting string `json:"waiting,omitempty"`
	// Events are in the order of their names, at most MaxEvents of them; More counts the others, which take turns.
	Events []ScheduledEvent `json:"events,omitempty"`
	More   int              `json:"more,omitempty"`
}

// ScheduledEvent is an event as one server has it.
type ScheduledEvent struct {
	// Name is DATABASE.EVENT.
	Name string `json:"name"`
	// Database and Event are the two parts of the name: either may contain a dot.
	Database string `json:"database,omitempty"`
	Event    string `json:"event,omitempty"`
	// Status is mysql.event.status, one of the Event… constants.
	Status string `json:"status"`
	// Modified is when the last statement changed the event, in seconds since 1970: the same on all nodes. It is 0 while
	// that second is not over, because another statement may follow in it.
	Modified int64 `json:"modified,omitempty"`
	// Missed reports whether the event is for one point in time, which has passed while the event was disabled.
	Missed bool `json:"missed,omitempty"`
}

// Values of ScheduledEvent.Status. Elsewhere does not distinguish whether the event is enabled or disabled: MariaDB
// overwrites either.
const (
	EventEnabled   = "ENABLED"
	EventDisabled  = "DISABLED"
	EventElsewhere = "SLAVESIDE_DISABLED"
)

// Values of Report.Scheduler, Report.Channel and those of a PeerView, for a task that one member carries out at most.
// Off reports whether it is off and stays so until the agent has asked all others; anything else is no evidence for
// that.
const (
	TaskOff = "Off"
	TaskOn  = "On"
)

// MaxEvents is how many events a report names.
const MaxEvents = 256

// maxEventName is the longest name of a database or an event, in characters.
const maxEventName = 64

// EventChanges are the statuses that a member is to give its own copies of events.
type EventChanges struct {
	Changes []EventChange `json:"changes"`
}

// EventChange gives an event the status that the node of its last statement has, on one member only.
type EventChange struct {
	Database string `json:"database"`
	Event    string `json:"event"`
	// Modified is ScheduledEvent.Modified: a member whose event was changed since then does nothing.
	Modified int64 `json:"modified"`
	// Status is EventEnabled or EventDisabled.
	Status string `json:"status"`
}

// Check refuses what no operator asks for.
func (c EventChanges) Check() error {
	if len(c.Changes) == 0 || len(c.Changes) > MaxEvents {
		return fmt.Errorf("one to %d events can be changed at once", MaxEvents)
	}
	for _, e := range c.Changes {
		if e.Database == "" || e.Event == "" || utf8.RuneCountInString(e.Database) > maxEventName ||
			utf8.RuneCountInString(e.Event) > maxEventName || e.Modified <= 0 ||
			e.Status != EventEnabled && e.Status != EventDisabled {
			return errors.New("a change names a database, an event, the second of its last statement, and ENABLED or DISABLED")
		}
	}
	return nil
}

// EventChangesResult is the answer.
type EventChangesResult struct {
	// Message explains why the member refused, "" when it did not.
	Message string `json:"message,omitempty"`
}

// ChangeEvents asks an agent to change its server's copies of events.
func (c *Client) ChangeEvents(ctx context.Context, host string, changes []EventChange) error {
	var result EventChangesResult
	return c.ask(ctx, host, PathScheduled, EventChanges{changes}, &result, &result.Message)
}
