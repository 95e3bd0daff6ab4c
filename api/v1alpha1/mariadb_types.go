package v1alpha1

// MariaDBSpec configures the database server.
type MariaDBSpec struct {
	// config holds settings of my.cnf's [mysqld] section, for instance innodb_buffer_pool_size: 2G.
	// A change restarts one node at a time, the primary last. Settings the operator owns (addresses, TLS,
	// directories, most of wsrep_*; docs/settings.md lists them) are refused: the condition Stalled gets the reason
	// ForbiddenSetting, and the nodes keep the last accepted configuration.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	Config map[string]Setting `json:"config,omitempty"`

	// events is where scheduled events (CREATE EVENT) run: FollowPrimary or Disabled. FollowPrimary runs each enabled
	// event on the primary, and on no other node; a run that falls into a change of the primary is left out. Disabled
	// runs none.
	// Both keep the status of every event the same on all nodes, and can be changed at any time without a restart.
	// The setting event_scheduler is the operator's. Default: Disabled, as MariaDB's own default is: in a cluster that was
	// restored, cloned or imported, no event of the original begins to run unless it is asked for.
	// +optional
	Events EventsPolicy `json:"events,omitempty"`
}

// EventsPolicy is where scheduled events run.
//
// +kubebuilder:validation:Enum=FollowPrimary;Disabled
type EventsPolicy string

// Values of EventsPolicy.
const (
	EventsFollowPrimary EventsPolicy = "FollowPrimary"
	EventsDisabled      EventsPolicy = "Disabled"
)
