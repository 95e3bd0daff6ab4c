package validate

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// TestCertificateNamesEveryNode: agents ask each other by the names of their nodes, so that a pair without one is not
// published.
func TestCertificateNamesEveryNode(t *testing.T) {
	ca := pkitest.NewCA("nodes")
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"},
		Spec: v1alpha1.GaleraClusterSpec{Replicas: 2}}
	for name, tc := range map[string]struct {
		names []string
		ok    bool
	}{
		"all":            {[]string{"shop", "shop-0.shop-nodes.demo.svc", "shop-1.shop-nodes.demo.svc"}, true},
		"a wildcard":     {[]string{"shop", "*.shop-nodes.demo.svc"}, true},
		"the first only": {[]string{"shop", "shop-0.shop-nodes.demo.svc"}, false},
	} {
		crt, key := ca.Issue(pkitest.Leaf{Names: tc.names})
		p := Certificate(observe.Facts{Cluster: c,
			Issued: &corev1.Secret{Data: map[string][]byte{"tls.crt": crt, "tls.key": key,
				"ca.crt": ca.PEM}}}, time.Now())
		if (p == nil) != tc.ok || p != nil && !strings.Contains(p.Message, "shop-1") {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
