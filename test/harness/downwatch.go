package harness

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// DownWatch follows which pods of a cluster are not ready, change by change.
type DownWatch struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu    sync.Mutex
	ready map[string]bool
	most  int
	worst []string
	order []string
	err   error
}

// readyTime is how long a kubelet may take to see that a node is Synced. It probes once a second, and a
// busy machine makes it late.
const readyTime = 30 * time.Second

// WatchDown begins to follow a cluster that is healthy, as soon as all its pods are ready.
func WatchDown(ctx context.Context, c *Cluster) (*DownWatch, error) {
	d := &DownWatch{}
	err := c.Kube.Until(ctx, "all pods ready", readyTime, func(ctx context.Context) (bool, string, error) {
		pods, err := c.Pods().List(ctx)
		if err != nil {
			return false, "", err
		}
		d.ready = map[string]bool{}
		for _, p := range pods {
			if !PodReady(&p) {
				return false, p.Name + " is not ready", nil
			}
			d.ready[p.Name] = true
		}
		return true, "", nil
	})
	if err != nil {
		return nil, err
	}
	ctx, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	selector := metav1.ListOptions{LabelSelector: v1alpha1.LabelCluster + "=" + c.Name +
		",app.kubernetes.io/component=database"}
	w, err := c.Kube.Clientset.CoreV1().Pods(c.Namespace).Watch(ctx, selector)
	if err != nil {
		d.stop()
		return nil, err
	}
	d.done.Go(func() { d.follow(ctx, w) })
	return d, nil
}

func (d *DownWatch) follow(ctx context.Context, w watch.Interface) {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.ResultChan():
			if !ok {
				d.mu.Lock()
				d.err = fmt.Errorf("the watch on pods ended by itself")
				d.mu.Unlock()
				return
			}
			if p, isPod := e.Object.(*corev1.Pod); isPod {
				d.note(p.Name, e.Type != watch.Deleted && PodReady(p))
			}
		}
	}
}

// note takes over the state of one pod.
func (d *DownWatch) note(name string, ready bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ready[name] && !ready {
		d.order = append(d.order, name)
	}
	d.ready[name] = ready
	var down []string
	for n, r := range d.ready {
		if !r {
			down = append(down, n)
		}
	}
	if len(down) > d.most {
		slices.Sort(down)
		d.most, d.worst = len(down), down
	}
}

// Stop ends the watch. It returns the largest number of pods that were not ready at the same time,
// their names, and all pods in the order in which they became unready.
func (d *DownWatch) Stop() (most int, worst, order []string, err error) {
	d.stop()
	d.done.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.most, d.worst, d.order, d.err
}
