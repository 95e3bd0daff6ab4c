package e2e

import (
	"context"
	"errors"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
)

// createIssuer makes a CA issuer as a user would have one: self-signed issuer, CA, issuer. The CA lasts for
// cert-manager's 90 days, or as long as is said.
func createIssuer(ctx context.Context, namespace, name string, duration ...time.Duration) error {
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	root := &certmanagerv1.Issuer{ObjectMeta: at(name + "-root")}
	root.Spec.SelfSigned = &certmanagerv1.SelfSignedIssuer{}
	ca := &certmanagerv1.Certificate{ObjectMeta: at(name + "-ca"), Spec: certmanagerv1.CertificateSpec{
		IsCA: true, CommonName: name, SecretName: name + "-ca",
		PrivateKey: &certmanagerv1.CertificatePrivateKey{Algorithm: certmanagerv1.ECDSAKeyAlgorithm, Size: 256},
		IssuerRef:  cmmeta.IssuerReference{Name: root.Name},
	}}
	for _, d := range duration {
		ca.Spec.Duration = &metav1.Duration{Duration: d}
	}
	issuer := &certmanagerv1.Issuer{ObjectMeta: at(name)}
	issuer.Spec.CA = &certmanagerv1.CAIssuer{SecretName: ca.Spec.SecretName}
	return errors.Join(kube.Create(ctx, root), kube.Create(ctx, ca), kube.Create(ctx, issuer))
}

func keyOf(o ctrlclient.Object) ctrlclient.ObjectKey { return ctrlclient.ObjectKeyFromObject(o) }
