package harness

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"syscall"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Agents are the agents of a cluster's nodes.
type Agents struct{ cluster *Cluster }

// Agents returns the handle of the agents of the cluster's nodes.
func (c *Cluster) Agents() Agents { return Agents{c} }

// Scrape scrapes a node's agent, of parts of it if there are any (collect[]).
func (c Agents) Scrape(ctx context.Context, pod string, parts ...string) (Scrape, error) {
	p, err := c.cluster.Pod(ctx, pod)
	if err != nil {
		return Scrape{}, err
	}
	query := url.Values{"collect[]": parts}
	return scrape(ctx, net.JoinHostPort(p.Status.PodIP, strconv.Itoa(agentapi.ProbePort)), query)
}

// Resident is the memory of a node's agent, in bytes.
func (c Agents) Resident(ctx context.Context, pod string) (int64, error) {
	p, err := c.cluster.Pod(ctx, pod)
	if err != nil {
		return 0, err
	}
	pids := processes(p, agentProgram)
	if len(pids) == 0 {
		return 0, fmt.Errorf("no agent runs in %s", pod)
	}
	return residentMemory(pids[0])
}

// Signal sends a signal to the agent, and to nothing else, in one pod: one that is stopped does not answer, while its
// mariadbd goes on.
func (c Agents) Signal(ctx context.Context, pod string, signal syscall.Signal) error {
	return signalProgram(ctx, c.cluster, pod, agentProgram, signal)
}
