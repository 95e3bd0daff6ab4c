package resources

import (
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// HasClientCA reports whether a cluster has a CA for clients: it has users with certificates, or a benchmark measures
// it, which is one.
func HasClientCA(c *v1alpha1.GaleraCluster, users bool) bool {
	if users || c.Annotations[v1alpha1.AnnotationBenchmark] != "" {
		return true
	}
	owner := metav1.GetControllerOf(c)
	return owner != nil && owner.Kind == "GaleraBenchmark"
}

// ClientIssuer returns the issuer of clients' certificates.
func ClientIssuer(c *v1alpha1.GaleraCluster) cmmeta.IssuerReference {
	return issuer(ClientCAIssuerName(c))
}
