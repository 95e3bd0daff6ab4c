package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Scrape is what one scrape has answered, and how long that took.
type Scrape struct {
	Families map[string]*dto.MetricFamily
	Took     time.Duration
}

// Value returns the value of a series that has at least these labels, as name, value, …; ok is false when there is none.
func (s Scrape) Value(name string, labels ...string) (value float64, ok bool) {
	for _, m := range s.Families[name].GetMetric() {
		have := map[string]string{}
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		fits := true
		for i := 0; i+1 < len(labels); i += 2 {
			fits = fits && have[labels[i]] == labels[i+1]
		}
		if fits {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue() + float64(m.GetHistogram().GetSampleCount()), true
		}
	}
	return 0, false
}

// ScrapeAgent scrapes a node's agent, of parts of it if there are any (collect[]).
func (c *Cluster) ScrapeAgent(ctx context.Context, pod string, parts ...string) (Scrape, error) {
	p, err := c.Pod(ctx, pod)
	if err != nil {
		return Scrape{}, err
	}
	query := url.Values{"collect[]": parts}
	return scrape(ctx, net.JoinHostPort(p.Status.PodIP, strconv.Itoa(agentapi.ProbePort)), query)
}

// ScrapeExporter scrapes the mysqld_exporter beside a node.
func (c *Cluster) ScrapeExporter(ctx context.Context, pod string) (Scrape, error) {
	p, err := c.Pod(ctx, pod)
	if err != nil {
		return Scrape{}, err
	}
	return scrape(ctx, net.JoinHostPort(p.Status.PodIP, "9104"), nil)
}

// ScrapeOperator scrapes the operator that acts.
func (k *Kube) ScrapeOperator(ctx context.Context) (Scrape, error) {
	p, err := k.OperatorPod(ctx)
	if err != nil {
		return Scrape{}, err
	}
	return scrape(ctx, net.JoinHostPort(p.Status.PodIP, operatorMetricsPort), nil)
}

func scrape(ctx context.Context, host string, query url.Values) (s Scrape, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	at := url.URL{Scheme: "http", Host: host, Path: agentapi.PathMetrics, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return s, err
	}
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return s, fmt.Errorf("%s: %s", at.String(), resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	s.Families, err = parser.TextToMetricFamilies(resp.Body)
	s.Took = time.Since(began)
	return s, err
}

// AgentResident is the memory of a node's agent, in bytes.
func (c *Cluster) AgentResident(ctx context.Context, pod string) (int64, error) {
	p, err := c.Pod(ctx, pod)
	if err != nil {
		return 0, err
	}
	pids := processes(p, agentProgram)
	if len(pids) == 0 {
		return 0, fmt.Errorf("no agent runs in %s", pod)
	}
	return residentMemory(pids[0])
}

// SetOperatorArgument adds an argument to the operator's, waits for it, and returns what takes it away again.
func (k *Kube) SetOperatorArgument(ctx context.Context, argument string) (undo func(context.Context) error, err error) {
	d, err := k.operatorDeployment(ctx)
	if err != nil {
		return nil, err
	}
	before := d.Spec.Template.Spec.Containers[0].Args
	set := func(ctx context.Context, args []string) error {
		d, err := k.operatorDeployment(ctx)
		if err != nil {
			return err
		}
		want := d.DeepCopy()
		want.Spec.Template.Spec.Containers[0].Args = args
		if err := k.Patch(ctx, want, client.MergeFrom(d)); err != nil {
			return err
		}
		return k.WaitOperator(ctx, 2*time.Minute)
	}
	undo = func(ctx context.Context) error { return set(ctx, before) }
	return undo, set(ctx, append(append([]string{}, before...), argument))
}

// LogsSince returns what a pod's database container has logged since a moment.
func (c *Cluster) LogsSince(ctx context.Context, pod string, since time.Time) (string, error) {
	return c.Kube.podLogsSince(ctx, c.Namespace, pod, DatabaseContainer, since)
}

// OperatorLog returns what the operator that acts has logged.
func (k *Kube) OperatorLog(ctx context.Context) (string, error) {
	p, err := k.OperatorPod(ctx)
	if err != nil {
		return "", err
	}
	return k.podLogs(ctx, p.Namespace, p.Name, p.Spec.Containers[0].Name, 0, false)
}
