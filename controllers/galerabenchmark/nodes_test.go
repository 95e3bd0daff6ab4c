package galerabenchmark

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// loadedAgents answer that they have loaded a publication, by pod name; others do not answer.
type loadedAgents struct {
	observe.Client
	loaded map[string]string
}

func (l loadedAgents) Status(ctx context.Context, t observe.Target, since int64, _ time.Duration) (agentapi.Report,
	error) {
	publication, is := l.loaded[t.Pod]
	if !is {
		return agentapi.Report{}, errors.New("no answer")
	}
	if since >= 0 {
		<-ctx.Done()
	}
	return agentapi.Report{Name: t.Pod, Generation: 1, TLS: agentapi.TLSReport{Loaded: publication}}, nil
}

func (l loadedAgents) Forget(observe.Target) {}

// nodesOf follows the two nodes of a cluster whose certificate is published, until both have been asked.
func nodesOf(t *testing.T, published *corev1.Secret, loaded map[string]string) (AgentNodes, *v1alpha1.GaleraCluster) {
	t.Helper()
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop"},
		Spec: v1alpha1.GaleraClusterSpec{Replicas: 2}}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	live := fake.NewClientBuilder().WithScheme(scheme)
	if published != nil {
		live = live.WithObjects(published)
	}
	news := make(chan struct{}, 16)
	agents := &observe.Agents{Client: loadedAgents{loaded: loaded},
		Changed: func(types.NamespacedName) { news <- struct{}{} }}
	key := types.NamespacedName{Namespace: "ns", Name: "shop"}
	agents.Follow(key, []observe.Target{{Pod: "shop-0"}, {Pod: "shop-1"}})
	t.Cleanup(func() { agents.Follow(key, nil) })
	for !agents.Asked(key) {
		<-news
	}
	return AgentNodes{Agents: agents, Live: live.Build()}, c
}

// TestNodesTrustClients when the CA of clients is published, and all of them have loaded that.
func TestNodesTrustClients(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop-tls"},
		Data: map[string][]byte{"tls.crt": []byte("crt"), "tls.key": []byte("key"), "ca.crt": []byte("ca"),
			agentapi.ClientCAKey: []byte("clients")}}
	without := secret.DeepCopy()
	delete(without.Data, agentapi.ClientCAKey)
	now, before := observe.Publication(secret), observe.Publication(without)
	for name, tc := range map[string]struct {
		secret *corev1.Secret
		loaded map[string]string
		why    string
	}{
		"all":         {secret, map[string]string{"shop-0": now, "shop-1": now}, ""},
		"one is late": {secret, map[string]string{"shop-0": now, "shop-1": before}, "shop-1 has not loaded it"},
		"one is away": {secret, map[string]string{"shop-1": now}, "shop-0 has not loaded it"},
		"not issued":  {without, map[string]string{"shop-0": before, "shop-1": before}, "cert-manager has not issued it"},
		"nothing yet": {nil, map[string]string{"shop-0": "", "shop-1": ""}, "no certificate has been published"},
	} {
		nodes, c := nodesOf(t, tc.secret, tc.loaded)
		if why, err := nodes.TrustClients(t.Context(), c); err != nil || why != tc.why {
			t.Errorf("%s: %q, %v", name, why, err)
		}
	}
}

// TestOneNodeKeepsTheAccount for all; when none does, all report why.
func TestOneNodeKeepsTheAccount(t *testing.T) {
	nodes, c := nodesOf(t, nil, map[string]string{"shop-0": "", "shop-1": ""})
	var asked []string
	refuse := map[string]bool{"shop-0": true}
	nodes.Calls = KeepOn(func(_ context.Context, to observe.Target, _ agentapi.BenchAccount) error {
		asked = append(asked, to.Pod)
		if refuse[to.Pod] {
			return errors.New("not Primary")
		}
		return nil
	})
	b := types.NamespacedName{Namespace: "demo", Name: "b"}
	if err := nodes.KeepAccount(t.Context(), b, c, agentapi.BenchAccount{}); err != nil ||
		strings.Join(asked, " ") != "shop-0 shop-1" {
		t.Errorf("asked %v, %v", asked, err)
	}
	nodes.EndPass(b)
	refuse["shop-1"] = true
	if err := nodes.KeepAccount(t.Context(), b, c, agentapi.BenchAccount{}); err == nil ||
		err.Error() != "shop-0: not Primary; shop-1: not Primary" {
		t.Errorf("got %v", err)
	}
	nodes.EndPass(b)
	c.Name = "other"
	if err := nodes.KeepAccount(t.Context(), b, c, agentapi.BenchAccount{}); err == nil {
		t.Error("no agent was asked")
	}
}

// TestASilentNodeIsAskedLast: the account is kept by a node whose agent answers, without waiting for one that does not.
func TestASilentNodeIsAskedLast(t *testing.T) {
	nodes, c := nodesOf(t, nil, map[string]string{"shop-1": ""})
	var asked []string
	nodes.Calls = KeepOn(func(_ context.Context, to observe.Target, _ agentapi.BenchAccount) error {
		asked = append(asked, to.Pod)
		return nil
	})
	b := types.NamespacedName{Namespace: "demo", Name: "b"}
	if err := nodes.KeepAccount(t.Context(), b, c, agentapi.BenchAccount{}); err != nil ||
		strings.Join(asked, " ") != "shop-1" {
		t.Errorf("asked %v, %v", asked, err)
	}
}

// TestALateNodeIsWaitedFor: what a node has been asked for is neither asked of another one nor reported meanwhile,
// because each report would begin the pass anew.
func TestALateNodeIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, c := nodesOf(t, nil, map[string]string{"shop-0": "", "shop-1": ""})
		var asked []string
		nodes.Calls = KeepOn(func(ctx context.Context, to observe.Target, _ agentapi.BenchAccount) error {
			asked = append(asked, to.Pod)
			if to.Pod == "shop-1" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		b := types.NamespacedName{Namespace: "demo", Name: "b"}
		for began := time.Now(); time.Since(began) < accountTimeout-calls.Slow; time.Sleep(calls.Slow) {
			if err := nodes.KeepAccount(t.Context(), b, c, agentapi.BenchAccount{}); !calls.Quiet(err) || len(asked) != 1 {
				t.Fatalf("after %s: %v, asked %v", time.Since(began), err, asked)
			}
			nodes.EndPass(b)
		}
		time.Sleep(accountTimeout)
		if err := nodes.KeepAccount(t.Context(), b, c, agentapi.BenchAccount{}); err != nil || len(asked) != 2 {
			t.Errorf("%v, asked %v", err, asked)
		}
	})
}
