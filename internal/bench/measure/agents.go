package measure

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// agents reads what the nodes' agents report every client.
type agents struct {
	members []result.Member
	client  *http.Client
}

// What is asked for: a node's place in its group, and its server's counters without the variables, which are as many
// again.
const (
	placeMetrics  = "?collect[]=galera"
	wantedMetrics = placeMetrics + "&collect[]=global_status"
)

const (
	askTime = 3 * time.Second
	// maxMissed answers in a row make a node one that does not answer; one may be lost to a busy host.
	maxMissed = 3
)

func newAgents(members []result.Member) agents {
	return agents{members: members, client: &http.Client{Timeout: askTime}}
}

// read reads one node's metrics of some kinds.
func (a agents) read(ctx context.Context, m result.Member, kinds string) (result.Sample, error) {
	url := "http://" + net.JoinHostPort(m.Host, strconv.Itoa(cluster.MetricsPort)) + cluster.MetricsPath + kinds
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics of %s: %s", m.Name, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return parseMetrics(string(text)), err
}

// samples reads every node's metrics, side by side. A node that does not answer has none.
func (a agents) samples(ctx context.Context) map[string]result.Sample {
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[string]result.Sample{}
	for _, m := range a.members {
		wg.Go(func() {
			s := a.sample(ctx, m)
			mu.Lock()
			defer mu.Unlock()
			out[m.Name] = s
		})
	}
	wg.Wait()
	return out
}

// sample reads one node's metrics, with a second attempt.
func (a agents) sample(ctx context.Context, m result.Member) result.Sample {
	for range 2 {
		if s, err := a.read(ctx, m, wantedMetrics); err == nil {
			return s
		}
	}
	return nil
}

// labelled are the labels that are an answer, of one metric each: others may have the same label for another purpose.
var labelled = map[string]string{
	"kind": result.MetricJoinSeconds, "donor": "galera_join_info",
	"provider": "galera_agent_info", "server": "galera_agent_info", "model": result.MetricProcessors,
	"flags": result.MetricProcessors, "release": result.MetricKernel, "state": "galera_node_state",
	"member": "galera_component_member",
}

// parseMetrics reads the Prometheus text format. Labels are dropped, except where they are the answer: these become
// names with the value after a colon. What there is of each channel is NAME:CHANNEL.
func parseMetrics(text string) result.Sample {
	out := result.Sample{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			continue
		}
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			continue
		}
		name, labels, _ := strings.Cut(line[:at], "{")
		out[name] = v
		for key, value := range parseLabels(strings.TrimSuffix(labels, "}")) {
			if key == "channel" {
				out[name+":"+value] = v
			}
			if labelled[key] == name {
				out[key+":"+value] = v
			}
		}
	}
	return out
}

// parseLabels reads name="value" pairs.
func parseLabels(text string) map[string]string {
	out := map[string]string{}
	for text != "" {
		name, rest, ok := strings.Cut(text, "=")
		quoted, err := strconv.QuotedPrefix(rest)
		if !ok || err != nil {
			return out
		}
		value, _ := strconv.Unquote(quoted) // QuotedPrefix has checked it
		out[name] = value
		text = strings.TrimPrefix(rest[len(quoted):], ",")
	}
	return out
}

// label returns the value of a label that parseMetrics has kept.
func label(s result.Sample, name string) string {
	for key := range s {
		if value, ok := strings.CutPrefix(key, name+":"); ok {
			return value
		}
	}
	return ""
}
