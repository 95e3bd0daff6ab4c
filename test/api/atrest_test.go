package api

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestEncryptionKeys: they are made once, recorded before any pod runs, never overwritten, and nothing restarts a node
// while the Secret has others, or is gone.
func TestEncryptionKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := spec()
	s.Encryption = &v1alpha1.EncryptionSpec{}
	w := newWorld(t, "atrest", s)
	w.bringUp()
	w.Eventually(w.condition("Available")).Should(Equal("True Available"))
	w.Expect(w.condition(v1alpha1.ConditionEncryptedAtRest)()).To(Equal("Unknown NotYetProved"), "no agent has looked")

	keys := &corev1.Secret{}
	w.Expect(w.get(keys, "shop-keys")).To(Succeed())
	w.Expect(keys.OwnerReferences).To(BeEmpty())
	w.Expect(keys.Labels).NotTo(HaveKey(v1alpha1.LabelCluster))
	fingerprints, err := atrest.Fingerprints(keys.Data[atrest.KeyFile], keys.Data[atrest.PasswordFile])
	must(t, err)
	w.Expect(w.status().AtRest.Keys).To(ConsistOf(v1alpha1.EncryptionKeyStatus{ID: "1", Fingerprint: fingerprints["1"]}))
	published := &corev1.ConfigMap{}
	w.Expect(w.get(published, "shop-config")).To(Succeed())
	var node agentapi.NodeConfig
	must(t, json.Unmarshal([]byte(published.Data[agentapi.ConfigKey]), &node))
	w.Expect(node.AtRest.Keys).To(Equal(fingerprints))

	// Other bytes under the same number, and a change that would restart every node.
	otherFile, otherPassword, err := atrest.Make()
	must(t, err)
	right := keys.DeepCopy()
	keys.Data = map[string][]byte{atrest.KeyFile: otherFile, atrest.PasswordFile: otherPassword}
	must(t, kube.Update(ctx, keys))
	template := w.statefulSet().Spec.Template.DeepCopy()
	w.edit(func(c *v1alpha1.GaleraCluster) {
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: quantity("7m")}
	})
	w.Eventually(w.condition("Stalled")).Should(Equal("True KeysRefused"))
	w.Expect(w.message("Stalled")).To(ContainSubstring("key 1 has other bytes"))
	w.Consistently(func(g Gomega) {
		sts := &appsv1.StatefulSet{}
		g.Expect(w.get(sts, "shop")).To(Succeed())
		g.Expect(sts.Spec.Template).To(Equal(*template))
	}, time.Second).Should(Succeed())

	// The Secret is gone: it is not made again.
	must(t, kube.Delete(ctx, keys))
	w.poke(1)
	w.Eventually(w.condition("Stalled")).Should(Equal("True KeysMissing"))
	w.Expect(w.get(&corev1.Secret{}, "shop-keys")).NotTo(Succeed())

	right.ObjectMeta = metav1.ObjectMeta{Name: right.Name, Namespace: right.Namespace}
	must(t, kube.Create(ctx, right))
	w.poke(2)
	w.Eventually(w.condition("Stalled")).Should(Equal("False Healthy"))
	w.Eventually(func() string {
		return w.statefulSet().Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String()
	}).Should(Equal("7m"))
}

// TestNoKeysForKeptVolumes: a cluster that is created again over the volumes of an earlier one gets no new keys when
// the Secret with theirs is lost, also where it begins with a backup: the reason is named, and nothing is copied.
func TestNoKeysForKeptVolumes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := spec()
	s.Encryption = &v1alpha1.EncryptionSpec{}
	s.BootstrapFrom = &v1alpha1.BootstrapFrom{Backup: &v1alpha1.LocalName{Name: "nightly"},
		IdentitySecretRef: v1alpha1.SecretKey{Name: "private", Key: "identity"}}
	var kept *corev1.PersistentVolumeClaim
	w := newWorld(t, "kept-volumes", s, func(c *v1alpha1.GaleraCluster) {
		kept = resources.Claim(c, 0)
		must(t, kube.Create(ctx, kept))
	})
	w.Eventually(w.condition("Stalled")).Should(Equal("True KeysMissing"))
	w.Expect(w.message("Stalled")).To(And(ContainSubstring(`"shop-keys"`), ContainSubstring("data-shop-0")))
	w.Expect(w.get(&corev1.Secret{}, "shop-keys")).NotTo(Succeed())

	kept.Finalizers = nil
	must(t, kube.Update(ctx, kept))
	must(t, kube.Delete(ctx, kept))
	w.poke(1)
	w.Eventually(func() error { return w.get(&corev1.Secret{}, "shop-keys") }).Should(Succeed(), "nothing can need others")
	w.Eventually(w.condition("Stalled")).ShouldNot(HaveSuffix("KeysMissing"))
}

// poke wakes the operator, which does not watch the Secret: its cache keeps no keys.
func (w *world) poke(n int) {
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Annotations = map[string]string{"example.org/poke": fmt.Sprint(n)} })
}

// TestEncryptionSwitch: a running cluster is given keys before anything is encrypted with them, and lets go of them
// when none is asked for and no node has one.
func TestEncryptionSwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "atrest-switch", spec())
	w.bringUp()
	w.agents.change("shop-2", func(r *agentapi.Report) { r.Server.State = galera.NodeDonor }) // no node is restarted
	node := func() *agentapi.AtRest {
		var config agentapi.NodeConfig
		published := &corev1.ConfigMap{}
		must(t, w.get(published, "shop-config"))
		must(t, json.Unmarshal([]byte(published.Data[agentapi.ConfigKey]), &config))
		return config.AtRest
	}
	state := func() string {
		if a := w.status().AtRest; a != nil {
			return a.State
		}
		return ""
	}
	w.Expect(node()).To(BeNil())
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.Encryption = &v1alpha1.EncryptionSpec{} })
	w.Eventually(state).Should(Equal(v1alpha1.AtRestPreparing))
	w.Eventually(node).ShouldNot(BeNil())
	w.Expect(node().State).To(Equal(agentapi.AtRestPrepared))
	w.Expect(node().Keys).To(HaveLen(1))
	w.Eventually(func() string { return resources.MountedKeys(w.statefulSet()) }).Should(Equal("shop-keys"))
	w.Consistently(state, time.Second).Should(Equal(v1alpha1.AtRestPreparing), "no node has the keys")
	w.Eventually(func() string { return w.status().AtRest.Message }).Should(
		ContainSubstring("shop-0 does not run with them yet"), "it is known after the state is recorded")
	w.Eventually(w.condition(v1alpha1.ConditionEncryptedAtRest)).Should(Equal("Unknown NotYetProved"))

	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.Encryption = nil })
	w.Eventually(state).Should(Equal(v1alpha1.AtRestOff))
	w.Eventually(node).Should(BeNil())
	w.Eventually(func() string { return resources.MountedKeys(w.statefulSet()) }).Should(BeEmpty())
	w.Expect(w.get(&corev1.Secret{}, "shop-keys")).To(Succeed())

	// All nodes have the keys.
	for _, p := range []string{"shop-0", "shop-1", "shop-2"} {
		w.agents.change(p, func(r *agentapi.Report) { r.AtRest = &agentapi.AtRestReport{Mode: agentapi.ModeHolds} })
	}
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.Encryption = &v1alpha1.EncryptionSpec{} })
	w.Eventually(state).Should(Equal(v1alpha1.AtRestOn))
	w.Eventually(func() string {
		if a := node(); a != nil {
			return a.State
		}
		return ""
	}).Should(Equal(agentapi.AtRestEncrypted))
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.Encryption = nil })
	w.Eventually(state).Should(Equal(v1alpha1.AtRestDecrypting))
	w.Eventually(func() string { return node().State }).Should(Equal(agentapi.AtRestDecrypted))
	w.Consistently(func() string { return resources.MountedKeys(w.statefulSet()) }, "500ms").Should(Equal("shop-keys"),
		"not everything was read")
}
