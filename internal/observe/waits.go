package observe

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// Waits remembers since when this process waits for what it does not see: a Primary component, and the answers of
// agents. Safe for concurrent use; the zero value is ready.
type Waits struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]waits
	// foreign are the times at which each was seen first.
	foreign map[types.NamespacedName]map[string]time.Time
}

type waits struct {
	lost   galera.Loss
	silent map[string]silence // by member
}

type silence struct {
	since time.Time
	pod   types.UID // "" without one
	// creating reports whether its container had yet to be started: the agent's time begins with that.
	creating bool
}

// See adds to a Snapshot how long this process has waited.
func (w *Waits) See(key types.NamespacedName, s *galera.Snapshot, f Facts, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, next := w.clusters[key], waits{silent: map[string]silence{}}
	next.lost = s.SeeLoss(recordedLoss(f.Cluster), last.lost, now)
	for i, m := range s.Members {
		var pod types.UID
		if p := f.Pods[m.Name]; p != nil {
			pod = p.UID
		}
		before, creating := last.silent[m.Name], m.Pod.Creating
		same := before.pod == pod && before.creating == creating
		if since := s.SeeSilence(i, before.since, same, now); !since.IsZero() {
			next.silent[m.Name] = silence{since, pod, creating}
		}
	}
	if w.clusters == nil {
		w.clusters = map[types.NamespacedName]waits{}
	}
	w.clusters[key] = next
}

// Forget releases what is kept for a cluster that is gone.
func (w *Waits) Forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.clusters, key)
	delete(w.foreign, key)
}
