package resources

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// CAKey is the key of the trusted certificates, in the ConfigMap for clients and in Secrets.
const CAKey = "ca.crt"

// ConfigMap returns the document the agents run with.
func ConfigMap(c *v1alpha1.GaleraCluster, config agentapi.NodeConfig) *corev1.ConfigMap {
	cm := newConfigMap(c, ConfigMapName(c))
	cm.Data = map[string]string{agentapi.ConfigKey: string(mustJSON(config))}
	return cm
}

// defaultTrustDelay is how long clients have to read a new CA: kubelet refreshes what pods mount within a minute and a
// half.
const defaultTrustDelay = 2 * time.Minute

// ClientTrustDelay is how long clients have to read a new CA before a node presents a certificate of it.
func ClientTrustDelay(c *v1alpha1.GaleraCluster) time.Duration {
	if d := c.Spec.TLS.ClientTrustDelay; d != nil {
		return max(0, d.Duration)
	}
	return defaultTrustDelay
}

// CAConfigMap returns what a client needs to trust, for all to read.
func CAConfigMap(c *v1alpha1.GaleraCluster, caPEM []byte) *corev1.ConfigMap {
	cm := newConfigMap(c, CAConfigMapName(c))
	cm.Data = map[string]string{CAKey: string(caPEM)}
	return cm
}

func newConfigMap(c *v1alpha1.GaleraCluster, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: ownedMeta(c, name),
	}
}
