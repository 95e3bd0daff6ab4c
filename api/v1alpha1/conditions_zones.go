package v1alpha1

// ConditionTimeZonesCurrent is False while the tables of named time zones could not be filled with the zones of the
// image. It is there only then.
const ConditionTimeZonesCurrent = "TimeZonesCurrent"

// ReasonZonesNotFilled is the reason of TimeZonesCurrent.
const ReasonZonesNotFilled = "ZonesNotFilled"
