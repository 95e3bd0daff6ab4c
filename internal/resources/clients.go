package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// clientAuthority returns the CA of clients' certificates. It is another one than the nodes': the holder of a
// certificate of the nodes' CA could join the group.
func clientAuthority(c *v1alpha1.GaleraCluster) []client.Object {
	out := []client.Object{
		caCertificate(c, ClientCAPairName(c), clientCASuffix),
		caIssuer(c, clientCAIssuerName(c), ClientCAPairName(c)),
	}
	if c.Spec.TLS.IssuerRef != nil {
		out = append(out, selfSignedIssuer(c))
	}
	return out
}

// UserIssuedName returns the name of a GaleraUser's Certificate, and of the Secret cert-manager writes for it. Both are
// in the cluster's namespace, where users of several namespaces meet: it is too long to choose a user with the name of
// another.
func UserIssuedName(c *v1alpha1.GaleraCluster, u *v1alpha1.GaleraUser) string {
	sum := sha256.Sum256([]byte(u.Namespace + "/" + u.Name))
	return c.Name + "-user-" + hex.EncodeToString(sum[:10])
}

// UserSubject returns the subject of a GaleraUser's certificate as REQUIRE SUBJECT has it.
func UserSubject(u *v1alpha1.GaleraUser) string { return "/O=" + u.Namespace + "/CN=" + u.Name }

// clientCASuffix is what the common name of the clients' CA ends in.
const clientCASuffix = " clients CA"

// ClientIssuerSubject returns the subject of the clients' CA as REQUIRE ISSUER has it. A renewed CA keeps it.
func ClientIssuerSubject(c *v1alpha1.GaleraCluster) string {
	return "/CN=" + commonName(c, clientCASuffix)
}

// UserCertificate returns the certificate of a GaleraUser with require: X509.
func UserCertificate(c *v1alpha1.GaleraCluster, u *v1alpha1.GaleraUser) *cmv1.Certificate {
	cert := newCertificate(c, UserIssuedName(c, u))
	cert.Labels[v1alpha1.LabelUser] = u.Name
	spec := v1alpha1.UserCertificateSpec{}
	if u.Spec.Certificate != nil {
		spec = *u.Spec.Certificate
	}
	duration := defaultDuration
	if spec.Duration != nil {
		duration = spec.Duration.Duration
	}
	cert.Spec.CommonName = u.Name
	cert.Spec.Subject = &cmv1.X509Subject{Organizations: []string{u.Namespace}}
	cert.Spec.Duration = &metav1.Duration{Duration: duration}
	cert.Spec.RenewBefore = &metav1.Duration{Duration: (duration / 3).Truncate(time.Second)}
	cert.Spec.PrivateKey = privateKey(spec.PrivateKey)
	cert.Spec.Usages = usages(spec.PrivateKey, cmv1.UsageClientAuth)
	cert.Spec.IssuerRef = issuer(clientCAIssuerName(c))
	return cert
}
