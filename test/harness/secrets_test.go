package harness

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSecretsAreFound: passwords, keys in PEM, and a password that was replaced; not what is asked to everyone.
func TestSecretsAreFound(t *testing.T) {
	const key = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIKeyKeyKeyKeyKeyKeyKeyKey\n-----END EC PRIVATE KEY-----\n"
	s := &Secrets{values: map[string]string{}}
	secret := func(name string, data map[string]string) {
		c := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "e2e", Name: name}, Data: map[string][]byte{}}
		for k, v := range data {
			c.Data[k] = []byte(v)
		}
		s.take(c)
	}
	secret("shop-root", map[string]string{"password": "first-password\n"})
	secret("shop-root", map[string]string{"password": "second-password"})
	secret("shop-tls", map[string]string{"tls.key": key,
		"tls.crt": "-----BEGIN CERTIFICATE-----\nMIIBCertificateCertificate\n-----END CERTIFICATE-----"})
	secret("app", map[string]string{"username": "application", "uri": "mysql://application:second-password@shop/app",
		"password": "short"})
	for text, want := range map[string][]string{
		"Access denied for user 'application'@'10.0.0.1'": nil,
		"IDENTIFIED BY 'first-password'":                  {"key password of the Secret e2e/shop-root"},
		"connecting to mysql://application:second-password@shop/app": {"key password of the Secret e2e/shop-root",
			"key uri of the Secret e2e/app"},
		"x MHcCAQEEIKeyKeyKeyKeyKeyKeyKeyKey y":                 {"key tls.key of the Secret e2e/shop-tls"},
		"data: c2Vjb25kLXBhc3N3b3Jk":                            {"key password of the Secret e2e/shop-root"},
		"MIIBCertificateCertificate, short":                     nil,
		`ERROR	Observed a panic	{"controller": "galerabackup"}`: {"panic of a controller"},
	} {
		if got := s.in(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
