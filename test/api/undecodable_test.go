package api

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/undecodable"
)

// TestOneUndecodableObjectStopsNothing: an object that was written under a wider schema is left out of the operator's
// cache, and named; all others are there, and what changes later arrives. The CRD is changed, so that nothing runs in
// parallel with this test.
func TestOneUndecodableObjectStopsNothing(t *testing.T) {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(30 * time.Second)
	const namespace = "default"
	odd, fine, late := types.NamespacedName{Namespace: namespace, Name: "odd"}, databaseOf(namespace, "fine"),
		databaseOf(namespace, "late")
	widen(t, func() {
		spec := map[string]any{"clusterRef": map[string]any{"name": "none"}, "characterSet": int64(5)}
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("GaleraDatabase"))
		o.SetNamespace(odd.Namespace)
		o.SetName(odd.Name)
		g.Eventually(func() error { return kube.Create(t.Context(), o.DeepCopy()) }).Should(Succeed())
		t.Cleanup(func() { must(t, kube.Delete(context.Background(), o)) })
	})
	for _, d := range []*v1alpha1.GaleraDatabase{fine, late} {
		t.Cleanup(func() { must(t, client.IgnoreNotFound(kube.Delete(context.Background(), d))) })
	}
	must(t, kube.Create(t.Context(), fine))
	c := cacheWithout(t)
	names := func() (out []string) {
		var all v1alpha1.GaleraDatabaseList
		must(t, c.List(limited(t), &all))
		for i := range all.Items {
			out = append(out, all.Items[i].Name)
		}
		slices.Sort(out)
		return out
	}
	g.Expect(names()).To(Equal([]string{"fine"}))
	var d v1alpha1.GaleraDatabase
	var bad *undecodable.Error
	g.Expect(errors.As(c.Get(t.Context(), odd, &d), &bad)).To(BeTrue())
	must(t, kube.Create(t.Context(), late))
	g.Eventually(names).Should(Equal([]string{"fine", "late"}))
	stalled := func() string { return conditionsOf(t, odd, v1alpha1.ConditionStalled) }
	g.Eventually(stalled).Should(ContainSubstring("True " + v1alpha1.ReasonUndecodable))
	g.Expect(conditionsOf(t, odd, v1alpha1.ConditionReady)).To(ContainSubstring("characterSet"))

	fixed := &v1alpha1.GaleraDatabase{ObjectMeta: metav1.ObjectMeta{Namespace: odd.Namespace, Name: odd.Name}}
	must(t, kube.Patch(t.Context(), fixed, client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"characterSet":"utf8mb4"}}`))))
	g.Eventually(func() error { return c.Get(t.Context(), odd, &d) }).Should(Succeed())
	g.Eventually(names).Should(Equal([]string{"fine", "late", "odd"}))
}

func databaseOf(namespace, name string) *v1alpha1.GaleraDatabase {
	return &v1alpha1.GaleraDatabase{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.GaleraDatabaseSpec{ClusterRef: v1alpha1.ClusterReference{Name: "none"}}}
}

// cacheWithout starts a manager as the operator's, and returns its client with its cache filled.
func cacheWithout(t *testing.T) client.Client {
	t.Helper()
	bad := &undecodable.Objects{}
	options := cacheOf("default")
	var err error
	options.HTTPClient, err = bad.HTTPClient(config, scheme)
	must(t, err)
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:     options,
		NewClient: bad.NewClient})
	must(t, err)
	must(t, mgr.Add(&undecodable.Reporter{Objects: bad, Live: mgr.GetClient(),
		Events: mgr.GetEventRecorder("galera-operator")}))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(t.Context()) }()
	t.Cleanup(func() {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(90 * time.Second): // one whose cache is never filled does not end
			t.Error("the manager does not end")
		}
	})
	ctx := limited(t)
	_, err = mgr.GetCache().GetInformer(ctx, &v1alpha1.GaleraDatabase{}, cache.BlockUntilSynced(false))
	must(t, err)
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the cache is not filled: one object keeps all others out")
	}
	return mgr.GetClient()
}

// limited is a context that ends: a cache that is not filled would let a reader wait without end.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// widen lets a character set be a number while it runs.
func widen(t *testing.T, during func()) {
	t.Helper()
	s := runtime.NewScheme()
	must(t, apiextensionsv1.AddToScheme(s))
	c, err := client.New(config, client.Options{Scheme: s})
	must(t, err)
	change := func(to apiextensionsv1.JSONSchemaProps) (before apiextensionsv1.JSONSchemaProps) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		must(t, c.Get(t.Context(), types.NamespacedName{Name: "galeradatabases.galera-operator.io"}, crd))
		spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		before, spec.Properties["characterSet"] = spec.Properties["characterSet"], to
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec
		must(t, c.Update(t.Context(), crd))
		return before
	}
	before := change(apiextensionsv1.JSONSchemaProps{XIntOrString: true})
	defer change(before)
	during()
}

func conditionsOf(t *testing.T, key types.NamespacedName, kind string) string {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("GaleraDatabase"))
	must(t, kube.Get(t.Context(), key, o))
	var holder struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &holder))
	if c := meta.FindStatusCondition(holder.Status.Conditions, kind); c != nil {
		return string(c.Status) + " " + c.Reason + ": " + c.Message
	}
	return ""
}
