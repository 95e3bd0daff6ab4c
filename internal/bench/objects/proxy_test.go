package objects

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

// pooled is a benchmark through one proxy on an arm, its cluster, and the plan of its run.
func pooled(clients v1alpha1.ClientTLS) (*v1alpha1.GaleraBenchmark, *v1alpha1.GaleraCluster, result.Plan) {
	b, c, _ := overSSH()
	w := b.Spec.Workloads[0].Connect
	w.Via, w.Proxy = v1alpha1.ViaPoolingProxy, &v1alpha1.BenchmarkProxy{Image: "proxysql:2"}
	b.Spec.Client.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	c.Spec.TLS.Clients = clients
	run := experiment.Runs(&b.Spec)[0]
	return b, c, Plan(b, c, experiment.StartJob{Wire: run.Wire(1), Run: run}, "cluster.local")
}

// podThrough is the pod of a Job through a proxy, its proxy and its client.
func podThrough(t *testing.T, clients v1alpha1.ClientTLS) (pod corev1.PodSpec, sidecar, client corev1.Container) {
	t.Helper()
	b, c, p := pooled(clients)
	job, err := Job(b, c, result.Run{Index: 1, Attempt: 1}, p, Images{Operator: "operator", Client: "sysbench",
		Proxy: "proxysql:2"})
	if err != nil {
		t.Fatal(err)
	}
	pod = job.Spec.Template.Spec
	return pod, pod.InitContainers[len(pod.InitContainers)-1], pod.Containers[0]
}

func TestProxyAlongsideTheClient(t *testing.T) {
	pod, sidecar, client := podThrough(t, v1alpha1.TLSDisabled)
	if sidecar.Name != ProxyContainer || sidecar.Image != "proxysql:2" || sidecar.RestartPolicy == nil ||
		*sidecar.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Errorf("no container that ends with the client: %+v", sidecar)
	}
	if len(pod.InitContainers) != 2 || len(pod.Containers) != 1 || *pod.TerminationGracePeriodSeconds != 2 {
		t.Errorf("pod: %+v", pod)
	}
	if s := sidecar.SecurityContext; *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !*s.RunAsNonRoot ||
		s.Capabilities.Drop[0] != "ALL" || len(s.Capabilities.Add) != 0 {
		t.Errorf("security: %+v", s)
	}
	if sidecar.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError ||
		!sidecar.Resources.Limits.Cpu().Equal(resource.MustParse("2")) {
		t.Errorf("got %+v", sidecar)
	}
	// The password the client logs in with is nowhere near.
	if len(sidecar.Env) != 0 || !slices.Equal(sidecar.Command[3:],
		transport.ProxyCommand("/run/galera-proxy", "/etc/galera-operator/proxy/proxysql.cnf")) ||
		!slices.Equal(sidecar.Command[:3], []string{"/opt/galera-operator/bench-runner", "sidecar",
			"/run/galera-proxy/usage.sock"}) {
		t.Errorf("got %+v", sidecar)
	}
	paths := func(c corev1.Container) (writable, readOnly []string) {
		for _, m := range c.VolumeMounts {
			if m.ReadOnly {
				readOnly = append(readOnly, m.MountPath)
			} else {
				writable = append(writable, m.MountPath)
			}
		}
		return writable, readOnly
	}
	writable, readOnly := paths(sidecar)
	if !slices.Equal(writable, []string{transport.ProxyDir}) ||
		!slices.Equal(readOnly, []string{transport.ProxyConfigDir, result.ToolsDir}) {
		t.Errorf("the proxy has %v and %v", writable, readOnly)
	}
	if writable, readOnly := paths(client); !slices.Contains(writable, transport.ProxyDir) ||
		slices.Contains(readOnly, transport.ProxyConfigDir) {
		t.Errorf("the client has %v and %v", writable, readOnly)
	}
	for _, v := range pod.Volumes {
		if v.EmptyDir != nil && v.Name == "proxy" && (v.EmptyDir.Medium != corev1.StorageMediumMemory ||
			v.EmptyDir.SizeLimit == nil) {
			t.Errorf("where proxy and client meet: %+v", v.EmptyDir)
		}
	}
	if _, encrypted, _ := podThrough(t, v1alpha1.TLSPreferred); !slices.Contains(
		func() []string { _, r := paths(encrypted); return r }(), result.CADir) {
		t.Error("a proxy that speaks TLS cannot verify the database")
	}
}

func TestProxySecret(t *testing.T) {
	for clients, want := range map[v1alpha1.ClientTLS]string{v1alpha1.TLSDisabled: "use_ssl=0",
		v1alpha1.TLSPreferred: "use_ssl=1", v1alpha1.TLSRequired: "use_ssl=1"} {
		b, c, p := pooled(clients)
		if p.Proxy != "/run/galera-proxy/mysql.sock" || len(p.Hosts) != 1 {
			t.Errorf("plan: %+v", p)
		}
		secret := ProxySecret(b, sshJob, p, `it's "secret"`, "hushhush")
		text := string(secret.Data[transport.ProxyConfigFile])
		if secret.Name != "x-run-001-1-proxy" || !metav1.IsControlledBy(secret, b) || len(secret.Data) != 1 {
			t.Errorf("got %+v", secret.ObjectMeta)
		}
		for _, part := range []string{want, `address="` + p.Hosts[0] + `"`, "port=3306", "max_connections=100,",
			`"admin:hushhush"`, `username="bench_abcdefghij"`} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %s is not in\n%s", clients, part, text)
			}
		}
		if verifies := strings.Contains(text, `ssl_p2s_ca="/etc/galera-operator/ca/ca.crt"`); verifies != (clients != v1alpha1.TLSDisabled) {
			t.Errorf("%s: verifies the database: %t", clients, verifies)
		}
		job, err := Job(b, c, result.Run{Index: 1, Attempt: 1}, p, Images{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := json.Marshal(job)
		if err != nil || strings.Contains(string(all), "hushhush") || strings.Contains(text, "secret") {
			t.Errorf("a password where it need not be: %s, %v", text, err)
		}
	}
}

func TestPartsAreThoseThereMayBe(t *testing.T) {
	b, _, _ := overSSH()
	if parts := Parts(b, sshJob); len(parts) != 4 {
		t.Errorf("of a tunnel: %v", parts)
	}
	b, _, _ = pooled(v1alpha1.TLSRequired)
	if parts := Parts(b, sshJob); len(parts) != 1 || parts[0].GetName() != ProxyName(sshJob) ||
		parts[0].GetNamespace() != "shops" {
		t.Errorf("of a proxy: %v", parts)
	}
	w := b.Spec.Workloads[0].Connect
	w.Via, w.Proxy = v1alpha1.ViaDirect, nil
	if parts := Parts(b, sshJob); len(parts) != 0 || ProxyOf(experiment.Cell{Kind: result.KindOLTP}) != nil {
		t.Errorf("parts of unknown origin: %v", parts)
	}
}

// TestTransactionsThroughAProxy: their run has the proxy, and the preparation of their data has none.
func TestTransactionsThroughAProxy(t *testing.T) {
	b, c, _ := pooled(v1alpha1.TLSRequired)
	w := &v1alpha1.OLTPWorkload{Profile: "ReadWrite", Threads: []int32{256}, Target: "Primary",
		Via: v1alpha1.ViaPoolingProxy, Proxy: &v1alpha1.BenchmarkProxy{Image: "proxysql:2"}}
	b.Spec.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "write", OLTP: w}}
	run := run0(b)
	p := Plan(b, c, experiment.StartJob{Wire: run.Wire(1), Run: run}, "cluster.local")
	text := string(ProxySecret(b, sshJob, p, "secret", "hushhush").Data[transport.ProxyConfigFile])
	if p.Proxy != "/run/galera-proxy/mysql.sock" || p.Service != "" || !strings.Contains(text, "max_connections=256,") ||
		ProxyOf(run.Cell) != w.Proxy || len(Parts(b, sshJob)) != 1 {
		t.Errorf("%+v\n%s", p, text)
	}
	job, err := Job(b, c, result.Run{Index: 1, Attempt: 1}, p, Images{Proxy: "proxysql:2"})
	if err != nil || len(job.Spec.Template.Spec.InitContainers) != 2 {
		t.Errorf("%v, %v", job, err)
	}
	prepare := experiment.StartJob{Wire: result.Run{Kind: result.KindPrepare, Attempt: 1}, Run: run}
	if p := Plan(b, c, prepare, "cluster.local"); p.Proxy != "" || p.Service != "" {
		t.Errorf("the data are written through the proxy: %+v", p)
	}
	w.Via, w.Proxy, w.ProxyRef = v1alpha1.ViaGaleraProxy, nil, &v1alpha1.LocalName{Name: "pool"}
	if p := Plan(b, c, experiment.StartJob{Wire: run.Wire(1), Run: run}, "cluster.local"); p.Proxy != "" ||
		p.Service != "pool.shops.svc" {
		t.Errorf("%+v", p)
	}
	pod := func(proxy, ip string, phase corev1.PodPhase) corev1.Pod {
		labels := map[string]string{v1alpha1.LabelProxy: proxy}
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p" + ip, Labels: labels},
			Status: corev1.PodStatus{PodIP: ip, Phase: phase}}
	}
	pods := ProxyPods([]corev1.Pod{pod("pool", "10.0.0.1", corev1.PodRunning), pod("pool", "10.0.0.2", corev1.PodFailed),
		pod("pool", "", corev1.PodRunning), pod("other", "10.0.0.3", corev1.PodRunning), {}}, "pool")
	if !slices.Equal(pods, []result.Member{{Name: "p10.0.0.1", Host: "10.0.0.1"}}) {
		t.Errorf("got %v", pods)
	}
}
