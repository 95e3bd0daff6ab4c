package resources

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestLeafCoversEveryName asks the standard library, as a client would.
func TestLeafCoversEveryName(t *testing.T) {
	c := shop()
	leaf := x509.Certificate{DNSNames: leafCertificate(c, testOptions).Spec.DNSNames}
	for i := range MaxReplicas {
		if err := leaf.VerifyHostname(PodHost(c, i, testOptions)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"shop", "shop.demo", "shop.demo.svc", "shop.demo.svc.cluster.local",
		"shop-primary", "shop-primary.demo.svc", "shop-nodes.demo", "shop-2.shop-nodes", "localhost",
	} {
		if err := leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"shop.other", "shop-7.shop-nodes.demo", "other-0.shop-nodes.demo", "shop-0"} {
		if leaf.VerifyHostname(name) == nil {
			t.Errorf("the certificate is valid for %s", name)
		}
	}
}

func TestOtherClusterDomain(t *testing.T) {
	opts := Options{ClusterDomain: "corp.example"}
	leaf := x509.Certificate{DNSNames: leafCertificate(shop(), opts).Spec.DNSNames}
	if err := leaf.VerifyHostname("shop-0.shop-nodes.demo.svc.corp.example"); err != nil {
		t.Error(err)
	}
	if got := PodHost(shop(), 0, opts); got != "shop-0.shop-nodes.demo.svc.corp.example" {
		t.Error(got)
	}
}

// TestScalingAsksForNoNewCertificate: a new one would have to be rolled out before the new nodes.
func TestScalingAsksForNoNewCertificate(t *testing.T) {
	c := shop()
	before := leafCertificate(c, testOptions).Spec
	c.Spec.Replicas = 7
	after := leafCertificate(c, testOptions).Spec
	if strings.Join(before.DNSNames, " ") != strings.Join(after.DNSNames, " ") {
		t.Error("the names depend on the number of nodes")
	}
}

func TestCommonNameFits(t *testing.T) {
	c := shop()
	c.Name = strings.Repeat("a", 40)
	c.Namespace = strings.Repeat("n", 63)
	for _, object := range Certificates(c, testOptions, false) {
		cert, ok := object.(*cmv1.Certificate)
		if ok && (len(cert.Spec.CommonName) > 64 || cert.Spec.CommonName == "") {
			t.Errorf("%s: common name %q", cert.Name, cert.Spec.CommonName)
		}
	}
}

func TestLeafTimes(t *testing.T) {
	c := shop()
	if got := leafCertificate(c, testOptions).Spec.RenewBefore.Duration; got != 720*time.Hour {
		t.Errorf("renewed %s before the end, want a third of 2160h", got)
	}
	c.Spec.TLS.Certificate = everyTLS().Certificate
	spec := leafCertificate(c, testOptions).Spec
	if spec.Duration.Duration != 24*time.Hour || spec.RenewBefore.Duration != time.Hour {
		t.Errorf("got %s, %s", spec.Duration.Duration, spec.RenewBefore.Duration)
	}
}

func TestLeafKey(t *testing.T) {
	for _, tt := range []struct {
		spec      v1alpha1.PrivateKeySpec
		algorithm cmv1.PrivateKeyAlgorithm
		size      int
		usages    int
	}{
		{v1alpha1.PrivateKeySpec{}, cmv1.ECDSAKeyAlgorithm, 256, 3},
		{v1alpha1.PrivateKeySpec{Algorithm: "ECDSA", Size: 384}, cmv1.ECDSAKeyAlgorithm, 384, 3},
		{v1alpha1.PrivateKeySpec{Algorithm: "RSA"}, cmv1.RSAKeyAlgorithm, 2048, 4},
		{v1alpha1.PrivateKeySpec{Algorithm: "RSA", Size: 4096}, cmv1.RSAKeyAlgorithm, 4096, 4},
	} {
		c := shop()
		c.Spec.TLS.Certificate.PrivateKey = tt.spec
		spec := leafCertificate(c, testOptions).Spec
		if spec.PrivateKey.Algorithm != tt.algorithm || spec.PrivateKey.Size != tt.size || len(spec.Usages) != tt.usages {
			t.Errorf("%+v: %s %d, usages %v", tt.spec, spec.PrivateKey.Algorithm, spec.PrivateKey.Size, spec.Usages)
		}
	}
}

func TestIssuer(t *testing.T) {
	c := shop()
	if got := len(Certificates(c, testOptions, false)); got != 4 {
		t.Errorf("a private CA is made of 4 objects, got %d", got)
	}
	if ref := leafIssuer(c); ref.Name != "shop-ca" || ref.Kind != "Issuer" {
		t.Errorf("got %+v", ref)
	}
	c.Spec.TLS.IssuerRef = &v1alpha1.IssuerReference{Name: "company"}
	if ref := leafIssuer(c); ref.Name != "company" || ref.Kind != "Issuer" || ref.Group != "cert-manager.io" {
		t.Errorf("got %+v", ref)
	}
	c.Spec.TLS.IssuerRef.Kind = "ClusterIssuer"
	objects := Certificates(c, testOptions, false)
	if len(objects) != 1 || objects[0].(*cmv1.Certificate).Spec.IssuerRef.Kind != "ClusterIssuer" {
		t.Errorf("got %v", objects)
	}
}

// TestClientsHaveTheirOwnCA: a certificate of the nodes' CA would let its holder become a node. Users of one name in
// two namespaces are two.
func TestClientsHaveTheirOwnCA(t *testing.T) {
	for _, ref := range []*v1alpha1.IssuerReference{nil, {Name: "corporate"}} {
		c := shop()
		c.Spec.TLS.IssuerRef = ref
		names := map[string]bool{}
		for _, o := range Certificates(c, testOptions, true) {
			names[o.GetName()] = true
		}
		if !names[selfSignedIssuerName(c)] || !names[ClientCAPairName(c)] || !names[clientCAIssuerName(c)] {
			t.Errorf("something is missing: %v", names)
		}
		u := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app"}}
		cert, other := UserCertificate(c, u), UserCertificate(c,
			&v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "app"}})
		if cert.Spec.IssuerRef == leafIssuer(c) || cert.Spec.IssuerRef.Name != clientCAIssuerName(c) {
			t.Errorf("issued by %s", cert.Spec.IssuerRef.Name)
		}
		if slices.Contains(cert.Spec.Usages, cmv1.UsageServerAuth) {
			t.Error("a client is no server")
		}
		if UserSubject(u) != "/O=team/CN=app" || cert.Spec.CommonName != "app" ||
			!slices.Equal(cert.Spec.Subject.Organizations, []string{"team"}) || cert.Name == other.Name {
			t.Errorf("%s: %s, %v", cert.Name, cert.Spec.CommonName, cert.Spec.Subject)
		}
	}
}
