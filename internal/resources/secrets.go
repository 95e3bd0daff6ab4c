package resources

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// RootSecret returns the Secret with root's password. It lives as long as the data does: volumes
// that are kept cannot be used without it.
func RootSecret(c *v1alpha1.GaleraCluster, password string) *corev1.Secret {
	meta := ownedMeta(c, RootSecretName(c))
	if retains(c) {
		meta = keptMeta(c, RootSecretName(c))
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta,
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{agentapi.RootPasswordKey: []byte(password)},
	}
}

// PublishedTLS returns the Secret the pods mount: the nodes' pair, what they trust, and the CA that
// signs the operator's client certificate. clientCA, if any, is trusted on the database port only.
func PublishedTLS(c *v1alpha1.GaleraCluster, crt, key, ca, controlCA, clientCA []byte) *corev1.Secret {
	s := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: ownedMeta(c, TLSSecretName(c)),
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       crt,
			corev1.TLSPrivateKeyKey: key,
			CAKey:                   ca,
			agentapi.ControlCAKey:   controlCA,
		},
	}
	if len(clientCA) > 0 {
		s.Data[agentapi.ClientCAKey] = clientCA
	}
	return s
}
