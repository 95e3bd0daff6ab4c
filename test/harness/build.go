package harness

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Option changes a cluster that is about to be created.
type Option func(*v1alpha1.GaleraClusterSpec)

// Build returns a GaleraCluster of three encrypted nodes, changed by the options.
func Build(namespace, name string, options ...Option) *v1alpha1.GaleraCluster {
	c := &v1alpha1.GaleraCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.GaleraClusterSpec{
			Replicas: 3,
			Storage:  v1alpha1.StorageSpec{Size: resource.MustParse("1Gi")},
		},
	}
	for _, o := range options {
		o(&c.Spec)
	}
	return c
}

// Replicas sets the number of nodes.
func Replicas(n int32) Option {
	return func(s *v1alpha1.GaleraClusterSpec) { s.Replicas = n }
}

// Image sets the database image.
func Image(name string) Option {
	return func(s *v1alpha1.GaleraClusterSpec) { s.Image = name }
}

// Issuer names the issuer of the nodes' certificate.
func Issuer(name string) Option {
	return func(s *v1alpha1.GaleraClusterSpec) {
		s.TLS.IssuerRef = &v1alpha1.IssuerReference{Name: name, Kind: "Issuer"}
	}
}

// StorageClass names the class of the volumes.
func StorageClass(name string) Option {
	return func(s *v1alpha1.GaleraClusterSpec) { s.Storage.StorageClassName = &name }
}

// Size sets the size of each volume.
func Size(quantity string) Option {
	return func(s *v1alpha1.GaleraClusterSpec) { s.Storage.Size = resource.MustParse(quantity) }
}

// Setting sets one setting of my.cnf.
func Setting(key, value string) Option {
	return func(s *v1alpha1.GaleraClusterSpec) {
		if s.MariaDB.Config == nil {
			s.MariaDB.Config = map[string]v1alpha1.Setting{}
		}
		s.MariaDB.Config[key] = v1alpha1.Setting{Text: value}
	}
}

// WithoutTLS switches all encryption off.
func WithoutTLS() Option {
	return func(s *v1alpha1.GaleraClusterSpec) {
		s.TLS.Replication = v1alpha1.TLSDisabled
		s.TLS.Clients = v1alpha1.TLSDisabled
	}
}
