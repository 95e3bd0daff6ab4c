package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// GaleraBackupSchedule makes GaleraBackups at certain times.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gsched,categories=all
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.template.clusterRef.name`
// +kubebuilder:printcolumn:name="Suspend",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="LastSuccess",type=date,JSONPath=`.status.lastSuccessTime`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 36 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name becomes part of the backups' names: at most 36 lower-case letters, digits and '-', starting with a letter"
type GaleraBackupSchedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines when to make backups, and of what.
	// +required
	Spec GaleraBackupScheduleSpec `json:"spec"`
	// status reports when the last backup was made, and when the next one is due.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status GaleraBackupScheduleStatus `json:"status,omitempty"`
}

// GaleraBackupScheduleList is a list of GaleraBackupSchedule.
//
// +kubebuilder:object:root=true
type GaleraBackupScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GaleraBackupSchedule `json:"items"`
}

// Values of GaleraBackupScheduleSpec.ConcurrencyPolicy.
const (
	ConcurrencyForbid = "Forbid"
	ConcurrencyAllow  = "Allow"
)

// GaleraBackupScheduleSpec defines when backups are made.
type GaleraBackupScheduleSpec struct {
	// schedule in the five fields of cron (minute, hour, day of the month, month, day of the week), for instance "30 2 * *
	// *", or a word like @daily.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|([0-9A-Za-z*,/?-]+ +){4}[0-9A-Za-z*,/?-]+)$`
	Schedule string `json:"schedule"`
	// timeZone of the schedule, from the IANA database, for instance Europe/Vienna. Default: UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// concurrencyPolicy defines what happens when a backup is due while the previous one still runs. Forbid: it is
	// skipped. Allow: it is made after the previous one. Default: Forbid.
	// +optional
	// +kubebuilder:default=Forbid
	// +kubebuilder:validation:Enum=Forbid;Allow
	ConcurrencyPolicy string `json:"concurrencyPolicy,omitempty"`
	// suspend stops the schedule: no further backups are made. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// immediate makes a first backup as soon as the schedule is created, in addition to those that are due: until then a
	// new cluster has none. It is made once; a schedule that is suspended makes it when it no longer is. Default: false.
	// +optional
	Immediate bool `json:"immediate,omitempty"`
	// template is the spec of each backup. Set deletionPolicy: Delete in it, or the store's retention removes none of
	// them.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.__import__)",message="a schedule makes backups: remove import"
	// +kubebuilder:validation:XValidation:rule="!has(self.clusterRef.__namespace__)",message="a schedule makes backups of clusters in its own namespace: remove clusterRef.namespace"
	Template GaleraBackupSpec `json:"template"`
}

// GaleraBackupScheduleStatus is what the schedule has done.
type GaleraBackupScheduleStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 before the operator has seen it.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`
	// lastScheduleTime is when the last backup was due. Backups that were due while the operator did not run are made up
	// for by one.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
	// lastBackup is the name of the GaleraBackup created then.
	// +optional
	LastBackup string `json:"lastBackup,omitempty"`
	// lastSuccessTime is when a backup of this schedule last completed.
	// +optional
	LastSuccessTime *metav1.Time `json:"lastSuccessTime,omitempty"`
	// nextTime is when the next backup is due.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
	// retention defines what the store's retention removes next. Absent if the store has none.
	// +optional
	Retention *ScheduleRetention `json:"retention,omitempty"`
	// conditions are Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ScheduleRetention defines what retention removes next.
type ScheduleRetention struct {
	// message explains why retention is paused, or which backups it does not remove. Absent if there is nothing to say.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// expiring are the backups that no rule keeps, at most 100, the oldest first. Each is listed here for the time between
	// two backups of the schedule, at most a day, before it is removed. To keep one, set its deletionPolicy to Retain.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Expiring []ExpiringBackup `json:"expiring,omitempty"`
}

// ExpiringBackup is a GaleraBackup that retention removes.
type ExpiringBackup struct {
	// name of the GaleraBackup.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid of the GaleraBackup: another one of that name is not removed.
	UID types.UID `json:"uid"`
	// removeAt is when it is removed, with its data in the store, if still no rule keeps it.
	RemoveAt metav1.Time `json:"removeAt"`
}
