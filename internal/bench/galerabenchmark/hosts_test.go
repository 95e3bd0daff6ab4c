package galerabenchmark

import (
	"reflect"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// TestTookPart: the nodes, the Job's own pod with its init containers and sidecars, and its SSH server; no other
// Job's, no arbitrator, and nothing that has not started.
func TestTookPart(t *testing.T) {
	pod := func(name, label, value string, containers ...string) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{label: value}},
			Spec: corev1.PodSpec{NodeName: "w"}}
		for i, c := range containers {
			image, st := corev1.Container{Name: c, Image: c + ":1"}, corev1.ContainerStatus{Name: c, ImageID: "sha-" + c}
			if i == 0 {
				p.Spec.Containers, p.Status.ContainerStatuses = append(p.Spec.Containers, image),
					append(p.Status.ContainerStatuses, st)
			} else {
				p.Spec.InitContainers, p.Status.InitContainerStatuses = append(p.Spec.InitContainers, image),
					append(p.Status.InitContainerStatuses, st)
			}
		}
		return p
	}
	starts := pod("db-1", "x", "", "mariadb", "agent")
	starts.Status.ContainerStatuses[0].ImageID = ""
	got := tookPart("job", []corev1.Pod{pod("job-x", batchv1.JobNameLabel, "job", "bench", "runner", "proxy"),
		pod("db-0", "x", "", "mariadb", "agent"), starts,
		pod("ssh", v1alpha1.LabelTunnel, "job-tunnel", "sshd"), pod("old", batchv1.JobNameLabel, "other", "bench"),
		pod("arbitrator", "x", "", "garbd", "agent")})
	want := []result.Pod{
		{Name: "db-0", Host: "w", Images: map[string]string{"mariadb": "mariadb:1 (sha-mariadb)",
			"agent": "agent:1 (sha-agent)"}},
		{Name: "job-x", Host: "w", Images: map[string]string{"bench": "bench:1 (sha-bench)",
			"runner": "runner:1 (sha-runner)", "proxy": "proxy:1 (sha-proxy)"}},
		{Name: "ssh", Host: "w", Images: map[string]string{"sshd": "sshd:1 (sha-sshd)"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

// ran is a run that counts on db-0, db-1 and the client's host.
func ran(zero, one, job string, e result.Environment) result.Record {
	r := recordWith(e)
	r.Pods = []result.Pod{
		{Name: "db-0", Host: zero, Images: map[string]string{"mariadb": "db (1)", "agent": "operator (1)"}},
		{Name: "db-1", Host: one, Images: map[string]string{"mariadb": "db (1)", "agent": "operator (1)"}},
		{Name: "job", Host: job, Images: map[string]string{"bench": "client (1)", "runner": "operator (1)"}},
	}
	return r
}

// TestHosts: what is reported of processors and kernels is that of the nodes' hosts, in all runs that count.
func TestHosts(t *testing.T) {
	big := result.Machine{Kernel: "6.1", CPU: "Big", CPUs: 64, CPUFlags: "aes avx2"}
	small := result.Machine{Kernel: "6.1", CPU: "Small", CPUs: 2, CPUFlags: "aes"}
	laptop := result.Machine{Kernel: "5.4", CPU: "Laptop", CPUs: 4}
	seen := benchmarkFacts{}
	seen.Benchmark = &v1alpha1.GaleraBenchmark{}
	first := ran("w1", "w2", "w3", result.Environment{Machine: laptop, Members: map[string]result.Machine{"db-0": big,
		"db-1": small}})
	e := environment(nil, seen, []result.Record{first})
	want := []v1alpha1.BenchmarkHost{
		{Name: "w1", Pods: []string{"db-0"}, Kernel: "6.1", CPU: "Big", CPUs: 64, CPUFlags: []string{"aes", "avx2"}},
		{Name: "w2", Pods: []string{"db-1"}, Kernel: "6.1", CPU: "Small", CPUs: 2, CPUFlags: []string{"aes"}},
		{Name: "w3", Pods: []string{"client"}, Kernel: "5.4", CPU: "Laptop", CPUs: 4},
	}
	if !reflect.DeepEqual(e.Hosts, want) {
		t.Errorf("got %+v", e)
	}

	// db-1 moves to w1, the client to w2, whose kernel is newer now; an SSH server is on its host.
	newer := small
	newer.Kernel = "6.2"
	moved := ran("w1", "w1", "w2", result.Environment{Machine: newer, Members: map[string]result.Machine{"db-0": big,
		"db-1": big}})
	moved.Pods = append(moved.Pods, result.Pod{Name: "ssh", Host: "w1", Images: map[string]string{"sshd": "client (1)"}},
		result.Pod{Name: "waits", Images: map[string]string{"bench": "x"}})
	unjudged := ran("w9", "w9", "w9", result.Environment{Machine: laptop})
	unjudged.Valid = false
	e = environment(e, seen, []result.Record{first, unjudged, moved})
	want[0].Pods = []string{"db-0", "db-1", "ssh"}
	want = append(want, v1alpha1.BenchmarkHost{Name: "w2", Pods: []string{"client"}, Kernel: "6.2", CPU: "Small", CPUs: 2,
		CPUFlags: []string{"aes"}})
	if !reflect.DeepEqual(e.Hosts, want) {
		t.Errorf("moved: %+v", e)
	}

	old := recordWith(result.Environment{})
	if got := environment(e, seen, []result.Record{old}); !reflect.DeepEqual(got, e) {
		t.Errorf("judged by an operator that noted no pods: %+v", got)
	}
}

// TestUnknownHostsAreReported are reported all the same, until a run knows more.
func TestUnknownHostsAreReported(t *testing.T) {
	known := result.Machine{Kernel: "6.1", CPU: "Big", CPUs: 64}
	for name, runs := range map[string][]result.Machine{"known later": {{}, known}, "known before": {known, {}}} {
		var hosts []host
		for i, m := range runs {
			hosts = withPod(hosts, "w", []string{"a", "b"}[i], m)
		}
		if want := []host{{"w", known, []string{"a", "b"}}}; !reflect.DeepEqual(hosts, want) {
			t.Errorf("%s: %+v", name, hosts)
		}
	}
	e := &v1alpha1.BenchmarkEnvironment{}
	placed(e, []result.Record{ran("w1", "w1", "w1", result.Environment{})})
	if len(e.Hosts) != 1 || len(e.Hosts[0].Pods) != 3 {
		t.Errorf("got %+v", e)
	}
}

// TestImages: every image that ran in a run that counts, once.
func TestImages(t *testing.T) {
	first, second := ran("w", "w", "w", result.Environment{}), ran("w", "w", "w", result.Environment{})
	second.Pods[0].Images["mariadb"] = "db (2)"
	second.Pods[2].Images["proxy"] = "proxy (1)"
	e := &v1alpha1.BenchmarkEnvironment{ClientImages: []string{"before"}}
	pulled(e, []result.Record{first})
	if !slices.Equal(e.DatabaseImages, []string{"db (1)"}) || !slices.Equal(e.ClientImages, []string{"client (1)"}) ||
		!slices.Equal(e.OperatorImages, []string{"operator (1)"}) || e.ProxyImages != nil {
		t.Errorf("got %+v", e)
	}
	pulled(e, []result.Record{first, second})
	if !slices.Equal(e.DatabaseImages, []string{"db (1)", "db (2)"}) || !slices.Equal(e.OperatorImages,
		[]string{"operator (1)"}) || !slices.Equal(e.ProxyImages, []string{"proxy (1)"}) {
		t.Errorf("got %+v", e)
	}
	pulled(e, []result.Record{recordWith(result.Environment{})})
	if !slices.Equal(e.ClientImages, []string{"client (1)"}) {
		t.Errorf("forgotten: %+v", e)
	}
}
