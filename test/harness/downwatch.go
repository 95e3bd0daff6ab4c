package harness

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// DownWatch follows which pods of a cluster are not ready, change by change. A pod whose server answers and goes on, as
// a member that is Synced, counts as ready: a kubelet on a busy machine may probe it too late.
type DownWatch struct {
	stop   context.CancelFunc
	done   sync.WaitGroup
	log    Logf
	synced func(pod string) bool
	// run identifies the run of a pod's server, "" when it does not answer.
	run func(pod string) string

	mu    sync.Mutex
	ready map[string]bool
	runs  map[string]string
	all   []downtime
	count int // of events
	err   error
}

// downtime is one pod's time of not being ready, from one event to another.
type downtime struct {
	pod      string
	from, to int
	// served reports whether its server went on all the time.
	served bool
}

// readyTime is how long a kubelet may take to see that a node is Synced. It probes once a second, and a
// busy machine makes it late.
const readyTime = 30 * time.Second

// WatchDown begins to follow a cluster that is healthy, as soon as all its pods are ready.
func WatchDown(ctx context.Context, c *Cluster) (*DownWatch, error) {
	cl, err := c.Client(ctx)
	if err != nil {
		return nil, err
	}
	d := &DownWatch{log: c.Kube.Log, runs: map[string]string{}}
	err = c.Kube.Until(ctx, "all pods ready", readyTime, func(ctx context.Context) (bool, string, error) {
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
	asking := context.WithoutCancel(ctx)
	d.synced = func(pod string) bool { return cl.NodeState(asking, pod).serves() }
	d.run = func(pod string) string {
		run, _ := cl.QueryPod(asking, pod, runQuery) // one that does not answer has none
		return run
	}
	for pod := range d.ready {
		d.runs[pod] = d.run(pod)
	}
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
	d.count++
	switch was := d.ready[name]; {
	case was && !ready:
		d.all = append(d.all, downtime{pod: name, from: d.count, to: math.MaxInt, served: d.synced(name)})
	case !was && ready:
		d.end(name)
	}
	d.ready[name] = ready
}

// end notes the end of a pod's last downtime, if it had one.
func (d *DownWatch) end(name string) {
	run := d.run(name)
	for i := len(d.all) - 1; i >= 0; i-- {
		t := &d.all[i]
		if t.pod != name || t.to != math.MaxInt {
			continue
		}
		t.to, t.served = d.count, t.served && run != "" && run == d.runs[name]
		if t.served {
			d.log("%s was not ready for a while, and its server went on serving", name)
		}
		break
	}
	d.runs[name] = run
}

// Stop ends the watch. It returns the largest number of pods that were not ready at the same time,
// their names, and all pods in the order in which they became unready.
func (d *DownWatch) Stop() (most int, worst, order []string, err error) {
	d.stop()
	d.done.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	for name, ready := range d.ready {
		if !ready {
			d.end(name)
		}
	}
	most, worst, order = together(d.all)
	return most, worst, order, d.err
}

// together returns the largest number of pods that did not serve at the same time, their names, and all of them in the
// order in which that began.
func together(all []downtime) (most int, worst, order []string) {
	all = slices.DeleteFunc(slices.Clone(all), func(t downtime) bool { return t.served })
	for _, begun := range all {
		order = append(order, begun.pod)
		var down []string
		for _, t := range all {
			if t.from <= begun.from && begun.from < t.to {
				down = append(down, t.pod)
			}
		}
		if len(down) > most {
			slices.Sort(down)
			most, worst = len(down), down
		}
	}
	return most, worst, order
}
