package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestWaits: what counts is how long this process has waited, for the same pod.
func TestWaits(t *testing.T) {
	key := types.NamespacedName{Name: "shop"}
	f := Facts{Cluster: &v1alpha1.GaleraCluster{}, Pods: map[string]*corev1.Pod{"shop-0": {}, "shop-1": {}}}
	f.Cluster.Name, f.Cluster.Status.Replicas = "shop", 3
	f.Pods["shop-0"].UID, f.Pods["shop-1"].UID = "a", "b"
	now := time.Unix(1_800_000_000, 0)
	var w Waits
	silent := func(after time.Duration, seen map[string]Seen) (lost time.Duration, out [3]time.Duration) {
		now = now.Add(after)
		s := Snapshot(f, seen, agentapi.NodeConfig{}, now)
		w.See(key, &s, f, now)
		recorded := metav1.NewTime(s.NoPrimarySince)
		if f.Cluster.Status.NoPrimarySince = &recorded; s.NoPrimarySince.IsZero() {
			f.Cluster.Status.NoPrimarySince = nil
		}
		for i, m := range s.Members {
			out[i] = m.SilentFor
		}
		return s.NoPrimaryFor, out
	}
	silent(0, nil)
	const s = time.Second
	if lost, got := silent(10*s, map[string]Seen{"shop-1": {Live: true}}); lost != 10*s || got != [3]time.Duration{10 * s,
		0, 10 * s} {
		t.Errorf("one answers: %s %v", lost, got)
	}
	f.Pods["shop-0"].UID = "c"
	if _, got := silent(10*s, nil); got != [3]time.Duration{0, 0, 20 * s} {
		t.Errorf("one has another pod, one begins to be silent: %v", got)
	}
	f.Pods["shop-0"].Status.Phase = corev1.PodPending
	silent(10*s, nil)
	if _, got := silent(10*s, nil); got != [3]time.Duration{10 * s, 20 * s, 40 * s} {
		t.Errorf("a container is being created: %v", got)
	}
	f.Pods["shop-0"].Status.Phase = corev1.PodRunning
	if _, got := silent(10*s, nil); got != [3]time.Duration{0, 30 * s, 50 * s} {
		t.Errorf("it has started: %v", got)
	}
	f.Cluster.Spec.Hibernate = true
	f.Cluster.Status.LastOperation = &v1alpha1.CompletedOperation{Type: string(galera.OpHibernate)}
	silent(time.Hour, nil)
	f.Cluster.Spec.Hibernate = false
	if lost, got := silent(10*s, nil); lost != 0 || got != [3]time.Duration{} {
		t.Errorf("it was hibernated: %s %v", lost, got)
	}
	silent(10*s, nil)
	w.Forget(key)
	if lost, got := silent(10*s, nil); lost != 0 || got != [3]time.Duration{} {
		t.Errorf("it was forgotten: %s %v", lost, got)
	}
}
