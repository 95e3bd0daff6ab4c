package galeraproxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

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

// TestALateAnswerSaysTheSameEachTime: conditions are written from what is known of a pod, and the cluster's follow. An
// answer that has not arrived yet is no change, one that is late is one, and a pod that stays away is no further one.
func TestALateAnswerSaysTheSameEachTime(t *testing.T) {
	target := observe.Target{Pod: "pool-7d4-0"}
	pending := func(since int) error {
		if since < 5 {
			return calls.ErrPending
		}
		return fmt.Errorf("%w, %ds after it was asked for", calls.ErrPending, since)
	}
	r := &Reconciler{Forget: func(observe.Target) {}}
	if report, silent := r.heard(target, agentapi.ProxyReport{}, pending(0)); report != nil || silent == "" {
		t.Error("a pod that has never answered", report, silent)
	}
	for _, err := range []error{nil, pending(1), pending(4)} {
		if report, _ := r.heard(target, agentapi.ProxyReport{Revision: 7}, err); report == nil || report.Revision != 7 {
			t.Errorf("%v: %+v", err, report)
		}
	}
	report, late := r.heard(target, agentapi.ProxyReport{}, pending(5))
	if report != nil || late == "" {
		t.Error("a late answer", report, late)
	}
	for _, err := range []error{pending(6), pending(29), pending(0)} {
		if report, silent := r.heard(target, agentapi.ProxyReport{}, err); report != nil || silent != late {
			t.Errorf("%v: %q", err, silent)
		}
	}
	gone := errors.New("dial tcp: i/o timeout")
	for _, err := range []error{gone, pending(0), pending(6), gone} {
		if report, silent := r.heard(target, agentapi.ProxyReport{}, err); report != nil || silent != gone.Error() {
			t.Errorf("%v: %q", err, silent)
		}
	}
	key := client.ObjectKey{Name: "pool"}
	r.follow(key, []observe.Target{target})
	if r.follow(key, nil); len(r.answers) > 0 {
		t.Error("a pod that is gone is remembered")
	}
}

// TestAStepOfAnOperationIsFollowed: which nodes are about to stop changes with it.
func TestAStepOfAnOperationIsFollowed(t *testing.T) {
	cluster := func(op v1alpha1.OperationStatus) *v1alpha1.GaleraCluster {
		return &v1alpha1.GaleraCluster{Status: v1alpha1.GaleraClusterStatus{Operation: &op}}
	}
	before := v1alpha1.OperationStatus{Type: "SwitchTLS", Step: "Rolling", Target: "shop-0"}
	step, kind := before, before
	step.Step, kind.Type = v1alpha1.SwitchRebootstrap, "Hibernate"
	for _, op := range []v1alpha1.OperationStatus{step, kind} {
		if !moves.Update(event.UpdateEvent{ObjectOld: cluster(before), ObjectNew: cluster(op)}) {
			t.Errorf("%+v is not followed", op)
		}
	}
	if moves.Update(event.UpdateEvent{ObjectOld: cluster(before), ObjectNew: cluster(before)}) {
		t.Error("what has not changed is followed")
	}
}

// TestALaggingNodeIsFollowed: it leaves the readers at once.
func TestALaggingNodeIsFollowed(t *testing.T) {
	cluster := func(lagging bool) *v1alpha1.GaleraCluster {
		return &v1alpha1.GaleraCluster{Status: v1alpha1.GaleraClusterStatus{
			Members: []v1alpha1.MemberStatus{{Name: "shop-0", Lagging: lagging}}}}
	}
	if !moves.Update(event.UpdateEvent{ObjectOld: cluster(false), ObjectNew: cluster(true)}) {
		t.Error("a node that begins to lag is not followed")
	}
}
