package galeraproxy

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/proxy"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// ask sends each pod its state, and returns what they answer.
func (r *Reconciler) ask(ctx context.Context, p *v1alpha1.GaleraProxy, s *agentapi.ProxyState) ([]proxy.Pod, error) {
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(p.Namespace),
		client.MatchingLabels(resources.ProxySelector(p))); err != nil {
		return nil, err
	}
	out := make([]proxy.Pod, 0, len(pods.Items))
	targets := map[int]observe.Target{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !owned(pod, p.Name) || len(out) == maxPods {
			continue
		}
		running := pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != ""
		if running {
			targets[len(out)] = observe.Target{Pod: pod.Name, UID: pod.UID, Address: pod.Status.PodIP,
				ServerName: resources.ProxyHost(p), CA: s.CA}
		}
		out = append(out, proxy.Pod{Name: pod.Name, Silent: "it is " + string(pod.Status.Phase), Running: running,
			Terminating: pod.DeletionTimestamp != nil})
	}
	var all sync.WaitGroup // one that does not answer delays no other one
	for i, t := range targets {
		all.Go(func() {
			by := calls.By{Cluster: client.ObjectKey{Namespace: p.Namespace, Name: t.Pod}, Object: client.ObjectKeyFromObject(p)}
			report, err := r.Calls.Ask(ctx, by, t, s)
			out[i].Report, out[i].Silent = r.heard(t, report, err)
		})
	}
	all.Wait()
	r.follow(client.ObjectKeyFromObject(p), slices.Collect(maps.Values(targets)))
	r.learn(client.ObjectKeyFromObject(p), out)
	return out, nil
}

// answer is the last one of a pod: its report, or why there is none.
type answer struct {
	report *agentapi.ProxyReport
	silent string
}

// heard returns what is known of a pod after it was asked. An answer that has not arrived yet changes nothing until it
// is late, and from then on says the same each time: conditions are written from it.
func (r *Reconciler) heard(t observe.Target, report agentapi.ProxyReport, err error) (*agentapi.ProxyReport, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, asked := r.answers[t]
	switch {
	case err == nil:
		known = answer{report: &report}
	case !errors.Is(err, calls.ErrPending):
		known = answer{silent: err.Error()}
	case !asked || known.report != nil && !calls.Quiet(err):
		known = answer{silent: calls.ErrPending.Error()}
	}
	if r.answers == nil {
		r.answers = map[observe.Target]answer{}
	}
	r.answers[t] = known
	return known.report, known.silent
}

// learn remembers the newest revision that a pod knows: the next one has to be above it.
func (r *Reconciler) learn(key types.NamespacedName, pods []proxy.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest == nil {
		r.newest = map[types.NamespacedName]int64{}
	}
	for _, pod := range pods {
		if pod.Report != nil {
			r.newest[key] = max(r.newest[key], pod.Report.Known)
		}
	}
}

func (r *Reconciler) known(key types.NamespacedName) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest[key]
}

// owned reports whether a pod is of a Deployment, by its ReplicaSet: no other pod with the labels gets the hashes.
func owned(p *corev1.Pod, deployment string) bool {
	owner := metav1.GetControllerOf(p)
	hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	return owner != nil && owner.Kind == "ReplicaSet" && hash != "" && owner.Name == deployment+"-"+hash
}

// follow remembers the pods that were asked, and ends the connections to those that are gone.
func (r *Reconciler) follow(key types.NamespacedName, targets []observe.Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.asked[key] {
		if !slices.Contains(targets, t) {
			r.Forget(t)
			delete(r.answers, t)
		}
	}
	delete(r.asked, key)
	if targets == nil {
		delete(r.newest, key)
		delete(r.written, key)
	}
	if len(targets) > 0 {
		if r.asked == nil {
			r.asked = map[types.NamespacedName][]observe.Target{}
		}
		r.asked[key] = targets
	}
}
