package galeraproxy

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestPodsAreAskedAtOnce: no pod waits for another one to learn of the next primary, and a silent one delays none. One
// that is being deleted is asked as well: it has clients yet.
func TestPodsAreAskedAtOnce(t *testing.T) {
	p := &v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "pool"}}
	p.Spec.ClusterRef.Name = "shop"
	var objects []client.Object
	for i := range 3 {
		labels := resources.ProxySelector(p)
		labels[appsv1.DefaultDeploymentUniqueLabelKey] = "7d4"
		objects = append(objects, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo",
			Name: fmt.Sprint("pool-7d4-", i), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "pool-7d4", Controller: new(true)}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprint("10.0.0.", i)}})
	}
	ending := metav1.Now()
	objects[2].SetDeletionTimestamp(&ending)
	objects[2].SetFinalizers([]string{"example.com/later"})
	kube := fake.NewClientBuilder().WithObjects(objects...).Build()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked, all := 0, make(chan struct{})
		r := &Reconciler{Client: kube, Forget: func(observe.Target) {},
			Calls: &calls.Calls[observe.Target, *agentapi.ProxyState, agentapi.ProxyReport]{
				Do: calls.One(func(ctx context.Context, _ observe.Target, s *agentapi.ProxyState) (agentapi.ProxyReport, error) {
					mu.Lock()
					if asked++; asked == len(objects) {
						close(all)
					}
					mu.Unlock()
					select {
					case <-all:
					case <-ctx.Done():
					}
					return agentapi.ProxyReport{Revision: s.Revision, Known: s.Revision + 5}, nil
				})}}
		pods, err := r.ask(t.Context(), p, &agentapi.ProxyState{Revision: 7})
		if err != nil || len(pods) != len(objects) {
			t.Fatal(pods, err)
		}
		for i, pod := range pods {
			if pod.Report == nil || pod.Name != objects[i].GetName() || !pod.Running || pod.Terminating != (i == 2) {
				t.Errorf("%+v", pod)
			}
		}
		if got := r.known(client.ObjectKeyFromObject(p)); got != 12 {
			t.Errorf("the pods know the revision %d", got)
		}
	})
}
