package agentapi

// Scheduled is what one server's event scheduler has. MariaDB runs an event on the node that its last CREATE or ALTER
// EVENT came from: the others apply the statement and disable the event.
type Scheduled struct {
	// On reports whether the scheduler runs (event_scheduler).
	On bool `json:"on,omitempty"`
	// Events are in the order of their names, at most MaxEvents of them; More counts the others.
	Events []ScheduledEvent `json:"events,omitempty"`
	More   int              `json:"more,omitempty"`
}

// ScheduledEvent is an event as one server has it.
type ScheduledEvent struct {
	// Name is DATABASE.EVENT.
	Name string `json:"name"`
	// Status is mysql.event.status, one of the Event… constants.
	Status string `json:"status"`
}

// Values of ScheduledEvent.Status. Elsewhere does not distinguish whether the event is enabled or disabled: MariaDB
// overwrites either.
const (
	EventEnabled   = "ENABLED"
	EventDisabled  = "DISABLED"
	EventElsewhere = "SLAVESIDE_DISABLED"
)

// MaxEvents is how many events a report names.
const MaxEvents = 64
