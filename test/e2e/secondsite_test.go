package e2e

import (
	"strings"
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// newSite makes a namespace with the store of an archived cluster, and the private key of that one's backups.
func newSite(ctx SpecContext, first *harness.Cluster, objects placer) (ns string) {
	GinkgoHelper()
	ns = newNamespace(ctx, "site")
	makeStore(ctx, objects, ns, identityOf(ctx, first))
	return ns
}

// identityOf is the private key of an archived cluster's backups.
func identityOf(ctx SpecContext, c *harness.Cluster) *age.X25519Identity {
	GinkgoHelper()
	key := &corev1.Secret{}
	Expect(c.Kube.Get(ctx, kubeclient.ObjectKey{Namespace: c.Namespace, Name: "identity"}, key)).To(Succeed())
	identity, err := age.ParseX25519Identity(strings.TrimSpace(string(key.Data["identity"])))
	Expect(err).NotTo(HaveOccurred())
	return identity
}

// standbyOf is a cluster of a site that follows the first one.
func standbyOf(ctx SpecContext, first *harness.Cluster, ns string) *v1alpha1.GaleraCluster {
	GinkgoHelper()
	have, err := first.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	c := sampleCluster(ns)
	c.Name = "standby"
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		Cluster:           v1alpha1.ReplicatedCluster{Namespace: first.Namespace, Name: first.Name, UID: string(have.UID)},
		IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"}}
	return c
}

// follows waits until a cluster follows the first one.
func follows(ctx SpecContext, second *harness.Cluster) {
	GinkgoHelper()
	Expect(second.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
	Expect(second.WaitCondition(ctx, v1alpha1.ConditionFollowing, metav1.ConditionTrue, v1alpha1.ReasonFollowing,
		2*time.Minute)).To(Succeed())
}

// secondSite is a cluster of one node that follows the first one, in a namespace of its own.
func secondSite(ctx SpecContext, first *harness.Cluster, objects placer) *harness.Cluster {
	GinkgoHelper()
	c := standbyOf(ctx, first, newSite(ctx, first, objects))
	c.Spec.Replicas = 1
	second := create(ctx, c)
	follows(ctx, second)
	return second
}

// streamTo has a cluster that follows the archive of the first one stream from that one, too, and returns from where.
func streamTo(ctx SpecContext, first, second *harness.Cluster) (endpoint string) {
	GinkgoHelper()
	u := userOf(ctx, first, first.Namespace, "second-site", func(s *v1alpha1.GaleraUserSpec) {
		s.Grants = []v1alpha1.GrantSpec{{Privileges: []string{"REPLICATION SLAVE"}}}
	})
	awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
	b := bindingOf(ctx, first, u)
	for name, keys := range map[string][]string{"stream": {"username", "password"}, "stream-ca": {"ca.crt"}} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: second.Namespace, Name: name},
			Data: map[string][]byte{}}
		for _, key := range keys {
			secret.Data[key] = b.Data[key]
		}
		Expect(kube.Create(ctx, secret)).To(Succeed())
	}
	endpoint = first.Name + "-primary." + first.Namespace + ".svc:3306"
	Expect(second.Change(ctx, func(c *v1alpha1.GaleraCluster) {
		r := c.Spec.ReplicaOf
		r.Endpoints, r.CredentialsSecretRef = []string{endpoint}, &v1alpha1.LocalName{Name: "stream"}
		r.TLS = &v1alpha1.EndpointTLS{CASecretRef: v1alpha1.LocalName{Name: "stream-ca"}}
	})).To(Succeed())
	return endpoint
}

// addressesOf are those of a cluster's running pods of a component.
func addressesOf(ctx SpecContext, namespace, component string) (out []string) {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(kube.List(ctx, pods, kubeclient.InNamespace(namespace),
		kubeclient.MatchingLabels{"app.kubernetes.io/component": component})).To(Succeed())
	for _, p := range pods.Items {
		if p.Status.PodIP != "" && p.Status.Phase == corev1.PodRunning {
			out = append(out, p.Status.PodIP)
		}
	}
	Expect(out).NotTo(BeEmpty(), component)
	return out
}
