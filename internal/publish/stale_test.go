package publish

import (
	"context"
	"errors"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestNoPodGoesByAnOldState: an operator that has just started may read a GaleraCluster of a time when it was smaller,
// or hibernated. By that no pod goes, and no volume.
func TestNoPodGoesByAnOldState(t *testing.T) {
	smaller := func(c *v1alpha1.GaleraCluster) { c.Spec.Replicas, c.Status.Replicas = 1, 1 }
	asleep := func(c *v1alpha1.GaleraCluster) {
		c.Spec.Hibernate = true
		c.Status.LastOperation = &v1alpha1.CompletedOperation{Type: string(galera.OpHibernate)}
	}
	for name, tc := range map[string]struct {
		// read is the state that the cache has of a cluster of three nodes that serves, and now whether it is that of the
		// API server.
		read func(*v1alpha1.GaleraCluster)
		now  bool
		// meanwhile happens after the caches were read.
		meanwhile func(w *staleWorld, f *observe.Facts)
		replicas  int32
		gone      bool // volumes go with their pods
	}{
		"grown since":               {read: smaller, replicas: 3},
		"woken since":               {read: asleep, replicas: 3},
		"grown, and the set unseen": {read: smaller, meanwhile: unseen, replicas: 3},
		"the API server is silent":  {read: smaller, now: true, meanwhile: silent, replicas: 3},
		"removed since":             {read: smaller, now: true, meanwhile: removed, replicas: 3},
		"the set was changed since": {read: smaller, now: true, meanwhile: touched, replicas: 3},
		"smaller now":               {read: smaller, now: true, replicas: 1, gone: true},
		"hibernated now":            {read: asleep, now: true, replicas: 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStaleWorld(t)
			w.must(w.pass(w.facts()))
			c := w.cluster()
			tc.read(c)
			if c.ResourceVersion = "1"; tc.now {
				c.ResourceVersion = w.cluster().ResourceVersion
				w.must(w.kube.Update(t.Context(), c))
			}
			f := w.facts()
			f.Cluster = c
			if tc.meanwhile != nil {
				tc.meanwhile(w, &f)
			}
			err := w.pass(f)
			if applied := tc.replicas != 3; applied && err != nil || !applied && err == nil {
				t.Errorf("the pass ends with %v", err)
			}
			if name != "the API server is silent" && err != nil && !apierrors.IsConflict(err) {
				t.Errorf("%v is no conflict, which is tried again at once", err)
			}
			spec := w.set().Spec
			policy := spec.PersistentVolumeClaimRetentionPolicy.WhenScaled
			gone := policy == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
			if *spec.Replicas != tc.replicas || gone != tc.gone {
				t.Errorf("%d pods, volumes without a pod: %s", *spec.Replicas, policy)
			}
		})
	}
}

func unseen(_ *staleWorld, f *observe.Facts) { f.StatefulSet = nil }

func silent(w *staleWorld, _ *observe.Facts) { w.objects.Live = mute{} }

func removed(w *staleWorld, _ *observe.Facts) {
	w.must(w.kube.Delete(w.t.Context(), w.cluster()))
}

func touched(w *staleWorld, _ *observe.Facts) {
	set := w.set()
	set.Labels["by"] = "another"
	w.must(w.kube.Update(w.t.Context(), set))
}

// staleWorld is a cluster of three nodes that deletes the volumes of those that go.
type staleWorld struct {
	t       *testing.T
	kube    client.Client
	objects *apply.Objects
}

func newStaleWorld(t *testing.T) *staleWorld {
	w := &staleWorld{t: t}
	scheme := runtime.NewScheme()
	w.must(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), certmanagerv1.AddToScheme(scheme))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "shop", UID: "one"}}
	c.Spec.Replicas, c.Status.Replicas = 3, 3
	c.Spec.Storage.Size = resource.MustParse("1Gi")
	c.Spec.Storage.PersistentVolumeClaimRetentionPolicy.WhenScaled = v1alpha1.ClaimDelete
	w.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, k client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if o, ok := o.(interface{ GetKind() string }); ok && o.GetKind() == "NetworkPolicy" {
				return nil // the fake cannot merge one
			}
			return k.Apply(ctx, o, opts...)
		},
	}).Build()
	w.objects = &apply.Objects{Client: w.kube, Live: w.kube}
	return w
}

func (w *staleWorld) pass(f observe.Facts) error {
	pub := Publisher{Client: w.kube, Readers: observe.Readers{Cached: w.kube, Live: w.kube}, Objects: w.objects,
		ControlCA: func() ([]byte, error) { return nil, nil }}
	_, refused, err := pub.publish(w.t.Context(), f, nil, time.Now())
	if refused != nil {
		w.t.Errorf("refused: %+v", refused)
	}
	return err
}

func (w *staleWorld) facts() observe.Facts {
	f, err := observe.Readers{Cached: w.kube, Live: w.kube}.Gather(w.t.Context(), w.cluster())
	w.must(err)
	return f
}

func (w *staleWorld) cluster() *v1alpha1.GaleraCluster {
	c := &v1alpha1.GaleraCluster{}
	w.must(w.kube.Get(w.t.Context(), client.ObjectKey{Namespace: "n", Name: "shop"}, c))
	return c
}

func (w *staleWorld) set() *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{}
	name := resources.StatefulSetName(&v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	w.must(w.kube.Get(w.t.Context(), client.ObjectKey{Namespace: "n", Name: name}, set))
	return set
}

func (w *staleWorld) must(errs ...error) {
	w.t.Helper()
	if err := errors.Join(errs...); err != nil {
		w.t.Fatal(err)
	}
}

// mute is an API server that answers no direct question.
type mute struct{ client.Reader }

func (mute) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("it does not answer")
}
