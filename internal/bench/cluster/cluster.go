// Package cluster holds what benchmarks know of a GaleraCluster besides its resource: the names of its objects and
// its metrics, as docs/pods.md and docs/metrics.md document them for everyone.
package cluster

import (
	"crypto/sha1" //nolint:gosec // what mysql_native_password is made of
	"encoding/hex"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const (
	// Port of the databases, for clients.
	Port = 3306
	// Container is the database's in the pod of a node.
	Container = "mariadb"
	// AgentContainer is the one that brings the agent.
	AgentContainer = "agent"
	// MetricsPort is the port at which a node reports its state.
	MetricsPort = 8080
	// MetricsPath is the path of that report.
	MetricsPath = "/metrics"
)

// States of a node, as its metrics name them.
const (
	Synced = "Synced"
	Donor  = "Donor"
	Joined = "Joined"
)

// PodName returns the name of one node's pod, which is the node's own.
func PodName(c *v1alpha1.GaleraCluster, ordinal int) string {
	return c.Name + "-" + strconv.Itoa(ordinal)
}

// PodHost returns the DNS name of one node, in full: with five dots a resolver asks for it first, as it is.
func PodHost(c *v1alpha1.GaleraCluster, ordinal int, domain string) string {
	return PodName(c, ordinal) + "." + c.Name + "-nodes." + c.Namespace + ".svc." + domain
}

// PrimaryHost returns the DNS name that leads to the primary.
func PrimaryHost(c *v1alpha1.GaleraCluster) string {
	return c.Name + "-primary." + c.Namespace + ".svc"
}

// ClaimName returns the name of one node's PersistentVolumeClaim.
func ClaimName(c *v1alpha1.GaleraCluster, ordinal int) string { return "data-" + PodName(c, ordinal) }

// CAConfigMap returns the name of the ConfigMap with the CA that signs the nodes' certificates.
func CAConfigMap(c *v1alpha1.GaleraCluster) string { return c.Name + "-ca" }

// Selector returns the labels that the pods of a cluster's nodes have.
func Selector(c *v1alpha1.GaleraCluster) map[string]string {
	return map[string]string{v1alpha1.LabelCluster: c.Name, "app.kubernetes.io/component": "database"}
}

// WithoutAcceleration returns the variables that hide AES instructions from OpenSSL: on x86-64 all of them, on arm64
// all but NEON.
func WithoutAcceleration() []corev1.EnvVar {
	return []corev1.EnvVar{{Name: "OPENSSL_ia32cap", Value: "~0x200000200000000"}, {Name: "OPENSSL_armcap", Value: "0x1"}}
}

// NativeHash returns what a server keeps of a password for mysql_native_password.
func NativeHash(password string) string {
	first := sha1.Sum([]byte(password)) //nolint:gosec // see above
	second := sha1.Sum(first[:])        //nolint:gosec // see above
	return "*" + strings.ToUpper(hex.EncodeToString(second[:]))
}
