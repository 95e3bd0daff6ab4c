package resources

import (
	"crypto/sha256"
	"encoding/hex"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	componentArbitrator = "arbitrator"

	// ArbitratorContainer is the container garbd runs in.
	ArbitratorContainer = "garbd"

	// garbd leaves its group within a second.
	arbitratorGraceSeconds int64 = 30
)

// ArbitratorName returns the name of the arbitrator's Deployment and Service.
func ArbitratorName(c *v1alpha1.GaleraCluster) string { return c.Name + "-arbitrator" }

// arbitratorHost returns the DNS name of the arbitrator.
func arbitratorHost(c *v1alpha1.GaleraCluster, opts Options) string {
	return ArbitratorName(c) + "." + c.Namespace + ".svc." + opts.clusterDomain()
}

// ArbitratorSelector returns the labels that select the arbitrator's pod.
func ArbitratorSelector(c *v1alpha1.GaleraCluster) map[string]string {
	return withLabel(Selector(c), labelComponent, componentArbitrator)
}

// voters selects every pod with a vote.
func voters(c *v1alpha1.GaleraCluster) *metav1.LabelSelector {
	return &metav1.LabelSelector{
		MatchLabels: map[string]string{v1alpha1.LabelCluster: c.Name},
		MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: labelComponent, Operator: metav1.LabelSelectorOpIn, Values: []string{componentArbitrator, componentDatabase},
		}},
	}
}

// WithArbitrator names the arbitrator in the document.
func WithArbitrator(c *v1alpha1.GaleraCluster, n agentapi.NodeConfig, opts Options) agentapi.NodeConfig {
	n.Arbitrator = &agentapi.Peer{Name: ArbitratorName(c), Host: arbitratorHost(c, opts)}
	n.Revision = revision(n)
	return n
}

// arbitratorService returns the headless Service that gives the arbitrator its name, also while it is
// not ready.
func arbitratorService(c *v1alpha1.GaleraCluster) *corev1.Service {
	s := newService(c, ArbitratorName(c), ArbitratorSelector(c))
	s.Labels = withLabel(s.Labels, labelComponent, componentArbitrator)
	s.Spec.Type = corev1.ServiceTypeClusterIP
	s.Spec.ClusterIP = corev1.ClusterIPNone
	s.Spec.PublishNotReadyAddresses = true
	for _, p := range arbitratorPorts {
		s.Spec.Ports = append(s.Spec.Ports, servicePort(p))
	}
	return s
}

var arbitratorPorts = []namedPort{{"replication", PortReplication}, {"control", agentapi.ControlPort},
	{"metrics", agentapi.ProbePort}}

// Arbitrator returns the Deployment of garbd. Kubernetes acts on a change of it at once, so it is applied only
// when it is the arbitrator's turn; the old pod goes before the new one comes, so that there are
// not two with a vote.
func Arbitrator(c *v1alpha1.GaleraCluster, opts Options, running bool) *appsv1.Deployment {
	replicas := int32(0)
	if running {
		replicas = 1
	}
	d := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: ownedMeta(c, ArbitratorName(c)),
		Spec: appsv1.DeploymentSpec{
			Replicas:             new(replicas),
			RevisionHistoryLimit: new(int32(1)),
			Strategy:             appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector:             &metav1.LabelSelector{MatchLabels: ArbitratorSelector(c)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      withLabel(Labels(c), labelComponent, componentArbitrator),
					Annotations: map[string]string{v1alpha1.AnnotationArbitratorRevision: ArbitratorRevision(c, opts)},
				},
				Spec: arbitratorPod(c, opts),
			},
		},
	}
	d.Labels = withLabel(d.Labels, labelComponent, componentArbitrator)
	return d
}

// ArbitratorRevision is a hash of the pod template without the image the agent is taken from: a running agent is
// replaced in place.
func ArbitratorRevision(c *v1alpha1.GaleraCluster, opts Options) string {
	opts.OperatorImage = ""
	sum := sha256.Sum256(mustJSON(arbitratorPod(c, opts)))
	return hex.EncodeToString(sum[:8])
}

func arbitratorPod(c *v1alpha1.GaleraCluster, opts Options) corev1.PodSpec {
	scheduling := c.Spec.Arbitrator.DeepCopy().Scheduling
	security := podSecurity(opts)
	security.FSGroupChangePolicy = nil // there is no volume to walk over
	return corev1.PodSpec{
		ServiceAccountName:            ServiceAccountName(c),
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		TerminationGracePeriodSeconds: new(arbitratorGraceSeconds),
		SecurityContext:               security,
		InitContainers:                []corev1.Container{arbitratorInstall(c, opts)},
		Containers:                    []corev1.Container{arbitratorContainer(c, opts)},
		Volumes: []corev1.Volume{
			{Name: volumeBin, VolumeSource: emptyDir(corev1.StorageMediumDefault, "128Mi")},
			{Name: volumeRun, VolumeSource: emptyDir(corev1.StorageMediumMemory, "16Mi")},
			{Name: volumeConfig, VolumeSource: configMapVolume(ConfigMapName(c))},
			{Name: volumeTLS, VolumeSource: secretVolume(TLSSecretName(c), true)},
		},
		ImagePullSecrets:          c.Spec.DeepCopy().ImagePullSecrets,
		NodeSelector:              scheduling.NodeSelector,
		Tolerations:               scheduling.Tolerations,
		PriorityClassName:         scheduling.PriorityClassName,
		Affinity:                  arbitratorAffinity(c),
		TopologySpreadConstraints: selectVoters(c, scheduling.TopologySpreadConstraints),
	}
}

func arbitratorInstall(c *v1alpha1.GaleraCluster, opts Options) corev1.Container {
	install := agentContainer(c, opts)
	install.Resources = arbitratorResources(c)
	return install
}

func arbitratorContainer(c *v1alpha1.GaleraCluster, opts Options) corev1.Container {
	ports := make([]corev1.ContainerPort, 0, len(arbitratorPorts))
	for _, p := range arbitratorPorts {
		ports = append(ports, corev1.ContainerPort{Name: p.name, ContainerPort: p.port, Protocol: corev1.ProtocolTCP})
	}
	return corev1.Container{
		Name:            ArbitratorContainer,
		Image:           Image(c, opts),
		ImagePullPolicy: pullPolicy(c),
		Command:         []string{agentapi.BinDir + "/agent", "arbitrator"},
		Env: []corev1.EnvVar{fromField(agentapi.EnvPodName, "metadata.name"),
			fromField(agentapi.EnvPodNamespace, "metadata.namespace"),
			fromField(agentapi.EnvPodIP, "status.podIP")},
		Ports:           ports,
		ReadinessProbe:  readinessProbe(),
		LivenessProbe:   livenessProbe(),
		Resources:       arbitratorResources(c),
		SecurityContext: containerSecurity(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeBin, MountPath: agentapi.BinDir, ReadOnly: true},
			{Name: volumeRun, MountPath: agentapi.RunDir},
			{Name: volumeConfig, MountPath: agentapi.ConfigDir, ReadOnly: true},
			{Name: volumeTLS, MountPath: agentapi.TLSDir, ReadOnly: true},
		},
	}
}

func arbitratorResources(c *v1alpha1.GaleraCluster) corev1.ResourceRequirements {
	spec := c.Spec.Arbitrator.Resources
	if len(spec.Requests) > 0 || len(spec.Limits) > 0 {
		return *spec.DeepCopy()
	}
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("50m"),
		corev1.ResourceMemory: resource.MustParse("32Mi"),
	}}
}

// arbitratorAffinity prefers a host without a database node: a host that holds two of three votes takes
// the quorum with it.
func arbitratorAffinity(c *v1alpha1.GaleraCluster) *corev1.Affinity {
	if given := c.Spec.Arbitrator.Scheduling.Affinity; given != nil {
		return given.DeepCopy()
	}
	apart := func(weight int32, key string) corev1.WeightedPodAffinityTerm {
		return corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: corev1.PodAffinityTerm{
			TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: Selector(c)},
		}}
	}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			apart(100, corev1.LabelHostname), apart(50, corev1.LabelTopologyZone),
		},
	}}
}

// selectVoters lets constraints without a selector count all members with a vote.
func selectVoters(c *v1alpha1.GaleraCluster,
	constraints []corev1.TopologySpreadConstraint) []corev1.TopologySpreadConstraint {
	for i := range constraints {
		if constraints[i].LabelSelector == nil {
			constraints[i].LabelSelector = voters(c)
		}
	}
	return constraints
}
