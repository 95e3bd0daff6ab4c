package harness

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

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

// metrics reads the metrics of a node's agent, by name with labels, as they are written.
func (c Agents) metrics(ctx context.Context, pod string) (map[string]float64, error) {
	p, err := c.cluster.Pod(ctx, pod)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	at := "http://" + net.JoinHostPort(p.Status.PodIP, strconv.Itoa(agentapi.ProbePort)) + agentapi.PathMetrics
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: HTTP %d", at, resp.StatusCode)
	}
	out := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); ok && err == nil {
			out[name] = n
		}
	}
	return out, lines.Err()
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

// Signal sends a signal to the agent, and to nothing else, in one pod: one that is stopped does not answer, while its mariadbd goes on.
func (c Agents) Signal(ctx context.Context, pod string, signal syscall.Signal) error {
	return signalProgram(ctx, c.cluster, pod, agentProgram, signal)
}
