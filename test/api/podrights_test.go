package api

import (
	"context"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestPodMetadata: keys that can give pods other rights are not published; a new cluster is not started with them, and
// running pods keep what they have, while the rest of the spec is followed.
func TestPodMetadata(t *testing.T) {
	t.Parallel()
	s := spec()
	s.PodTemplate = &v1alpha1.PodTemplateSpec{Annotations: map[string]string{"iam.amazonaws.com/role": "admin"}}
	w := newWorld(t, "pod-metadata", s)
	w.Eventually(w.condition("Stalled")).Should(Equal("True PodMetadataRefused"))
	w.Expect(w.message("Stalled")).To(ContainSubstring(
		"spec.podTemplate.annotations must not contain iam.amazonaws.com/role (--allow-pod-annotations)"))
	w.Expect(w.get(&appsv1.StatefulSet{}, "shop")).NotTo(Succeed(), "nothing is started with it")

	w.edit(func(c *v1alpha1.GaleraCluster) {
		c.Spec.PodTemplate = &v1alpha1.PodTemplateSpec{Labels: map[string]string{"team": "db"},
			Annotations: map[string]string{"prometheus.io/port": "8080"}}
	})
	w.bringUp()
	before := w.statefulSet().Spec.Template
	w.Expect(before.Labels).To(HaveKeyWithValue("team", "db"))
	w.Expect(before.Annotations).To(HaveKeyWithValue("prometheus.io/port", "8080"))

	w.edit(func(c *v1alpha1.GaleraCluster) {
		c.Spec.PodTemplate.Labels["app"], c.Spec.PodTemplate.Labels["team"] = "payments", "evil"
		c.Spec.PodTemplate.Annotations["vault.hashicorp.com/role"] = "admin"
		c.Spec.PodTemplate.Env = []v1alpha1.EnvValue{{Name: "A", Value: "b"}}
	})
	w.Eventually(w.condition("Stalled")).Should(Equal("True PodMetadataRefused"))
	w.Eventually(func() []corev1.EnvVar { return w.statefulSet().Spec.Template.Spec.Containers[0].Env }).
		Should(ContainElement(corev1.EnvVar{Name: "A", Value: "b"}))
	now := w.statefulSet().Spec.Template
	for _, set := range []map[string]string{before.Annotations, now.Annotations} {
		delete(set, v1alpha1.AnnotationPodTemplate)
	}
	if !maps.Equal(before.Labels, now.Labels) || !maps.Equal(before.Annotations, now.Annotations) {
		t.Errorf("pods get %v and %v, had %v and %v", now.Labels, now.Annotations, before.Labels, before.Annotations)
	}
}

// TestForeignServiceAccount: no pod runs under a ServiceAccount that is not the cluster's own; it is left as it is, and
// its label makes it no other.
func TestForeignServiceAccount(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const namespace = "foreign-account"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	theirs := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop-galera",
		Labels:      map[string]string{v1alpha1.LabelCluster: "shop"},
		Annotations: map[string]string{"eks.amazonaws.com/role-arn": "admin"}}}
	must(t, kube.Create(ctx, theirs))
	w := &world{WithT: NewWithT(t), t: t, agents: newFakeAgents()}
	w.SetDefaultEventuallyTimeout(time.Minute)
	w.cluster = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Spec: spec()}
	startOperator(t, namespace, w.agents)
	must(t, kube.Create(ctx, w.cluster))
	w.Eventually(w.condition("Stalled")).Should(Equal("True NameConflict"))
	w.Expect(w.message("Stalled")).To(ContainSubstring(
		`ServiceAccount "shop-galera" exists and does not belong to this cluster`))
	w.Eventually(func() error { return w.get(&corev1.ConfigMap{}, "shop-config") }).Should(Succeed())
	w.Expect(w.get(&appsv1.StatefulSet{}, "shop")).NotTo(Succeed(), "no pod runs under it")
	have := &corev1.ServiceAccount{}
	w.Expect(w.get(have, "shop-galera")).To(Succeed())
	w.Expect(have.ResourceVersion).To(Equal(theirs.ResourceVersion), "it is left as it is")

	must(t, kube.Delete(ctx, theirs))
	w.Expect(w.statefulSet().Spec.Template.Spec.ServiceAccountName).To(Equal("shop-galera"))
	w.Expect(w.get(have, "shop-galera")).To(Succeed())
	w.Expect(metav1.IsControlledBy(have, w.cluster)).To(BeTrue())

	// A privileged account that has the name of a cluster is not the one that its pods run under.
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "deployer"}}
	if name := resources.ServiceAccountName(c); name == c.Name {
		t.Errorf("the pods of %s run under %s", c.Name, name)
	}
}
