// Package v1alpha1 holds the API of galera-operator: encrypted MariaDB Galera clusters.
// +kubebuilder:object:generate=true
// +groupName=galera-operator.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of every type in this package.
var GroupVersion = schema.GroupVersion{Group: "galera-operator.io", Version: "v1alpha1"}

// AddToScheme registers the types of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &GaleraCluster{}, &GaleraClusterList{}, &GaleraBenchmark{}, &GaleraBenchmarkList{},
		&GaleraBackupStore{}, &GaleraBackupStoreList{}, &GaleraBackup{}, &GaleraBackupList{}, &GaleraBackupSchedule{},
		&GaleraBackupScheduleList{},
		&GaleraDatabase{}, &GaleraDatabaseList{}, &GaleraUser{}, &GaleraUserList{}, &GaleraProxy{},
		&GaleraProxyList{}, &GaleraRestore{}, &GaleraRestoreList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
