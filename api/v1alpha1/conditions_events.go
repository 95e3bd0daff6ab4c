package v1alpha1

// ConditionEventsScheduled is True when every enabled event (CREATE EVENT) runs on the primary, and on no other node.
// It is there while a node has an event.
const ConditionEventsScheduled = "EventsScheduled"

// Reasons of EventsScheduled.
const (
	ReasonEventsOnPrimary   = "EventsOnPrimary"
	ReasonEventsElsewhere   = "EventsElsewhere"
	ReasonEventsRepeated    = "EventsRepeated"
	ReasonEventsNowhere     = "EventsNowhere"
	ReasonEventsMissed      = "EventsMissed"
	ReasonEventsUnknown     = "EventsUnknown"
	ReasonEventSchedulerOff = "EventSchedulerOff"
)
