package harness

import (
	"context"
	"fmt"
	"net"
	"syscall"
)

// runQuery reports which run of mariadbd answers: Galera gives every one an ID of its own.
const runQuery = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'WSREP_GCOMM_UUID'"

// Servers are the mariadbd of a cluster's pods.
type Servers struct{ cluster *Cluster }

// Servers returns the handle of the cluster's mariadbd.
func (c *Cluster) Servers() Servers { return Servers{c} }

// Kill sends SIGKILL to mariadbd, and to nothing else, in the named pods, all at once.
func (c Servers) Kill(ctx context.Context, names ...string) error {
	var pids []int
	for _, name := range names {
		p, err := c.cluster.Pod(ctx, name)
		if err != nil {
			return err
		}
		found := processes(p, serverProgram)
		if len(found) == 0 {
			return fmt.Errorf("no %s runs in %s", serverProgram, name)
		}
		pids = append(pids, found...)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return fmt.Errorf("killing %d: %w", pid, err)
		}
	}
	return nil
}

// Hang stops a pod's mariadbd where it is (SIGSTOP): it exists, holds its connections, and does not answer.
func (c Servers) Hang(ctx context.Context, pod string) error {
	return c.Signal(ctx, pod, syscall.SIGSTOP)
}

// Signal sends a signal to mariadbd, and to nothing else, in one pod: SIGSTOP makes it one that hangs, SIGCONT ends
// that.
func (c Servers) Signal(ctx context.Context, pod string, signal syscall.Signal) error {
	return signalProgram(ctx, c.cluster, pod, serverProgram, signal)
}

// Runs describes each node which run of mariadbd answers.
func (c Servers) Runs(ctx context.Context) (map[string]string, error) {
	cl, err := c.cluster.Client(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := c.cluster.PodNames(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, pod := range pods {
		id, err := cl.QueryPod(ctx, pod, runQuery)
		if err != nil {
			return nil, err
		}
		out[pod] = id
	}
	return out, nil
}

// ScrapeExporter scrapes the mysqld_exporter alongside a node.
func (c Servers) ScrapeExporter(ctx context.Context, pod string) (Scrape, error) {
	p, err := c.cluster.Pod(ctx, pod)
	if err != nil {
		return Scrape{}, err
	}
	return scrape(ctx, net.JoinHostPort(p.Status.PodIP, "9104"), nil)
}
