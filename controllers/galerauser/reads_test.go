package galerauser

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/clusterref"
)

// countReads counts an operator's reads past the cache.
func (w *testServer) countReads(r *Reconciler) *int {
	n := new(int)
	live := interceptor.NewClient(w.kube, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch,
		key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		*n++
		return c.Get(ctx, key, o, opts...)
	}})
	r.Live, r.ClusterResolver.Live = live, live
	return n
}

// given is a user whose password is a person's.
func givenPassword(namespace string) (*v1alpha1.GaleraUser, *corev1.Secret) {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mine"},
		Data: map[string][]byte{"password": []byte("first-password")}}
	return user(func(u *v1alpha1.GaleraUser) {
		u.Namespace = namespace
		u.Spec.Authentication.PasswordSecretRef = &v1alpha1.PasswordKey{Name: "mine", Key: "password"}
	}), s
}

// TestAnIdleUserReadsOnlyThePersonsSecret: once a user is as it is to be, a pass reads nothing past the cache but the
// Secret that is not cached, and its passes become rarer.
func TestAnIdleUserReadsOnlyThePersonsSecret(t *testing.T) {
	u, s := givenPassword("data")
	w := newWorld(t, u, s)
	r := w.operator()
	reads := w.countReads(r)
	w.settle(r, u)
	*reads = 0
	var pause time.Duration
	for range 4 {
		pause = w.settle(r, u)
	}
	if *reads != 4 || pause != time.Minute {
		t.Errorf("%d reads in four passes, the next one in %s", *reads, pause)
	}
}

// TestStaleSecretsAreNotBelieved: a cache that is behind never brings an old password back.
func TestStaleSecretsAreNotBelieved(t *testing.T) {
	u, s := givenPassword("data")
	w := newWorld(t, u, s)
	r := w.operator()
	w.settle(r, u)
	old := map[string]*corev1.Secret{}
	for _, name := range []string{"app-binding", "app-password"} {
		old[name] = &corev1.Secret{}
		w.must(w.kube.Get(t.Context(), client.ObjectKey{Namespace: "data", Name: name}, old[name]))
	}
	r.Client = interceptor.NewClient(w.kube,
		interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if have, is := o.(*corev1.Secret); is && old[key.Name] != nil {
				old[key.Name].DeepCopyInto(have)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		}})
	s.Data["password"] = []byte("second-password")
	w.must(w.kube.Update(t.Context(), s))
	w.settle(r, u)
	w.now = w.now.Add(2 * time.Hour)
	w.settle(r, u)
	if got := string(w.secret("data", "app-binding")["password"]); got != "second-password" || !w.opens() ||
		len(w.accounts["app"].Accepts) != 1 {
		t.Errorf("the binding has %s, and the account accepts it: %t", got, w.opens())
	}
}

// TestUsersOfAHibernatedCluster: they read nothing past the cache but their namespace's labels, once a minute for all
// of them, and wait for the cluster's change instead of polling.
func TestUsersOfAHibernatedCluster(t *testing.T) {
	u, s := givenPassword("team")
	w := newWorld(t, u, s)
	c := &v1alpha1.GaleraCluster{}
	w.must(w.kube.Get(t.Context(), client.ObjectKey{Namespace: "data", Name: "shop"}, c))
	c.Spec.AllowedNamespaces, c.Spec.Hibernate = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}, true
	w.must(w.kube.Update(t.Context(), c))
	r := w.operator()
	r.Labels = &clusterref.Labels{Now: func() time.Time { return w.now }}
	reads := w.countReads(r)
	for range 100 {
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(u)})
		if err != nil || result.RequeueAfter > 0 && result.RequeueAfter < time.Second {
			continue
		}
		if result.RequeueAfter < clusterref.ResyncPeriod {
			t.Fatalf("it checks again after %s", result.RequeueAfter)
		}
	}
	if *reads != 1 {
		t.Errorf("%d reads in a hundred passes", *reads)
	}
	w.now = w.now.Add(time.Hour)
	w.settle(r, u)
	if *reads != 2 {
		t.Errorf("%d reads an hour later", *reads)
	}
}

// TestAWaitForABusyClusterEnds: what came up while the cluster was busy, such as a new password, is applied when it no
// longer is, though the user was Ready all the time. Others are left alone.
func TestAWaitForABusyClusterEnds(t *testing.T) {
	u, s := givenPassword("data")
	w := newWorld(t, u, s)
	r := w.operator()
	w.settle(r, u)
	c := &v1alpha1.GaleraCluster{}
	w.must(w.kube.Get(t.Context(), client.ObjectKey{Namespace: "data", Name: "shop"}, c))
	woken := func() int { return len(r.byCluster(t.Context(), c)) }
	if woken() != 0 {
		t.Error("a user with nothing to do is woken")
	}
	c.Spec.Hibernate = true
	w.must(w.kube.Update(t.Context(), c))
	s.Data["password"] = []byte("second-password")
	w.must(w.kube.Update(t.Context(), s))
	if again := w.settle(r, u); again < clusterref.ResyncPeriod ||
		w.condition(u, v1alpha1.ConditionReady) != "True Ready" {
		t.Errorf("after %s, %s", again, w.condition(u, v1alpha1.ConditionReady))
	}
	c.Spec.Hibernate = false
	w.must(w.kube.Update(t.Context(), c))
	if woken() != 1 {
		t.Error("nothing wakes the user with a new password")
	}
	w.settle(r, u)
	if got := string(w.secret("data", "app-binding")["password"]); got != "second-password" || woken() != 0 {
		t.Errorf("the binding has %s, and %d are woken", got, woken())
	}
}
