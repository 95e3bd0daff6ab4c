package job

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// AccountName returns the name of the ServiceAccount that the Jobs and archivers of a store run under.
func AccountName(s *v1alpha1.GaleraBackupStore) string {
	if s.Spec.ServiceAccountName != "" {
		return s.Spec.ServiceAccountName
	}
	return s.Name + "-store" + resources.AccountSuffix
}

// Account returns the ServiceAccount of a store that names none: it has no rights and no token, and no identity in a
// cloud.
func Account(s *v1alpha1.GaleraBackupStore) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: owned(s, "GaleraBackupStore", AccountName(s), "", componentStore, v1alpha1.LabelStore,
			s.Name),
		AutomountServiceAccountToken: new(false),
	}
}

// AccountAllowed reports whether a store may name a ServiceAccount: its name has to state that it is for this purpose,
// or an administrator allows it.
func AccountAllowed(name string, o Options) bool {
	return strings.HasSuffix(name, resources.AccountSuffix) || slices.Contains(o.ServiceAccounts, name)
}
