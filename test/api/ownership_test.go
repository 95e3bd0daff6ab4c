package api

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestSecretsGoWithTheData: what cert-manager writes has no owner, and root's password gets one only once.
func TestSecretsGoWithTheData(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "ownership", spec())
	names := []string{"shop-root", "shop-issued", "shop-ca-pair"}
	for _, name := range names[1:] { // as cert-manager does, with the labels of the Certificate's template
		must(t, kube.Create(context.Background(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ownership", Name: name, Labels: resources.Labels(w.cluster)}}))
	}
	owners := func() string {
		out := ""
		for _, name := range names {
			var s corev1.Secret
			if err := w.get(&s, name); err != nil {
				return err.Error()
			}
			for _, r := range s.OwnerReferences {
				out += name + ": " + r.Kind + " " + r.Name + ". "
			}
		}
		return out
	}
	whenDeleted := func(policy v1alpha1.ClaimPolicy) {
		w.edit(func(c *v1alpha1.GaleraCluster) {
			c.Spec.Storage.PersistentVolumeClaimRetentionPolicy.WhenDeleted = policy
		})
	}
	w.Eventually(w.condition("Ready")).ShouldNot(BeEmpty())
	w.Expect(owners()).To(BeEmpty(), "they are kept, like the data")
	whenDeleted(v1alpha1.ClaimDelete)
	w.Eventually(owners).
		Should(Equal("shop-root: GaleraCluster shop. shop-issued: GaleraCluster shop. shop-ca-pair: GaleraCluster shop. "))
	whenDeleted(v1alpha1.ClaimRetain)
	w.Eventually(owners).Should(BeEmpty())
}

// TestUsersSecretIsNeverOwned: a password of the user's own does not go with the cluster.
func TestUsersSecretIsNeverOwned(t *testing.T) {
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-root",
		Labels: map[string]string{v1alpha1.LabelCluster: "shop"}}}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "u"}}
	c.Spec.Storage.PersistentVolumeClaimRetentionPolicy.WhenDeleted = v1alpha1.ClaimDelete
	if refs, differ := resources.Owned(c, own); differ || len(refs) > 0 {
		t.Errorf("%v", refs)
	}
}
