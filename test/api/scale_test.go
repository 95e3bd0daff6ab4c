package api

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// scaleTo does what kubectl scale does.
func (w *world) scaleTo(n int32) {
	w.t.Helper()
	c := &v1alpha1.GaleraCluster{}
	w.Expect(w.get(c, "shop")).To(Succeed())
	s := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: w.cluster.Namespace},
		Spec: autoscalingv1.ScaleSpec{Replicas: n}}
	must(w.t, kube.SubResource("scale").Update(context.Background(), c, client.WithSubResourceBody(s)))
}

func (w *world) pods() int32 {
	sts := &appsv1.StatefulSet{}
	w.Expect(w.get(sts, "shop")).To(Succeed())
	return *sts.Spec.Replicas
}

// views makes the first n members one component.
func (w *world) views(n int, change func(*agentapi.Report)) {
	for i := range n {
		w.agents.change(fmt.Sprintf("shop-%d", i), func(r *agentapi.Report) {
			r.Config.Loaded, r.Server.Size = w.revision(), n
			change(r)
		})
	}
}

// TestScaleDown: no node is taken away before all others were seen without it.
func TestScaleDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "scale-down", spec())
	w.bringUp()
	c := &v1alpha1.GaleraCluster{}
	w.Expect(w.get(c, "shop")).To(Succeed())
	got := &autoscalingv1.Scale{}
	must(t, kube.SubResource("scale").Get(context.Background(), c, got))
	w.Expect(got.Status.Replicas).To(BeEquivalentTo(3))
	w.Expect(got.Status.Selector).To(ContainSubstring("galera-operator.io/cluster=shop"))

	w.scaleTo(1)
	w.Eventually(w.agents.given).Should(ContainElement("Stop shop-2"))
	w.Expect(w.pods()).To(BeEquivalentTo(3))
	w.agents.change("shop-2", func(r *agentapi.Report) { r.Server, r.Phase = nil, galera.PhaseStopped })
	w.Eventually(w.agents.given).Should(ContainElements("Start shop-0", "Start shop-1"))
	w.Consistently(w.pods, "500ms").Should(BeEquivalentTo(3), "the others still count it")

	w.views(2, func(*agentapi.Report) {})
	w.Eventually(w.pods).Should(BeEquivalentTo(2))
	w.Eventually(w.agents.given).Should(ContainElement("Stop shop-1"))
	w.Expect(w.agents.given()).NotTo(ContainElement("Stop shop-0"))
	w.Expect(w.status().Replicas).To(BeEquivalentTo(2))
}

// TestScaleUp: one member at a time.
func TestScaleUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "scale-up", spec())
	w.bringUp()
	w.scaleTo(5)
	w.Eventually(w.pods).Should(BeEquivalentTo(4))
	w.Eventually(w.condition("Ready")).Should(Equal("False Scaling"))
	w.Consistently(w.pods, "500ms").Should(BeEquivalentTo(4), "the fourth is not Synced")
	s := w.status()
	w.Expect([]int32{s.ReadyReplicas, s.Replicas}).To(Equal([]int32{3, 4}))
}

// TestVolumesGrow where the class allows it, and are left alone where it does not.
func TestVolumesGrow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, "volumes", spec())
	w.bringUp()
	w.volumes("1Gi", "grows", "grows", "does-not")
	template := w.statefulSet().Spec.Template.DeepCopy()
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.Storage.Size = quantity("2Gi") })
	w.Eventually(w.condition("Stalled")).Should(Equal("True VolumeNotExpandable"))
	w.Expect(w.message("Stalled")).To(ContainSubstring(`"does-not" of data-shop-2`))
	must(t, kube.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "volumes",
		Name: "data-shop-2"}}, client.GracePeriodSeconds(0)))
	must(t, client.IgnoreNotFound(kube.Patch(ctx,
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "volumes", Name: "data-shop-2"}},
		client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))))
	w.Eventually(w.requested("data-shop-1")).Should(Equal("2Gi"))
	w.Eventually(w.condition("Ready")).Should(Equal("False VolumeExpanding"))
	sts := w.statefulSet()
	q := sts.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
	w.Expect(q.String()).To(Equal("1Gi"), "the template stays")
	w.Expect(&sts.Spec.Template).To(Equal(template), "no pod is replaced for it")
}

// TestSizeIsGivenUp: a size that cannot be had is set back as the condition advises, and all is as before.
func TestSizeIsGivenUp(t *testing.T) {
	t.Parallel()
	s := spec()
	s.Storage.Size = quantity("2Gi")
	w := newWorld(t, "given-up", s)
	w.bringUp()
	// They are smaller than the template, as after a StatefulSet was made anew.
	w.volumes("1Gi", "grows", "does-not", "does-not")
	w.Eventually(w.condition("Stalled")).Should(Equal("True VolumeNotExpandable"))
	w.Eventually(w.requested("data-shop-0")).Should(Equal("2Gi"))
	w.Eventually(func() string { return w.message("Stalled") }).
		Should(ContainSubstring("set spec.storage.size back to 1Gi"))
	w.Expect(w.status().VolumeSize.String()).To(Equal("1Gi"))
	before := w.statefulSet()
	resize := func(size string) error {
		return kube.Patch(context.Background(),
			&v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "given-up", Name: "shop"}},
			client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"storage":{"size":%q}}}`, size)))
	}
	mustSay(t, resize("768Mi"), "can be set back as far as status.volumeSize")
	must(t, resize("1Gi"))
	w.Eventually(w.condition("Stalled")).Should(HavePrefix("False"))
	w.Eventually(w.condition("Ready")).Should(Equal("False VolumeExpanding"))
	w.Expect(w.message("Ready")).To(ContainSubstring("data-shop-0 has 1Gi and is being expanded to 2Gi"))
	w.has("data-shop-0", "2Gi")
	w.Eventually(w.condition("Ready")).Should(Equal("True Ready"))
	w.Expect(w.requested("data-shop-0")()).To(Equal("2Gi"), "what was asked for stays")
	w.Expect(w.statefulSet().Spec).To(Equal(before.Spec))
}

// volumes makes the nodes' volumes: bound, of that size and those classes.
func (w *world) volumes(size string, classes ...string) {
	w.t.Helper()
	ctx := context.Background()
	for i, class := range classes {
		sc := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "example.org/none",
			AllowVolumeExpansion: new(class == "grows")}
		must(w.t, client.IgnoreAlreadyExists(kube.Create(ctx, sc)))
		p := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Namespace,
			Name: fmt.Sprintf("data-shop-%d", i), Labels: map[string]string{v1alpha1.LabelCluster: "shop"}}}
		p.Spec.StorageClassName, p.Spec.AccessModes = &class, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		p.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: quantity(size)}
		must(w.t, kube.Create(ctx, p))
		w.has(p.Name, size)
	}
}

// has makes a volume that large.
func (w *world) has(claim, size string) {
	w.t.Helper()
	p := &corev1.PersistentVolumeClaim{}
	must(w.t, w.get(p, claim))
	p.Status.Phase, p.Status.Capacity = corev1.ClaimBound, corev1.ResourceList{corev1.ResourceStorage: quantity(size)}
	must(w.t, kube.Status().Update(context.Background(), p))
}

// requested is what a claim asks for.
func (w *world) requested(claim string) func() string {
	return func() string {
		p := &corev1.PersistentVolumeClaim{}
		w.Expect(w.get(p, claim)).To(Succeed())
		q := p.Spec.Resources.Requests[corev1.ResourceStorage]
		return q.String()
	}
}
