package resources

import (
	"slices"
	"strings"
	"time"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// clientCertificates returns the certificates of clients, under a CA of their own: the holder of
// a certificate of the nodes' CA could join the group.
func clientCertificates(c *v1alpha1.GaleraCluster) []client.Object {
	if !HasClientCA(c) {
		return nil
	}
	out := []client.Object{
		caCertificate(c, ClientCAPairName(c), " clients CA"),
		caIssuer(c, ClientCAIssuerName(c), ClientCAPairName(c)),
	}
	if c.Spec.TLS.IssuerRef != nil {
		out = append(out, selfSignedIssuer(c))
	}
	for _, spec := range c.Spec.TLS.ClientCertificates {
		out = append(out, clientCertificate(c, spec))
	}
	return out
}

// IsClientIssued says whether a name is one of ClientIssuedName's.
func IsClientIssued(c *v1alpha1.GaleraCluster, name string) bool {
	return strings.HasPrefix(name, c.Name+"-client-") && strings.HasSuffix(name, "-issued")
}

func clientCertificate(c *v1alpha1.GaleraCluster, spec v1alpha1.ClientCertificateSpec) *cmv1.Certificate {
	cert := newCertificate(c, ClientIssuedName(c, spec.Name))
	duration := defaultDuration
	if spec.Duration != nil {
		duration = spec.Duration.Duration
	}
	cert.Spec.CommonName = spec.CommonName
	cert.Spec.Duration = &metav1.Duration{Duration: duration}
	cert.Spec.RenewBefore = &metav1.Duration{Duration: (duration / 3).Truncate(time.Second)}
	cert.Spec.Usages = []cmv1.KeyUsage{cmv1.UsageDigitalSignature, cmv1.UsageClientAuth}
	cert.Spec.PrivateKey = &cmv1.CertificatePrivateKey{
		Algorithm: cmv1.ECDSAKeyAlgorithm, Size: 256, Encoding: cmv1.PKCS8, RotationPolicy: cmv1.RotationPolicyAlways,
	}
	cert.Spec.IssuerRef = issuer(ClientCAIssuerName(c))
	return cert
}

func clientPurpose(name string) string { return "client-" + name }

// ReservedSecret says whether the cluster needs a Secret of that name for something else than a client. The
// validation of GaleraCluster has the same list.
func ReservedSecret(c *v1alpha1.GaleraCluster, name string) bool {
	fixed := []string{RootSecretName(c), TLSSecretName(c), IssuedSecretName(c), CAPairName(c), ClientCAPairName(c)}
	return slices.Contains(fixed, name) || IsClientIssued(c, name)
}

// ClientSecret returns the Secret a client uses: its pair, and what verifies the servers.
func ClientSecret(c *v1alpha1.GaleraCluster, spec v1alpha1.ClientCertificateSpec, crt, key, serverCA []byte) *corev1.Secret {
	meta := ownedMeta(c, ClientSecretName(c, spec))
	meta.Labels[v1alpha1.LabelPurpose] = clientPurpose(spec.Name) // the name may be of the user's choice
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta,
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: crt, corev1.TLSPrivateKeyKey: key, CAKey: serverCA},
	}
}
