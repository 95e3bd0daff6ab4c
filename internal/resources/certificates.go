package resources

import (
	"time"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

const (
	certManagerGroup = "cert-manager.io"

	// A CA is renewed, with the same key, one year before its end: long enough for every leaf of
	// any length to have been replaced by then.
	caDuration    = 10 * 365 * 24 * time.Hour
	caRenewBefore = 365 * 24 * time.Hour

	defaultDuration = 90 * 24 * time.Hour
)

// Certificates returns what cert-manager is asked for: the leaf every node presents; when the spec names no issuer, the
// private CA that signs it; and the clients' CA where there are users with certificates.
func Certificates(c *v1alpha1.GaleraCluster, opts Options, users bool) []client.Object {
	var out []client.Object
	if c.Spec.TLS.IssuerRef == nil {
		out = append(out, selfSignedIssuer(c), caCertificate(c, CAPairName(c), " Galera CA"),
			caIssuer(c, caIssuerName(c), CAPairName(c)))
	}
	out = append(out, leafCertificate(c, opts))
	if users {
		out = append(out, clientAuthority(c)...)
	}
	return out
}

// leafIssuer returns the issuer of the nodes' certificate.
func leafIssuer(c *v1alpha1.GaleraCluster) cmmeta.IssuerReference {
	ref := c.Spec.TLS.IssuerRef
	if ref == nil {
		return issuer(caIssuerName(c))
	}
	out := issuer(ref.Name)
	if ref.Kind != "" {
		out.Kind = ref.Kind
	}
	return out
}

// leafCertificate returns the certificate of all nodes. One for all, because Galera checks only
// the CA of a peer's certificate: one for each node would not be safer.
func leafCertificate(c *v1alpha1.GaleraCluster, opts Options) *cmv1.Certificate {
	cert := newCertificate(c, IssuedSecretName(c))
	duration, renewBefore := leafTimes(c)
	cert.Spec.CommonName = commonName(c, "")
	cert.Spec.DNSNames = dnsNames(c, opts)
	cert.Spec.IPAddresses = ipAddresses(c)
	cert.Spec.Duration = &metav1.Duration{Duration: duration}
	cert.Spec.RenewBefore = &metav1.Duration{Duration: renewBefore}
	cert.Spec.Usages = usages(c.Spec.TLS.Certificate.PrivateKey, cmv1.UsageServerAuth, cmv1.UsageClientAuth)
	cert.Spec.PrivateKey = privateKey(c.Spec.TLS.Certificate.PrivateKey)
	cert.Spec.IssuerRef = leafIssuer(c)
	return cert
}

// usages adds to those of a key what keys of its kind need. A node's certificate is for both authentications: it is
// server to some peers and client to others, and Galera refuses a certificate that is good for one side only.
func usages(key v1alpha1.PrivateKeySpec, of ...cmv1.KeyUsage) []cmv1.KeyUsage {
	out := append([]cmv1.KeyUsage{cmv1.UsageDigitalSignature}, of...)
	if key.Algorithm == string(cmv1.RSAKeyAlgorithm) {
		out = append(out, cmv1.UsageKeyEncipherment)
	}
	return out
}

func privateKey(spec v1alpha1.PrivateKeySpec) *cmv1.CertificatePrivateKey {
	key := &cmv1.CertificatePrivateKey{
		Algorithm:      cmv1.ECDSAKeyAlgorithm,
		Size:           256,
		Encoding:       cmv1.PKCS8, // the one form that is the same for every kind of key
		RotationPolicy: cmv1.RotationPolicyAlways,
	}
	if spec.Algorithm == string(cmv1.RSAKeyAlgorithm) {
		key.Algorithm, key.Size = cmv1.RSAKeyAlgorithm, 2048
	}
	if spec.Size != 0 {
		key.Size = int(spec.Size)
	}
	return key
}

func leafTimes(c *v1alpha1.GaleraCluster) (duration, renewBefore time.Duration) {
	spec := c.Spec.TLS.Certificate
	duration = defaultDuration
	if spec.Duration != nil {
		duration = spec.Duration.Duration
	}
	if spec.RenewBefore != nil {
		return duration, spec.RenewBefore.Duration
	}
	return duration, duration / 3
}

func selfSignedIssuer(c *v1alpha1.GaleraCluster) *cmv1.Issuer {
	i := newIssuer(c, selfSignedIssuerName(c))
	i.Spec.SelfSigned = &cmv1.SelfSignedIssuer{}
	return i
}

func caIssuer(c *v1alpha1.GaleraCluster, name, pair string) *cmv1.Issuer {
	i := newIssuer(c, name)
	i.Spec.CA = &cmv1.CAIssuer{SecretName: pair}
	return i
}

// caCertificate keeps its key when it is renewed: leaves it signed before stay good, and nodes that
// trust the old certificate accept leaves signed under the new one.
func caCertificate(c *v1alpha1.GaleraCluster, name, suffix string) *cmv1.Certificate {
	cert := newCertificate(c, name)
	cert.Spec.IsCA = true
	cert.Spec.CommonName = commonName(c, suffix)
	cert.Spec.Duration = &metav1.Duration{Duration: caDuration}
	cert.Spec.RenewBefore = &metav1.Duration{Duration: caRenewBefore}
	cert.Spec.Usages = []cmv1.KeyUsage{cmv1.UsageDigitalSignature, cmv1.UsageCertSign, cmv1.UsageCRLSign}
	cert.Spec.PrivateKey = &cmv1.CertificatePrivateKey{
		Algorithm:      cmv1.ECDSAKeyAlgorithm,
		Size:           256,
		Encoding:       cmv1.PKCS8,
		RotationPolicy: cmv1.RotationPolicyNever,
	}
	cert.Spec.IssuerRef = issuer(selfSignedIssuerName(c))
	return cert
}

func issuer(name string) cmmeta.IssuerReference {
	return cmmeta.IssuerReference{Name: name, Kind: cmv1.IssuerKind, Group: certManagerGroup}
}

func newIssuer(c *v1alpha1.GaleraCluster, name string) *cmv1.Issuer {
	return &cmv1.Issuer{
		TypeMeta:   metav1.TypeMeta{APIVersion: cmv1.SchemeGroupVersion.String(), Kind: cmv1.IssuerKind},
		ObjectMeta: ownedMeta(c, name),
	}
}

// newCertificate gives the certificate and its Secret one name.
func newCertificate(c *v1alpha1.GaleraCluster, name string) *cmv1.Certificate {
	return &cmv1.Certificate{
		TypeMeta:   metav1.TypeMeta{APIVersion: cmv1.SchemeGroupVersion.String(), Kind: cmv1.CertificateKind},
		ObjectMeta: ownedMeta(c, name),
		Spec: cmv1.CertificateSpec{
			SecretName: name,
			SecretTemplate: &cmv1.CertificateSecretTemplate{Annotations: NotPruned(),
				Labels: withLabel(Labels(c), v1alpha1.LabelPurpose, purpose(c, name))},
		},
	}
}
