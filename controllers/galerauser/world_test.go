package galerauser

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
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

// testServer is an API server with one cluster, and the cluster's database.
type testServer struct {
	*testing.T
	kube   client.WithWatch
	events *events.FakeRecorder
	now    time.Time
	// accounts are those in the database, by name; asked counts the requests about them.
	accounts map[string]agentapi.SQLUser
	asked    int
	// writes counts those of the operator, to the API server and to the database. It is killed at one of them: before it,
	// or after.
	writes, kill int
	after        bool
}

func newWorld(t *testing.T, objects ...client.Object) *testServer {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, cmv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "shop", UID: "cluster"}}
	c.Status.ClusterUUID, c.Status.Primary = "729f74f0-e5ac-11f1-8d21-87263796a788", "shop-0"
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAvailable,
		Status: metav1.ConditionTrue, Reason: "x"})
	ca := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "shop-ca"},
		Data: map[string]string{"ca.crt": "CA"}}
	team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"team": "a"}}}
	w := &testServer{T: t, now: time.Unix(1.8e9, 0), accounts: map[string]agentapi.SQLUser{}}
	w.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, c, ca, team)...).WithStatusSubresource(
		&v1alpha1.GaleraUser{}, &v1alpha1.GaleraCluster{}).Build()
	return w
}

// user is app of the cluster's namespace.
func user(edit func(*v1alpha1.GaleraUser)) *v1alpha1.GaleraUser {
	u := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "app", UID: "user", Generation: 1}}
	u.Spec.ClusterRef, u.Spec.Host, u.Spec.Plugin, u.Spec.Require = v1alpha1.ClusterReference{Name: "shop",
		Namespace: "data"}, "%", v1alpha1.PluginNative, v1alpha1.RequireTLS
	if edit != nil {
		edit(u)
	}
	return u
}

// write carries a write of the operator out, unless that is killed.
func (w *testServer) write(do func() error) error {
	w.writes++
	if w.writes == w.kill && !w.after {
		return errKilled
	}
	err := do()
	if w.writes == w.kill {
		return errKilled
	}
	return err
}

// operator is one that knows only the API server's answers.
func (w *testServer) operator() *Reconciler {
	w.events = events.NewFakeRecorder(100)
	kube := interceptor.NewClient(w.kube, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return w.write(func() error { return c.Create(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			return w.write(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return w.write(func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object,
			opts ...client.SubResourceUpdateOption) error {
			return w.write(func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
	return &Reconciler{Client: kube, ClusterResolver: clusterref.ClusterResolver{Reader: kube, Live: kube, Agents: w},
		Calls: &calls.Calls[observe.Target, agentapi.SQLUser, agentapi.SQLResult]{Do: calls.One(w.keep)}, Events: w.events,
		Now: func() time.Time { return w.now }}
}

// keep is the agent of the primary.
func (w *testServer) keep(_ context.Context, _ observe.Target, u agentapi.SQLUser) (r agentapi.SQLResult, err error) {
	w.asked++
	if err := u.Check(); err != nil {
		w.Error(err)
	}
	have, is := w.accounts[u.Name]
	switch {
	case !u.Present && is && u.Again(have.Owner) && have.Owner != u.Instead:
		r.Reason, r.Owner = agentapi.SQLOwned, have.Owner
	case !u.Present && is && (have.Owner == u.Owner || have.Owner == u.Instead):
		r.Statements, err = 1, w.write(func() error { delete(w.accounts, u.Name); return nil })
	case u.Present && is && have.Owner != u.Owner && have.Owner != u.Instead && !u.Again(have.Owner):
		r.Reason, r.Owner = agentapi.SQLOwned, have.Owner
	case u.Present && (!is || !slices.Equal(have.Accepts, u.Accepts) || have.Subject != u.Subject ||
		have.Issuer != u.Issuer || have.Owner != u.Owner):
		r.Statements, err = 1, w.write(func() error { w.accounts[u.Name] = u; return nil })
	}
	return r, err
}

// Seen and Target are those of the primary's agent, which answers.
func (w *testServer) Seen(types.NamespacedName) map[string]observe.Seen {
	return map[string]observe.Seen{"shop-0": {Live: true,
		Report: agentapi.Report{Server: &agentapi.Server{State: galera.NodeSynced}}}}
}

func (w *testServer) Target(_ types.NamespacedName, pod string) (observe.Target, bool) {
	return observe.Target{Pod: pod}, pod == "shop-0"
}

// settle makes passes until nothing is left to do for a while, or the operator is killed. It returns when the next
// check is due, 0 for never.
func (w *testServer) settle(r *Reconciler, u *v1alpha1.GaleraUser) time.Duration {
	w.Helper()
	for range 30 {
		result, err := r.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(u)})
		if errors.Is(err, errKilled) {
			return 0
		}
		if err != nil {
			w.Fatal(err)
		}
		if result.RequeueAfter == 0 || result.RequeueAfter >= clusterref.WaitInterval {
			return result.RequeueAfter
		}
	}
	w.Fatal("it does not come to rest")
	return 0
}

// condition is one's status and reason.
func (w *testServer) condition(u *v1alpha1.GaleraUser, kind string) string {
	w.Helper()
	have := &v1alpha1.GaleraUser{}
	if err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(u), have); err != nil {
		w.Fatal(err)
	}
	c := meta.FindStatusCondition(have.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

func (w *testServer) secret(namespace, name string) map[string][]byte {
	w.Helper()
	s := &corev1.Secret{}
	if err := w.kube.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, s); client.IgnoreNotFound(
		err) != nil {
		w.Fatal(err)
	}
	return s.Data
}

// opens reports whether the account accepts the password of the binding Secret.
func (w *testServer) opens() bool {
	w.Helper()
	password, account := w.secret("data", "app-binding")["password"], w.accounts["app"]
	kept, err := agentapi.Kept(v1alpha1.PluginNative, string(password), "")
	return err == nil && len(password) > 0 && slices.Contains(account.Accepts, kept)
}

func (w *testServer) hasEvent(reason string) bool {
	for {
		select {
		case event := <-w.events.Events:
			if strings.Contains(event, reason) {
				return true
			}
		default:
			return false
		}
	}
}

func (w *testServer) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *testServer) gone(o client.Object) bool {
	return apierrors.IsNotFound(w.kube.Get(w.Context(), client.ObjectKeyFromObject(o), o))
}
