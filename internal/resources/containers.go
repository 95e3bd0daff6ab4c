package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// agentContainer copies the agent to where the database container finds it.
func agentContainer(c *v1alpha1.GaleraCluster, opts Options) corev1.Container {
	return corev1.Container{
		Name:            AgentContainer,
		Image:           opts.OperatorImage,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/agent", "install", agentapi.BinDir},
		Resources:       databaseResources(c),
		SecurityContext: containerSecurity(),
		VolumeMounts:    []corev1.VolumeMount{{Name: volumeBin, MountPath: agentapi.BinDir}},
	}
}

// defaultRequests keep a busy neighbour from starving the server: a pod without a CPU request has the smallest
// weight that the kernel knows, and Galera's thread must run at least every few seconds, or the group evicts it.
var defaultRequests = corev1.ResourceList{
	corev1.ResourceCPU:    resource.MustParse("250m"),
	corev1.ResourceMemory: resource.MustParse("512Mi"),
}

// databaseResources returns spec.resources, with the default request for each resource that it does not mention.
// A limit without a request counts as both, which is Kubernetes' own default. The init container has the same
// resources: a pod counts for the larger of the two, so they cost nothing, and a pod with equal requests and
// limits stays Guaranteed.
func databaseResources(c *v1alpha1.GaleraCluster) corev1.ResourceRequirements {
	r := *c.Spec.Resources.DeepCopy()
	for name, quantity := range defaultRequests {
		_, requested := r.Requests[name]
		_, limited := r.Limits[name]
		if requested || limited {
			continue
		}
		if r.Requests == nil {
			r.Requests = corev1.ResourceList{}
		}
		r.Requests[name] = quantity
	}
	return r
}

// databaseContainer runs mariadbd under the agent. It has no startup probe: a state transfer may take
// any time, and the agent watches its progress.
func databaseContainer(c *v1alpha1.GaleraCluster, opts Options) corev1.Container {
	return corev1.Container{
		Name:            ContainerName,
		Image:           Image(c, opts),
		ImagePullPolicy: pullPolicy(c),
		Command:         []string{agentapi.BinDir + "/agent", "run"},
		Env:             databaseEnv(c),
		Ports:           containerPorts(),
		ReadinessProbe:  readinessProbe(),
		LivenessProbe:   livenessProbe(),
		Resources:       databaseResources(c),
		SecurityContext: containerSecurity(),
		VolumeMounts:    volumeMounts(opts),
	}
}

// WithoutAcceleration hides the AES instructions of the processor from OpenSSL, in every process of the container.
// Which kind of processor that will be is not known: each has a variable of its own. That of ARM names what there is,
// and all of them have the NEON instructions.
func WithoutAcceleration() []corev1.EnvVar {
	return []corev1.EnvVar{{Name: "OPENSSL_ia32cap", Value: "~0x200000200000000"}, {Name: "OPENSSL_armcap", Value: "0x1"}}
}

func databaseEnv(c *v1alpha1.GaleraCluster) []corev1.EnvVar {
	env := []corev1.EnvVar{
		fromField(agentapi.EnvPodName, "metadata.name"),
		fromField(agentapi.EnvPodNamespace, "metadata.namespace"),
		fromField(agentapi.EnvPodIP, "status.podIP"),
		{Name: "MARIADB_HOME", Value: agentapi.RunDir}, // where mariadb in kubectl exec finds socket and CA
	}
	if c.Annotations[v1alpha1.AnnotationCPUAcceleration] == "Off" {
		env = append(env, WithoutAcceleration()...)
	}
	return env
}

// pullPolicy is named in every case: Kubernetes' own default depends on the tag.
func pullPolicy(c *v1alpha1.GaleraCluster) corev1.PullPolicy {
	if c.Spec.ImagePullPolicy == "" {
		return corev1.PullIfNotPresent
	}
	return c.Spec.ImagePullPolicy
}

// readinessProbe is frequent, because Services follow it: a node is out of them two seconds after
// it stopped being Synced, and in them one second after it was. Answering costs the agent a check
// at its memory.
func readinessProbe() *corev1.Probe {
	p := httpProbe(agentapi.PathReady)
	p.PeriodSeconds = 1
	p.TimeoutSeconds = 2
	p.FailureThreshold = 2
	return p
}

// livenessProbe is patient: it asks whether the agent's loop turns, and killing an agent kills the
// database with it.
func livenessProbe() *corev1.Probe {
	p := httpProbe(agentapi.PathLive)
	p.PeriodSeconds = 15
	p.TimeoutSeconds = 5
	p.FailureThreshold = 8
	return p
}

func httpProbe(path string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path,
			Port: intstr.FromInt32(agentapi.ProbePort),
		}},
		SuccessThreshold: 1,
	}
}

// containerPorts names the protocol: it is part of the list's key in a server-side apply.
func containerPorts() []corev1.ContainerPort {
	ports := make([]corev1.ContainerPort, 0, len(podPorts))
	for _, p := range podPorts {
		ports = append(ports, corev1.ContainerPort{Name: p.name, ContainerPort: p.port, Protocol: corev1.ProtocolTCP})
	}
	return ports
}

func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{
		Name:      name,
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}},
	}
}
