package harness

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// AgentMetrics reads the metrics of a node's agent, by name with labels, as they are written.
func (c *Cluster) AgentMetrics(ctx context.Context, pod string) (map[string]float64, error) {
	p, err := c.Pod(ctx, pod)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	url := "http://" + net.JoinHostPort(p.Status.PodIP, strconv.Itoa(agentapi.ProbePort)) + agentapi.PathMetrics
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: HTTP %d", url, resp.StatusCode)
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

// Given counts the state transfers of a kind, IST or SST, each node says it has given.
func (c *Cluster) Given(ctx context.Context, kind string) (map[string]int, error) {
	pods, err := c.PodNames(ctx)
	if err != nil {
		return nil, err
	}
	return c.GivenBy(ctx, kind, pods...)
}

// GivenBy is Given of some nodes; the others need not have a pod.
func (c *Cluster) GivenBy(ctx context.Context, kind string, pods ...string) (map[string]int, error) {
	out := map[string]int{}
	for _, pod := range pods {
		m, err := c.AgentMetrics(ctx, pod)
		if err != nil {
			return nil, err
		}
		out[pod] = int(m[fmt.Sprintf("galera_transfers_given_total{kind=%q}", kind)])
	}
	return out, nil
}
