package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Values of MaintenanceSpec.AgentUpgrade.
const (
	AgentUpgradeAutomatic = "Automatic"
	AgentUpgradeWindow    = "Window"
	AgentUpgradeManual    = "Manual"
)

// MaintenanceSpec defines when work may begin that only an upgrade of the operator needs. Your own changes, recovery
// and the renewal of certificates never wait for it.
// +kubebuilder:validation:XValidation:rule="self.agentUpgrade != 'Window' || (has(self.windows) && size(self.windows) > 0)",message="agentUpgrade Window needs at least one of windows"
type MaintenanceSpec struct {
	// agentUpgrade defines when the agents are replaced after an upgrade of the operator. Automatic: as soon as the
	// cluster is healthy. Window: within windows. Manual: only together with their pods. Agents are replaced in place,
	// which restarts no database. Default: Automatic.
	// +optional
	// +kubebuilder:default=Automatic
	// +kubebuilder:validation:Enum=Automatic;Window;Manual
	AgentUpgrade string `json:"agentUpgrade,omitempty"`

	// windows in which maintenance may begin. They also hold for rolling restarts that only an upgrade of the operator
	// needs; with agentUpgrade Manual such restarts wait until you delete the pods. Default: maintenance may begin at any
	// time.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Windows []MaintenanceWindow `json:"windows,omitempty"`
}

// MaintenanceWindow is a recurring span of time.
type MaintenanceWindow struct {
	// name of the window.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// schedule defines when the window opens, in the five fields of cron (minute, hour, day of the month, month, day of
	// the week), for instance "0 3 * * 6", or as a word like @daily.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|([0-9A-Za-z*,/?-]+ +){4}[0-9A-Za-z*,/?-]+)$`
	Schedule string `json:"schedule"`

	// duration of the window, from 5m to 168h.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5m') && duration(self) <= duration('168h')",message="duration must be between 5m and 168h"
	Duration metav1.Duration `json:"duration"`

	// timeZone of the schedule, from the IANA database, for instance Europe/Vienna. Default: UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}
