package galerauser

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestOnlyTheExporterIsGivenASecretOfTheCluster: root's password, for instance, becomes no user's.
func TestOnlyTheExporterIsGivenASecretOfTheCluster(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop", UID: "1"}}
	other := c.DeepCopy()
	other.UID = "2"
	app := resources.ExporterUser(c)
	app.Name = "app"
	self := resources.ExporterUser(c)
	self.OwnerReferences = nil
	for name, tc := range map[string]struct {
		user  *v1alpha1.GaleraUser
		given bool
	}{
		"the exporter's":                {resources.ExporterUser(c), true},
		"an application's":              {app, false},
		"one that only is called so":    {self, false},
		"the exporter's of another one": {resources.ExporterUser(other), false},
	} {
		if exporters(c, tc.user, resources.ExporterSecret(c, "x")) != tc.given {
			t.Errorf("%s: %t", name, !tc.given)
		}
		if exporters(c, tc.user, resources.RootSecret(c, "x")) {
			t.Errorf("%s is given root's password", name)
		}
	}
}
