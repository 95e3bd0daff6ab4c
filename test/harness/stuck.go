package harness

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SignalServer sends a signal to mariadbd, and to nothing else, in one pod: SIGSTOP makes it one that hangs, SIGCONT ends that.
func (c *Cluster) SignalServer(ctx context.Context, pod string, signal syscall.Signal) error {
	p, err := c.Pod(ctx, pod)
	if err != nil {
		return err
	}
	n, err := killInPod(p, serverProgram, signal)
	if err == nil && n == 0 {
		err = fmt.Errorf("no %s runs in %s", serverProgram, pod)
	}
	return err
}

// ForceDeletePod takes one pod out of the API at once, and waits until none of its processes runs.
func (c *Cluster) ForceDeletePod(ctx context.Context, name string) error {
	p, err := c.Pod(ctx, name)
	if err != nil {
		return err
	}
	if err := c.Kube.Delete(ctx, p, client.GracePeriodSeconds(0)); err != nil {
		return err
	}
	return c.Kube.Until(ctx, name+" runs no more", time.Minute, func(context.Context) (bool, string, error) {
		left := len(podProcesses(p))
		return left == 0, fmt.Sprintf("%d processes", left), nil
	})
}

// DamageOrderBook writes over what the agent remembers of its orders, also under a running pod.
func (v Volume) DamageOrderBook(ctx context.Context) error {
	_, err := onNode(ctx, v.Node, `[ -e "$1/agent/orders.json" ] && echo '{"highestEpoch": torn' >"$1/agent/orders.json"`, v.Path)
	return err
}

// SignalAgent sends a signal to the agent, and to nothing else, in one pod: one that is stopped does not answer, while its mariadbd goes on.
func (c *Cluster) SignalAgent(ctx context.Context, pod string, signal syscall.Signal) error {
	p, err := c.Pod(ctx, pod)
	if err != nil {
		return err
	}
	n, err := killInPod(p, agentProgram, signal)
	if err == nil && n == 0 {
		err = fmt.Errorf("no %s runs in %s", agentProgram, pod)
	}
	return err
}
