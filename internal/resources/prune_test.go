package resources

import (
	"testing"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestNothingWantedIsLeftBehind: nothing that is rendered is deleted, nor, whatever the spec, what holds trust or data.
func TestNothingWantedIsLeftBehind(t *testing.T) {
	for name, c := range map[string]*v1alpha1.GaleraCluster{"default": shop(), "everything": everything(),
		"plaintext": plaintext(), "arbitrator": withArbitrator()} {
		c.UID = "u"
		for _, o := range render(c, testOptions) {
			config := agentapi.NodeConfig{}
			if c.Spec.Arbitrator.Enabled {
				config.Arbitrator = &agentapi.Peer{}
			}
			if LeftBehind(c, config, testOptions, true, o) {
				t.Errorf("%s: %T %s is rendered and deleted", name, o, o.GetName())
			}
		}
	}
	c := shop()
	c.UID = "u"
	c.Spec.TLS.IssuerRef = &v1alpha1.IssuerReference{Name: "corporate"}
	for _, o := range []client.Object{
		&cmv1.Certificate{ObjectMeta: ownedMeta(c, CAPairName(c))},
		&cmv1.Certificate{ObjectMeta: ownedMeta(c, ClientCAPairName(c))},
		&corev1.Secret{ObjectMeta: ownedMeta(c, CAPairName(c))},
		&corev1.Secret{ObjectMeta: ownedMeta(c, ClientCAPairName(c))},
		&corev1.Secret{ObjectMeta: ownedMeta(c, RootSecretName(c))},
		&corev1.Secret{ObjectMeta: ownedMeta(c, TLSSecretName(c))},
		&corev1.PersistentVolumeClaim{ObjectMeta: ownedMeta(c, ClaimName(c, 6))},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Labels: Labels(c)}},
	} {
		if LeftBehind(c, agentapi.NodeConfig{}, testOptions, false, o) {
			t.Errorf("%T %s would be deleted", o, o.GetName())
		}
	}
}
