package objects

import (
	"fmt"
	"net"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

const (
	// TunnelContainer is the SSH server's container, and its port's name.
	TunnelContainer = "sshd"
	// VPNContainer is that of WireGuard.
	VPNContainer = "wireguard"
	// tunnelGraceSeconds: nothing is waited for at the end of a run.
	tunnelGraceSeconds = int64(2)
)

// TunnelName is the name of everything that belongs to the SSH server, or that of the VPN, of a Job. Every attempt has
// its own, so that none meets the keys of the one before.
func TunnelName(job string) string { return job + "-tunnel" }

// tunnel is what the two kinds of it differ in.
type tunnel struct {
	container string
	port      int32
	protocol  corev1.Protocol
	// dir is where each end mounts its files.
	dir                      string
	serverFiles, clientFiles []string
}

func tunnelOf(t result.Tunnel) tunnel {
	if t.VPN {
		return tunnel{VPNContainer, transport.WireGuardPort, corev1.ProtocolUDP, transport.WireGuardDir,
			[]string{transport.WireGuardServer}, []string{transport.WireGuardClient}}
	}
	return tunnel{TunnelContainer, transport.SSHPort, corev1.ProtocolTCP, transport.SSHDir,
		[]string{transport.HostKey, transport.AuthorizedKeys}, []string{transport.Identity, transport.KnownHosts}}
}

// UsesTunnel reports whether connections of a cell go through SSH or a VPN.
func UsesTunnel(c experiment.Cell) bool {
	return c.Kind == result.KindConnect && c.Workload != nil && (c.Workload.Connect.Via == v1alpha1.ViaSSHTunnel ||
		usesVPN(c))
}

func usesVPN(c experiment.Cell) bool { return c.Workload.Connect.Via == v1alpha1.ViaWireGuard }

// TunnelFiles makes new keys for both ends of a cell's tunnel.
func TunnelFiles(c experiment.Cell) (map[string][]byte, error) {
	if usesVPN(c) {
		return transport.NewWireGuardFiles()
	}
	return transport.NewSSHFiles()
}

// RouteThrough makes a plan use the tunnel's server of a Job. It leads to the address of the database's pod and not to
// its name, because sshd would look a name up for every connection, one after another.
func RouteThrough(p *result.Plan, b *v1alpha1.GaleraBenchmark, job string, c experiment.Cell, pods []corev1.Pod) error {
	name := target(*p)
	for i := range pods {
		if pod := &pods[i]; pod.Name == name && pod.Status.PodIP != "" {
			t := &result.Tunnel{Target: net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(cluster.Port)),
				Cipher: c.SSHCipher, VPN: usesVPN(c)}
			t.Server = net.JoinHostPort(TunnelName(job)+"."+b.Namespace+".svc", strconv.Itoa(int(tunnelOf(*t).port)))
			p.Connect.Tunnel = t
			return nil
		}
	}
	return fmt.Errorf("the pod %q has no address yet", name)
}

// target is the node connections go to.
func target(p result.Plan) string {
	for _, m := range p.Members {
		if m.Host == p.Hosts[0] {
			return m.Name
		}
	}
	return ""
}

// TunnelSecret returns the Secret with the keys of both ends. It is made once for an attempt, with new keys.
func TunnelSecret(b *v1alpha1.GaleraBenchmark, job string, files map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: owned(b, TunnelName(job)), Type: corev1.SecretTypeOpaque, Data: files,
		Immutable: new(true)}
}

// Tunnel returns the tunnel's server of a Job and what it needs, except for its Secret.
func Tunnel(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster, job string, p result.Plan,
	images Images) []client.Object {
	kind := tunnelOf(*p.Connect.Tunnel)
	objects := []client.Object{tunnelService(b, job, kind), tunnelServer(b, c, job, p, images)}
	if enabled := c.Spec.NetworkPolicy.Enabled; enabled == nil || *enabled {
		objects = append(objects, tunnelPolicy(b, c, job, kind))
	}
	return objects
}

// TunnelParts returns the names of all there may be, to be deleted.
func TunnelParts(b *v1alpha1.GaleraBenchmark, job string) []client.Object {
	meta := metav1.ObjectMeta{Namespace: b.Namespace, Name: TunnelName(job)}
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: meta}, &corev1.Service{ObjectMeta: meta},
		&networkingv1.NetworkPolicy{ObjectMeta: meta}, &corev1.Secret{ObjectMeta: meta},
	}
}

func tunnelSelector(job string) map[string]string {
	return map[string]string{v1alpha1.LabelTunnel: TunnelName(job)}
}

// tunnelService has an address of its own: it is known before the server runs, and then nothing has to be
// asked again.
func tunnelService(b *v1alpha1.GaleraBenchmark, job string, kind tunnel) *corev1.Service {
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: owned(b, TunnelName(job)),
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: tunnelSelector(job),
			Ports: []corev1.ServicePort{{
				Name: kind.container, Port: kind.port, Protocol: kind.protocol, TargetPort: intstr.FromInt32(kind.port)}}},
	}
}

// tunnelServer is a Deployment because the operator needs no right to make pods otherwise. Its pod has the labels
// of the benchmark's clients, too: a policy that admits these admits it.
func tunnelServer(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster, job string, p result.Plan,
	images Images) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: owned(b, TunnelName(job)),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: tunnelSelector(job)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(b, v1alpha1.LabelTunnel, TunnelName(job))},
				Spec:       tunnelPod(b, c, job, p, images),
			},
		},
	}
}

func tunnelPod(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster, job string, p result.Plan,
	images Images) corev1.PodSpec {
	kind, spec := tunnelOf(*p.Connect.Tunnel), p.Connect.Tunnel
	image, command := images.Client, transport.SSHServerCommand(kind.dir, int(kind.port), spec.Target, spec.Cipher)
	if spec.VPN {
		image, command = images.Operator, []string{"/bench-runner", "wireguard", kind.dir, spec.Target}
	}
	volume := tunnelVolume(job, kind.serverFiles...)
	scheduling := c.Spec.DeepCopy().Scheduling
	return corev1.PodSpec{
		ServiceAccountName: RunnerName(b), AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		TerminationGracePeriodSeconds: new(tunnelGraceSeconds),
		SecurityContext:               podSecurity(images), ImagePullSecrets: c.Spec.DeepCopy().ImagePullSecrets,
		NodeSelector: scheduling.NodeSelector, Tolerations: scheduling.Tolerations, Affinity: podAffinity(target(p)),
		Containers: []corev1.Container{{
			Name: kind.container, Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Command: command,
			Ports:           []corev1.ContainerPort{{Name: kind.container, ContainerPort: kind.port, Protocol: kind.protocol}},
			SecurityContext: containerSecurity(), VolumeMounts: []corev1.VolumeMount{{Name: volume.Name, MountPath: kind.dir,
				ReadOnly: true}},
		}},
		Volumes: []corev1.Volume{volume},
	}
}

// tunnelVolume mounts only the files one end needs.
func tunnelVolume(job string, files ...string) corev1.Volume {
	source := &corev1.SecretVolumeSource{SecretName: TunnelName(job), DefaultMode: new(int32(0o440))}
	for _, f := range files {
		source.Items = append(source.Items, corev1.KeyToPath{Key: f, Path: f})
	}
	return corev1.Volume{Name: "tunnel", VolumeSource: corev1.VolumeSource{Secret: source}}
}

// podAffinity prefers the host of a pod: what the tunnel does not encrypt should not leave it.
func podAffinity(pod string) *corev1.Affinity {
	return &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey:   corev1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{podNameLabel: pod}},
			}}},
	}}
}

// podNameLabel is what a StatefulSet puts on its pods.
const podNameLabel = "statefulset.kubernetes.io/pod-name"

// tunnelPolicy lets the benchmark's own pods in, and the server out to the databases.
func tunnelPolicy(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster, job string,
	kind tunnel) *networkingv1.NetworkPolicy {
	to := func(protocol corev1.Protocol, port int32) []networkingv1.NetworkPolicyPort {
		return []networkingv1.NetworkPolicyPort{{Protocol: &protocol, Port: new(intstr.FromInt32(port))}}
	}
	pods := func(labels map[string]string) []networkingv1.NetworkPolicyPeer {
		return []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: labels}}}
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: owned(b, TunnelName(job)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: tunnelSelector(job)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: pods(map[string]string{v1alpha1.LabelBenchmark: b.Name}),
				Ports: to(kind.protocol, kind.port)}},
			Egress: []networkingv1.NetworkPolicyEgressRule{{To: pods(cluster.Selector(c)),
				Ports: to(corev1.ProtocolTCP, cluster.Port)}},
		},
	}
}
