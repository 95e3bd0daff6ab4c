package objects

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

// overSSH is a benchmark of one tunnel, its cluster of three with a primary, and the database's pods.
func overSSH() (*v1alpha1.GaleraBenchmark, *v1alpha1.GaleraCluster, []corev1.Pod) {
	b := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "shops", UID: "1"}}
	b.Spec.Cluster.Template = &v1alpha1.GaleraClusterSpec{}
	b.Status.Resources = &v1alpha1.BenchmarkResources{Suffix: "abcdefghij"}
	b.Spec.Arms = []v1alpha1.BenchmarkArm{{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Clients: v1alpha1.TLSDisabled}}}
	b.Spec.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "ssh", Connect: &v1alpha1.ConnectWorkload{Threads: []int32{100},
		Via:         v1alpha1.ViaSSHTunnel,
		TLSVersions: []string{"1.3"}, SessionResumption: []string{"Off"}, Latency: []string{"0s"}, Target: "Primary"}}}
	b.Spec.Rounds = 1
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "x-db", Namespace: "shops"}}
	c.Spec.Replicas, c.Status.Primary = 3, "x-db-1"
	c.Spec.TLS.Clients = v1alpha1.TLSDisabled
	c.Spec.Scheduling.Tolerations = []corev1.Toleration{{Key: "databases"}}
	pods := make([]corev1.Pod, 3)
	for i := range pods {
		pods[i].Name, pods[i].Status.PodIP = cluster.PodName(c, i), []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}[i]
	}
	return b, c, pods
}

const sshJob = "x-run-001-1"

func run0(b *v1alpha1.GaleraBenchmark) experiment.Run { return experiment.Runs(&b.Spec)[0] }

func planOverSSH(t *testing.T) (*v1alpha1.GaleraBenchmark, *v1alpha1.GaleraCluster, result.Plan) {
	t.Helper()
	b, c, pods := overSSH()
	run := experiment.Runs(&b.Spec)[0]
	p := Plan(b, c, experiment.StartJob{Wire: run.Wire(1), Run: run}, "cluster.local")
	if err := RouteThrough(&p, b, sshJob, run0(b).Cell, pods); err != nil {
		t.Fatal(err)
	}
	return b, c, p
}

func TestRouteThrough(t *testing.T) {
	b, _, p := planOverSSH(t)
	if want := (result.Tunnel{Server: "x-run-001-1-tunnel.shops.svc:2222", Target: "10.0.0.2:3306",
		Cipher: "chacha20-poly1305@openssh.com"}); *p.Connect.Tunnel != want {
		t.Errorf("got %+v", *p.Connect.Tunnel)
	}
	_, _, pods := overSSH()
	pods[1].Status.PodIP = "fd00::2"
	if err := RouteThrough(&p, b, sshJob, run0(b).Cell, pods); err != nil || p.Connect.Tunnel.Target != "[fd00::2]:3306" {
		t.Errorf("got %+v, %v", p.Connect.Tunnel, err)
	}
	if err := RouteThrough(&p, b, sshJob, run0(b).Cell, pods[:1]); err == nil || !strings.Contains(err.Error(), "x-db-1") {
		t.Errorf("a way to a pod that is not there: %v", err)
	}
}

func TestTunnelsAreFew(t *testing.T) {
	b, _, _ := overSSH()
	if !UsesTunnel(experiment.Cells(&b.Spec)[0]) {
		t.Error("via SSHTunnel is not seen")
	}
	b.Spec.Workloads[0].Connect.Via = v1alpha1.ViaDirect
	if UsesTunnel(experiment.Cells(&b.Spec)[0]) || UsesTunnel(experiment.Cell{Kind: result.KindOLTP}) {
		t.Error("a tunnel that is not asked for")
	}
}

func serverOf(t *testing.T, objects []client.Object) *appsv1.Deployment {
	t.Helper()
	for _, o := range objects {
		if d, is := o.(*appsv1.Deployment); is {
			return d
		}
	}
	t.Fatal("there is no server")
	return nil
}

func TestTunnelServer(t *testing.T) {
	b, c, p := planOverSSH(t)
	objects := Tunnel(b, c, sshJob, p, Images{Client: "client:1"})
	d := serverOf(t, objects)
	pod := d.Spec.Template.Spec
	if *pod.AutomountServiceAccountToken || *pod.EnableServiceLinks || len(pod.InitContainers) != 0 ||
		len(pod.Containers) != 1 {
		t.Errorf("pod: %+v", pod)
	}
	s := pod.SecurityContext
	if *s.RunAsUser != 65532 || !*s.RunAsNonRoot || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
		*s.FSGroup != 65532 {
		t.Errorf("pod security: %+v", s)
	}
	container := pod.Containers[0]
	if s := container.SecurityContext; *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem ||
		s.Capabilities.Drop[0] != "ALL" || len(s.Capabilities.Add) != 0 || s.Privileged != nil {
		t.Errorf("container security: %+v", s)
	}
	if container.Image != "client:1" || !slices.Equal(container.Command, transport.SSHServerCommand(transport.SSHDir,
		transport.SSHPort, "10.0.0.2:3306", v1alpha1.DefaultSSHCipher)) {
		t.Errorf("container: %+v", container)
	}
	if term := pod.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm; term.TopologyKey != corev1.LabelHostname ||
		term.LabelSelector.MatchLabels["statefulset.kubernetes.io/pod-name"] != "x-db-1" {
		t.Errorf("affinity: %+v", term)
	}
	if len(pod.Tolerations) != 1 {
		t.Error("the server cannot go where the database is")
	}
	meta := d.Spec.Template.ObjectMeta
	if meta.Labels[v1alpha1.LabelBenchmark] != "x" || meta.Labels["app.kubernetes.io/component"] != Component {
		t.Errorf("who admits the clients does not admit the server: %v", meta.Labels)
	}
	for _, o := range objects {
		if !metav1.IsControlledBy(o, b) || o.GetName() != "x-run-001-1-tunnel" {
			t.Errorf("%T %s outlives the benchmark", o, o.GetName())
		}
	}
}

// TestTunnelAccess: the Service and the policy are about the server and no other pod of the benchmark or the cluster.
func TestTunnelAccess(t *testing.T) {
	b, c, p := planOverSSH(t)
	objects := Tunnel(b, c, sshJob, p, Images{})
	server := kubelabels.Set(serverOf(t, objects).Spec.Template.Labels)
	job, err := Job(b, c, result.Run{Index: 1, Attempt: 1}, p, Images{})
	if err != nil {
		t.Fatal(err)
	}
	others := []kubelabels.Set{job.Spec.Template.Labels, cluster.Selector(c)}
	policies := 0
	for _, o := range objects {
		var selector map[string]string
		switch o := o.(type) {
		case *corev1.Service:
			selector = o.Spec.Selector
		case *networkingv1.NetworkPolicy:
			policies++
			selector = o.Spec.PodSelector.MatchLabels
			from, to := o.Spec.Ingress[0].From[0].PodSelector.MatchLabels, o.Spec.Egress[0].To[0].PodSelector.MatchLabels
			if !kubelabels.SelectorFromSet(from).Matches(others[0]) || kubelabels.SelectorFromSet(from).Matches(others[1]) ||
				!kubelabels.SelectorFromSet(to).Matches(others[1]) {
				t.Errorf("policy: %+v", o.Spec)
			}
			if o.Spec.Ingress[0].Ports[0].Port.IntValue() != 2222 || o.Spec.Egress[0].Ports[0].Port.IntValue() != 3306 ||
				len(o.Spec.PolicyTypes) != 2 {
				t.Errorf("policy: %+v", o.Spec)
			}
		case *appsv1.Deployment:
			selector = o.Spec.Selector.MatchLabels
		}
		if s := kubelabels.SelectorFromSet(selector); !s.Matches(server) || s.Matches(others[0]) || s.Matches(others[1]) {
			t.Errorf("%T selects %v", o, selector)
		}
	}
	c.Spec.NetworkPolicy.Enabled = new(false)
	if without := Tunnel(b, c, sshJob, p, Images{}); policies != 1 || len(without) != len(objects)-1 {
		t.Errorf("%d policies, and %d objects where none is wanted", policies, len(without))
	}
	if parts := TunnelParts(b, sshJob); len(parts) != len(objects)+1 {
		t.Errorf("%d parts are removed of %d and the Secret", len(parts), len(objects))
	}
}

// TestTunnelKeysStayApart: each end has its own files, and no private key is anywhere but in the Secret.
func TestTunnelKeysStayApart(t *testing.T) {
	b, c, p := planOverSSH(t)
	files, err := transport.NewSSHFiles()
	if err != nil {
		t.Fatal(err)
	}
	secret := TunnelSecret(b, sshJob, files)
	if secret.Name != "x-run-001-1-tunnel" || !metav1.IsControlledBy(secret, b) || len(secret.Data) != 4 {
		t.Errorf("got %+v", secret.ObjectMeta)
	}
	job, err := Job(b, c, result.Run{Index: 1, Attempt: 1}, p, Images{})
	if err != nil {
		t.Fatal(err)
	}
	server := serverOf(t, Tunnel(b, c, sshJob, p, Images{}))
	mounted := func(spec corev1.PodSpec) (files []string) {
		for _, v := range spec.Volumes {
			if v.Secret == nil || v.Secret.SecretName != secret.Name {
				continue
			}
			if *v.Secret.DefaultMode != 0o440 {
				t.Errorf("files of mode %o", *v.Secret.DefaultMode)
			}
			for _, i := range v.Secret.Items {
				files = append(files, i.Path)
			}
		}
		return files
	}
	if got := mounted(job.Spec.Template.Spec); !slices.Equal(got, []string{transport.Identity, transport.KnownHosts}) {
		t.Errorf("the client has %v", got)
	}
	if got := mounted(server.Spec.Template.Spec); !slices.Equal(got,
		[]string{transport.HostKey, transport.AuthorizedKeys}) {
		t.Errorf("the server has %v", got)
	}
	p.Connect.Tunnel = nil
	direct, err := Job(b, c, result.Run{Index: 1, Attempt: 1}, p, Images{})
	if err != nil || mounted(direct.Spec.Template.Spec) != nil {
		t.Errorf("a client without a tunnel has keys, %v", err)
	}
	for _, o := range []any{job, server} {
		text, err := json.Marshal(o)
		if err != nil || strings.Contains(string(text), "PRIVATE KEY") {
			t.Errorf("a key in %T, %v", o, err)
		}
	}
}
