package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/test/harness"
)

// watched is what a cluster's pods have done. The Jobs of a restore are removed as soon as they are done, so that they
// are watched meanwhile.
type watched struct {
	bench   *bench
	cluster string
	start   time.Time
	cancel  context.CancelFunc
	end     sync.WaitGroup

	mu       sync.Mutex
	seen     map[string]bool
	programs map[string]time.Duration // of the Jobs' programs, by pod
}

// watch begins to poll a cluster's pods.
func (b *bench) watch(ctx context.Context, cluster string) *watched {
	ctx, cancel := context.WithCancel(ctx)
	w := &watched{bench: b, cluster: cluster, start: time.Now(), cancel: cancel, seen: map[string]bool{},
		programs: map[string]time.Duration{}}
	w.end.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.poll(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return w
}

// stop returns how long the slowest program of a restore took.
func (w *watched) stop() (slowest time.Duration, err error) {
	w.cancel()
	w.end.Wait()
	for pod, took := range w.programs {
		if strings.Contains(pod, "-restore-") {
			slowest = max(slowest, took)
		}
	}
	if slowest == 0 {
		err = fmt.Errorf("no Job of the restore of %s was seen to end", w.cluster)
	}
	return slowest, err
}

func (w *watched) poll(ctx context.Context) {
	var pods corev1.PodList
	if err := w.bench.kube.List(ctx, &pods, client.InNamespace(w.bench.namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: w.cluster}); err != nil {
		return // the next poll is soon
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range pods.Items {
		p := &pods.Items[i]
		w.once(p.Name, "is there")
		for _, c := range p.Status.Conditions {
			if c.Status == corev1.ConditionTrue {
				w.once(p.Name, string(c.Type))
			}
		}
		for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
			w.container(p.Name, s)
		}
	}
}

func (w *watched) container(pod string, s corev1.ContainerStatus) {
	switch {
	case s.State.Running != nil:
		w.once(pod, s.Name+" runs")
	case s.State.Terminated != nil:
		w.once(pod, s.Name+" has ended")
		var r task.Result
		if json.Unmarshal([]byte(s.State.Terminated.Message), &r) == nil && r.TookSeconds > 0 {
			w.programs[pod] = max(w.programs[pod], time.Duration(r.TookSeconds*float64(time.Second)))
		}
	}
}

// once writes down when something was seen first.
func (w *watched) once(pod, what string) {
	if key := pod + " " + what; !w.seen[key] {
		w.seen[key] = true
		w.bench.kube.Log("  %5.1f s  %s: %s", time.Since(w.start).Seconds(), strings.TrimPrefix(pod, w.cluster+"-"), what)
	}
}

// waitReady waits until a cluster is Ready, and returns how long its slowest program took.
func (w *watched) waitReady(ctx context.Context, c *harness.Cluster) (time.Duration, error) {
	err := c.WaitReady(ctx, patience)
	slowest, missed := w.stop()
	if err != nil {
		return 0, err
	}
	return slowest, missed
}
