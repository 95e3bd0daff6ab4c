package galeradatabase

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/clusterref"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
)

var errKilled = errors.New("the operator was killed")

// simulation is a database resource in an API server, and what the cluster's database has.
type simulation struct {
	*testing.T
	kube   client.WithWatch
	d      *v1alpha1.GaleraDatabase
	has    map[string]string // owners of databases
	asked  int
	writes int
	kill   int
	after  bool
}

func newPlay(t *testing.T, edit func(*v1alpha1.GaleraDatabase)) *simulation {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "shop"}}
	c.Spec.AllowedNamespaces = &metav1.LabelSelector{}
	c.Status.ClusterUUID, c.Status.Primary = "729f74f0-e5ac-11f1-8d21-87263796a788", "shop-0"
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAvailable,
		Status: metav1.ConditionTrue, Reason: "x"})
	d := &v1alpha1.GaleraDatabase{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "app", UID: "db", Generation: 1}}
	d.Spec.ClusterRef = v1alpha1.ClusterReference{Name: "shop", Namespace: "data"}
	edit(d)
	p := &simulation{T: t, d: d, has: map[string]string{}}
	p.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(c, d,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}).
		WithStatusSubresource(d, c).Build()
	return p
}

func (p *simulation) write(do func() error) error {
	p.writes++
	if p.writes == p.kill && !p.after {
		return errKilled
	}
	err := do()
	if p.writes == p.kill {
		return errKilled
	}
	return err
}

func (p *simulation) keep(_ context.Context, _ observe.Target, d agentapi.SQLDatabase) (r agentapi.SQLResult,
	err error) {
	p.asked++
	owner, is := p.has[d.Name]
	switch {
	case !d.Present && owner == d.Owner:
		err = p.write(func() error { delete(p.has, d.Name); return nil })
	case d.Present && !is:
		err = p.write(func() error { p.has[d.Name] = d.Owner; return nil })
	}
	return r, err
}

func (p *simulation) Seen(types.NamespacedName) map[string]observe.Seen {
	return map[string]observe.Seen{"shop-0": {Live: true,
		Report: agentapi.Report{Server: &agentapi.Server{State: galera.NodeSynced}}}}
}

func (p *simulation) Target(_ types.NamespacedName, pod string) (observe.Target, bool) {
	return observe.Target{Pod: pod}, true
}

// run has an operator, which knows nothing of an earlier one, make passes until it rests or is killed.
func (p *simulation) run() {
	p.Helper()
	kube := interceptor.NewClient(p.kube, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			return p.write(func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object,
			opts ...client.SubResourceUpdateOption) error {
			return p.write(func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
	r := &Reconciler{Client: kube, ClusterResolver: clusterref.ClusterResolver{Reader: kube, Live: kube, Agents: p},
		Calls:  &calls.Calls[observe.Target, agentapi.SQLDatabase, agentapi.SQLResult]{Do: calls.One(p.keep)},
		Events: events.NewFakeRecorder(100)}
	for range 20 {
		result, err := r.Reconcile(p.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p.d)})
		if errors.Is(err, errKilled) || err == nil &&
			(result.RequeueAfter == 0 || result.RequeueAfter >= clusterref.WaitInterval) {
			return
		}
		if err != nil {
			p.Fatal(err)
		}
	}
	p.Fatal("it does not come to rest")
}

func (p *simulation) reason() string {
	p.Helper()
	have := &v1alpha1.GaleraDatabase{}
	if err := p.kube.Get(p.Context(), client.ObjectKeyFromObject(p.d), have); err != nil {
		p.Fatal(err)
	}
	if c := meta.FindStatusCondition(have.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}

// TestKilledAnywhere: an operator that was killed is followed by one that goes on, and a database that is to go is not
// forgotten.
func TestKilledAnywhere(t *testing.T) {
	for _, policy := range []string{"", v1alpha1.AccountRetain, v1alpha1.AccountDelete} {
		for kill, ended := 1, false; !ended; kill++ {
			for _, after := range []bool{false, true} {
				p := newPlay(t, func(d *v1alpha1.GaleraDatabase) { d.Spec.DeletionPolicy = policy })
				p.kill, p.after = kill, after
				p.run()
				ended = p.writes < kill
				if p.kill = 0; policy == "" {
					p.run()
					if p.has["app"] != "data/app#db" || p.reason() != v1alpha1.ReasonApplied {
						t.Errorf("killed at write %d, after it %t: %v, %s", kill, after, p.has, p.reason())
					}
					continue
				}
				if err := p.kube.Delete(t.Context(), p.d); err != nil {
					t.Fatal(err)
				}
				_, made := p.has["app"]
				p.asked = 0
				p.run()
				_, left := p.has["app"]
				gone := apierrors.IsNotFound(p.kube.Get(t.Context(), client.ObjectKeyFromObject(p.d), p.d))
				if !gone || left != (made && policy == v1alpha1.AccountRetain) || policy == v1alpha1.AccountRetain && p.asked > 0 {
					t.Errorf("%s, killed at write %d, after it %t: gone %t, left %v, asked %d times", policy, kill, after, gone, p.has,
						p.asked)
				}
			}
			if kill > 20 {
				t.Fatal("it writes without end")
			}
		}
	}
}

// TestTenantsAdoptNothing: a database of the cluster's namespace is not given away.
func TestTenantsAdoptNothing(t *testing.T) {
	for namespace, want := range map[string]string{"data": v1alpha1.ReasonApplied,
		"team": v1alpha1.ReasonGrantNotAllowed} {
		p := newPlay(t, func(d *v1alpha1.GaleraDatabase) { d.Namespace, d.Spec.Adopt = namespace, true })
		if p.run(); p.reason() != want || (p.asked > 0) != (namespace == "data") {
			t.Errorf("%s: %s, asked %d times", namespace, p.reason(), p.asked)
		}
	}
}
