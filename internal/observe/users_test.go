package observe

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestAdmittedUsers: a namespace that the cluster does not admit has no say in which CAs it trusts.
func TestAdmittedUsers(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace, reason string
		want              bool
	}{
		"of the cluster's namespace": {"data", "", true},
		"not looked at yet":          {"team", "", false},
		"not admitted":               {"team", v1alpha1.ReasonNamespaceRefused, false},
		"admitted":                   {"team", v1alpha1.ReasonCertificateWaits, true},
	} {
		u, c := &v1alpha1.GaleraUser{}, &v1alpha1.GaleraCluster{}
		u.Namespace, c.Namespace = tc.namespace, "data"
		if tc.reason != "" {
			meta.SetStatusCondition(&u.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: tc.reason})
		}
		if got := admitted(u, c); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
