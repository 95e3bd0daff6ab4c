package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/test/harness"
)

// renewal is how often the operator renews its lease, with one request.
const renewal = 2 * time.Second

// firstPort is that of the first operator's metrics; its probes and its profiles have the next ones.
const firstPort = 18080

// operator is a running process of the operator.
type operator struct {
	cmd  *exec.Cmd
	port int
}

// writeFiles writes what the operator is started with: a kubeconfig, and its pair for agents.
func writeFiles(dir string, env *envtest.Environment, control pkitest.CA) error {
	user, err := env.AddUser(envtest.User{Name: "operator", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return err
	}
	config, err := user.KubeConfig()
	if err != nil {
		return err
	}
	cert, key := control.Issue(pkitest.Leaf{Names: []string{agentapi.OperatorName},
		NotAfter: time.Now().Add(12 * time.Hour)})
	for name, data := range map[string][]byte{"kubeconfig": config, "tls.crt": cert, "tls.key": key,
		"ca.crt": control.PEM} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// startOperator starts one with a host name of its own, as pods have: it is the holder of the lease.
func (b *bench) startOperator() (*operator, error) {
	b.started++
	o := &operator{port: firstPort + 3*b.started}
	log, err := os.Create(filepath.Join(os.TempDir(), fmt.Sprintf("bench-scale-operator-%d.log", b.started)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	o.cmd = exec.Command("unshare", "--uts", "sh", "-c", `hostname "$0" && exec "$@"`,
		fmt.Sprintf("operator-%d", b.started), b.manager,
		"--leader-elect", "--operator-image=operator:bench", "--agent=", "--operator-namespace="+operatorNamespace,
		"--control-cert-dir="+b.dir, "--metrics-secure=false",
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", o.port), fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d",
			o.port+1),
		fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", o.port+2))
	o.cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(b.dir, "kubeconfig"),
		fmt.Sprintf("MEMORY_LIMIT=%d", b.limit<<20))
	o.cmd.Stdout, o.cmd.Stderr = log, log
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return o, o.cmd.Start()
}

func (o *operator) kill() {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
}

// resident is the most memory the process had so far, in bytes.
func (o *operator) resident() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("process %d has no VmHWM", o.cmd.Process.Pid)
	}
	kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10, err
}

// processors is the processor time used so far, in seconds.
func (o *operator) processors() (float64, error) {
	used, err := harness.ProcessorTime(o.cmd.Process.Pid)
	return used.Seconds(), err
}

func (o *operator) metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/metrics", o.port), nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(resp.Body)
}

// clusters is how many the operator has checked: 0 for one that does not lead.
func (o *operator) clusters(ctx context.Context) (int, error) {
	families, err := o.metrics(ctx)
	return len(families["galera_operator_nodes_wanted"].GetMetric()), err
}

// watching is the beginning of a window.
type watching struct {
	o        *operator
	began    time.Time
	used     float64
	families map[string]*dto.MetricFamily
}

func (o *operator) watch(ctx context.Context) (watching, error) {
	w := watching{o: o}
	var err error
	if w.used, err = o.processors(); err != nil {
		return w, err
	}
	w.families, err = o.metrics(ctx)
	w.began = time.Now()
	return w, err
}

func (w watching) end(ctx context.Context) (window, error) {
	out := window{span: time.Since(w.began)}
	used, err := w.o.processors()
	if err != nil {
		return out, err
	}
	after, err := w.o.metrics(ctx)
	if err != nil {
		return out, err
	}
	out.processors = used - w.used
	out.requests = requests(after) - requests(w.families)
	buckets, passes := passes(w.families, after)
	out.passes, out.p50, out.p99 = passes, quantile(buckets, passes, 0.5), quantile(buckets, passes, 0.99)
	return out, nil
}

// requests are all to the API server, with those for the lease.
func requests(families map[string]*dto.MetricFamily) (n float64) {
	for _, m := range families["rest_client_requests_total"].GetMetric() {
		n += m.GetCounter().GetValue()
	}
	return n
}

// passes of the clusters' controller between two checks, by upper bound.
func passes(before, after map[string]*dto.MetricFamily) (buckets map[float64]float64, count float64) {
	buckets = map[float64]float64{}
	add := func(families map[string]*dto.MetricFamily, sign float64) {
		for _, m := range families["controller_runtime_reconcile_time_seconds"].GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() != "controller" || l.GetValue() != "galeracluster" {
					continue
				}
				for _, b := range m.GetHistogram().GetBucket() {
					buckets[b.GetUpperBound()] += sign * float64(b.GetCumulativeCount())
				}
				count += sign * float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	add(after, 1)
	add(before, -1)
	return buckets, count
}

// quantile interpolates within a bucket, as Prometheus does.
func quantile(buckets map[float64]float64, count, q float64) float64 {
	if count == 0 {
		return math.NaN()
	}
	low, below, high, most := 0.0, 0.0, math.Inf(1), 0.0
	for bound, n := range buckets {
		if n < q*count && bound > low {
			low, below = bound, n
		}
		if n >= q*count && bound < high {
			high, most = bound, n
		}
	}
	if math.IsInf(high, 1) {
		return low
	}
	return low + (high-low)*(q*count-below)/(most-below)
}
