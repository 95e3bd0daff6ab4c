package plugin

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/proxy"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// sidecars are the commands of proxies.
type sidecars struct{ *env }

// sidecar is what is asked for.
type sidecar struct {
	image, agentImage, container string
	maxConnections, maxClients   int32
	metricsPort                  int32
}

// command is kubectl galera proxy sidecar USER.
func (e sidecars) command() *cobra.Command {
	s := sidecar{}
	c := &cobra.Command{
		Use: "sidecar USER", Short: "Print what a pod needs for a proxy of its own, for the account of a GaleraUser",
		Long: "Print what a pod needs for a proxy of its own, for the account of a GaleraUser: init containers, volumes, " +
			"and the mount of the application's container. Nothing is changed.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.connect(); err != nil {
				return err
			}
			return e.print(cmd.Context(), args[0], s)
		},
	}
	c.Flags().StringVar(&s.image, "image", "proxysql/proxysql:2.7.1", "image of ProxySQL, version 2.7 or later")
	c.Flags().StringVar(&s.agentImage, "agent-image", "",
		"image of the operator, which brings the agent (default: that of the cluster's pods)")
	c.Flags().StringVar(&s.container, "container", "app", "name of the application's container")
	c.Flags().Int32Var(&s.maxConnections, "max-connections", 50, "connections of each pod to the primary")
	c.Flags().Int32Var(&s.maxClients, "max-clients", 2048, "connections of the application to its proxy")
	c.Flags().Int32Var(&s.metricsPort, "metrics-port", 0,
		"port of the pod for Prometheus, named galera-metrics (default: none)")
	parent := &cobra.Command{Use: "proxy", Short: "Proxies in the pods of applications"}
	parent.AddCommand(c)
	return parent
}

func (e sidecars) print(ctx context.Context, name string, s sidecar) error {
	u := &v1alpha1.GaleraUser{}
	if err := e.kube.Get(ctx, e.key(name), u); err != nil {
		return err
	}
	if s.maxConnections < 1 || s.maxClients < 1 {
		return errors.New("--max-connections and --max-clients have to be above 0")
	}
	if s.metricsPort < 0 || s.metricsPort > 65535 {
		return errors.New("--metrics-port has to be a port, or 0 for none")
	}
	namespace, clusterName := u.Cluster()
	c := &v1alpha1.GaleraCluster{}
	if err := e.kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: clusterName}, c); err != nil {
		return fmt.Errorf("reading the cluster of the GaleraUser: %w", err)
	}
	if err := sidecarRefusal(u, c); err != nil {
		return err
	}
	if s.agentImage == "" {
		var pods corev1.PodList
		if err := e.kube.List(ctx, &pods, client.InNamespace(namespace),
			client.MatchingLabels(resources.Selector(c))); err != nil {
			return fmt.Errorf("reading the cluster's pods: %w; name the operator's image with --agent-image", err)
		}
		if s.agentImage = agentImage(pods.Items); s.agentImage == "" {
			return errors.New("the cluster has no pod that names the operator's image: name it with --agent-image")
		}
	}
	text, err := sidecarYAML(u, c, s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(e.out, text)
	return err
}

// sidecarRefusal explains why no sidecar can log in for a user.
func sidecarRefusal(u *v1alpha1.GaleraUser, c *v1alpha1.GaleraCluster) error {
	if p := proxy.Proxied(u, nil); !p.True {
		return fmt.Errorf("%s: %s", u.Name, p.Message)
	}
	if c.Spec.TLS.Clients == v1alpha1.TLSDisabled {
		return fmt.Errorf("%s/%s offers clients no TLS (spec.tls.clients: Disabled), and a proxy connects to nodes by TLS "+
			"alone: set it to Required or Preferred", c.Namespace, c.Name)
	}
	return nil
}

// agentImage is the operator's, as the pods of a cluster have it.
func agentImage(pods []corev1.Pod) string {
	for _, p := range pods {
		for _, c := range p.Spec.InitContainers {
			if c.Name == resources.AgentContainer {
				return c.Image
			}
		}
	}
	return ""
}

// podPart is what is added to a pod's spec, and mounting to the application's container.
type podPart struct {
	InitContainers []corev1.Container `json:"initContainers"`
	Containers     []mounting         `json:"containers"`
	Volumes        []corev1.Volume    `json:"volumes"`
}

type mounting struct {
	Name         string               `json:"name"`
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts"`
}

// sidecarYAML is the part of a pod's spec that makes ProxySQL its sidecar. It is pure.
func sidecarYAML(u *v1alpha1.GaleraUser, c *v1alpha1.GaleraCluster, s sidecar) (string, error) {
	host := resources.PrimaryServiceName(c) + "." + c.Namespace + ".svc"
	text, err := yaml.Marshal(podPart{
		InitContainers: []corev1.Container{installer(s), proxySidecar(host, s)},
		Containers: []mounting{{Name: s.container, VolumeMounts: []corev1.VolumeMount{
			{Name: volumeSocket, MountPath: agentapi.SidecarSocketDir}}}},
		Volumes: []corev1.Volume{
			{Name: volumeAgent, VolumeSource: inPod(corev1.StorageMediumDefault, "128Mi")},
			{Name: volumeProxy, VolumeSource: inPod(corev1.StorageMediumMemory, "64Mi")},
			{Name: volumeSocket, VolumeSource: inPod(corev1.StorageMediumMemory, "1Mi")},
			{Name: volumeAccount, VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: u.BindingName()}}},
		},
	})
	return fmt.Sprintf("# A proxy for the account %s in a pod of its application, in the namespace %s.\n"+
		"# Merge it into the pod's spec. The application connects by the socket %s, with the\n"+
		"# account's name and password, and without TLS: ProxySQL has it on the way to the primary.\n%s",
		u.AccountName(), u.Namespace, agentapi.SidecarSocket, text), err
}

const (
	volumeAgent   = "galera-agent"
	volumeProxy   = "galera-proxy"
	volumeSocket  = "galera-socket"
	volumeAccount = "galera-account"
	// sidecarID is the user of the two containers; no image needs an entry for it.
	sidecarID int64 = 999
)

func installer(s sidecar) corev1.Container {
	return corev1.Container{
		Name: "galera-agent", Image: s.agentImage, Command: []string{"/agent", "install", agentapi.BinDir},
		Resources: sidecarResources(), SecurityContext: sidecarSecurity(),
		VolumeMounts: []corev1.VolumeMount{{Name: volumeAgent, MountPath: agentapi.BinDir}},
	}
}

func proxySidecar(host string, s sidecar) corev1.Container {
	check := corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{agentapi.BinDir + "/agent", "sidecar-check"}}}
	out := corev1.Container{
		Name: "galera-proxy", Image: s.image, Command: []string{agentapi.BinDir + "/agent", "sidecar"},
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		Env: []corev1.EnvVar{{Name: agentapi.EnvSidecarHost, Value: host},
			{Name: agentapi.EnvSidecarMaxConnections, Value: strconv.Itoa(int(s.maxConnections))},
			{Name: agentapi.EnvSidecarMaxClients, Value: strconv.Itoa(int(s.maxClients))}},
		// The application starts once the socket is there.
		StartupProbe: &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 3, FailureThreshold: 60, ProbeHandler: check},
		// Twice what the agent takes to replace a ProxySQL that hangs: this is for an agent that does.
		LivenessProbe: &corev1.Probe{PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 6, ProbeHandler: check},
		Resources:     sidecarResources(), SecurityContext: sidecarSecurity(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeAgent, MountPath: agentapi.BinDir, ReadOnly: true},
			{Name: volumeProxy, MountPath: agentapi.ProxyRunDir},
			{Name: volumeSocket, MountPath: agentapi.SidecarSocketDir},
			{Name: volumeAccount, MountPath: agentapi.SidecarBindingDir, ReadOnly: true},
		},
	}
	if s.metricsPort != 0 {
		out.Env = append(out.Env, corev1.EnvVar{Name: agentapi.EnvSidecarMetricsPort,
			Value: strconv.Itoa(int(s.metricsPort))})
		out.Ports = []corev1.ContainerPort{{Name: "galera-metrics", ContainerPort: s.metricsPort,
			Protocol: corev1.ProtocolTCP}}
	}
	return out
}

func sidecarResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")}}
}

// sidecarSecurity is what Pod Security "restricted" asks for.
func sidecarSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(sidecarID), RunAsGroup: new(sidecarID),
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func inPod(medium corev1.StorageMedium, limit string) corev1.VolumeSource {
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium,
		SizeLimit: new(resource.MustParse(limit))}}
}
