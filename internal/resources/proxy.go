package resources

import (
	"slices"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/logs"
)

const (
	// ComponentProxy is the value of the component's label on the pods of proxies.
	ComponentProxy = "proxy"

	proxyContainer = "proxysql"
	// proxyID is the user and the group of the pods; no image needs an entry for it.
	proxyID int64 = 999
	// proxyGraceSeconds is more than a drain takes.
	proxyGraceSeconds int64 = 45

	volumeProxyState = "state"
)

// ProxyStateName returns the name of the Secret with a proxy's state.
func ProxyStateName(p *v1alpha1.GaleraProxy) string { return p.Name + "-proxy" }

// ProxyIssuedName returns the name of a proxy's Certificate, and of the Secret cert-manager writes for it.
func ProxyIssuedName(p *v1alpha1.GaleraProxy) string { return p.Name + "-proxy-issued" }

// ProxyHost returns the DNS name of a proxy's Service.
func ProxyHost(p *v1alpha1.GaleraProxy) string { return p.Name + "." + p.Namespace + ".svc" }

// ProxySelector returns the labels that select a proxy's pods.
func ProxySelector(p *v1alpha1.GaleraProxy) map[string]string {
	return map[string]string{v1alpha1.LabelCluster: p.Spec.ClusterRef.Name, labelComponent: ComponentProxy,
		v1alpha1.LabelProxy: p.Name}
}

// ProxyNames returns an object, with nothing but its kind and name, for each that a proxy has: whether one of another
// owner is in the way is found before any is made.
func ProxyNames(p *v1alpha1.GaleraProxy) []client.Object {
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: p.Namespace, Name: name} }
	return []client.Object{&corev1.Service{ObjectMeta: at(p.Name)}, &appsv1.Deployment{ObjectMeta: at(p.Name)},
		&policyv1.PodDisruptionBudget{ObjectMeta: at(p.Name)}, &networkingv1.NetworkPolicy{ObjectMeta: at(p.Name)},
		&corev1.Secret{ObjectMeta: at(ProxyStateName(p))}, &cmv1.Certificate{ObjectMeta: at(ProxyIssuedName(p))}}
}

// ProxyObjects returns what a proxy consists of, but for its state. made and given are the CAs that are recorded at its
// pods and at its Deployment.
func ProxyObjects(p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster, opts Options, made,
	given string) []client.Object {
	out := []client.Object{proxyService(p, c), proxyCertificate(p, c, opts), proxyBudget(p, c)}
	if policy := proxyPolicy(p, c, opts); policy != nil {
		out = append(out, policy)
	}
	return append(out, proxyDeployment(p, c, opts, made, given))
}

// ProxyState returns the Secret with a proxy's state.
func ProxyState(p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster, state []byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: proxyMeta(p, c, ProxyStateName(p)),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{agentapi.ProxyStateKey: state},
	}
}

func proxyMeta(p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: p.Namespace, Labels: proxyLabels(p, c),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p,
			v1alpha1.GroupVersion.WithKind("GaleraProxy"))}}
}

func proxyLabels(p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster) map[string]string {
	labels := withLabel(Labels(c), labelComponent, ComponentProxy)
	labels[labelInstance] = p.Name
	labels[v1alpha1.LabelProxy] = p.Name
	return labels
}

func proxyService(p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster) *corev1.Service {
	s := clientService(c, p.Name, p.Spec.Service, ProxySelector(p))
	meta := proxyMeta(p, c, p.Name)
	for key, value := range p.Spec.Service.Labels {
		if _, own := meta.Labels[key]; !own {
			meta.Labels[key] = value
		}
	}
	meta.Annotations = s.Annotations
	s.ObjectMeta = meta
	return s
}

// proxyCertificate is for a server alone: Galera takes no such certificate from a peer.
func proxyCertificate(p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster, opts Options) *cmv1.Certificate {
	cert := newCertificate(c, ProxyIssuedName(p))
	cert.ObjectMeta = proxyMeta(p, c, ProxyIssuedName(p))
	cert.Spec.SecretTemplate.Labels = proxyLabels(p, c)
	duration, renewBefore := leafTimes(c)
	host := ProxyHost(p)
	cert.Spec.CommonName = p.Name
	cert.Spec.DNSNames = withNew([]string{host, p.Name, p.Name + "." + p.Namespace, host + "." + opts.clusterDomain(),
		"localhost"}, p.Spec.TLS.DNSNames)
	cert.Spec.Duration = &metav1.Duration{Duration: duration}
	cert.Spec.RenewBefore = &metav1.Duration{Duration: renewBefore}
	cert.Spec.Usages = usages(c.Spec.TLS.Certificate.PrivateKey, cmv1.UsageServerAuth)
	cert.Spec.PrivateKey = privateKey(c.Spec.TLS.Certificate.PrivateKey)
	cert.Spec.IssuerRef = leafIssuer(c)
	return cert
}

func proxyBudget(p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "PodDisruptionBudget"},
		ObjectMeta: proxyMeta(p, c, p.Name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             new(intstr.FromInt32(1)),
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
			Selector:                   &metav1.LabelSelector{MatchLabels: ProxySelector(p)},
		},
	}
}

// proxyPolicy admits the clients that the cluster admits, and the operator.
func proxyPolicy(p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster, opts Options) *networkingv1.NetworkPolicy {
	spec := c.Spec.NetworkPolicy
	if spec.Enabled != nil && !*spec.Enabled {
		return nil
	}
	clients := networkingv1.NetworkPolicyIngressRule{From: slices.Clone(c.Spec.DeepCopy().NetworkPolicy.ClientsFrom),
		Ports: policyPorts(agentapi.ProxyPort)}
	out := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: proxyMeta(p, c, p.Name),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: ProxySelector(p)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{clients, fromOperator(opts, agentapi.ControlPort),
				{Ports: policyPorts(agentapi.ProbePort)}},
		},
	}
	if spec.RestrictEgress {
		out.Spec.PolicyTypes = append(out.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		out.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{toDNS(), {
			To:    []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: Selector(c)}}},
			Ports: policyPorts(PortClients)}}
	}
	return out
}

func proxyDeployment(p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster, opts Options, made,
	given string) *appsv1.Deployment {
	meta := proxyMeta(p, c, p.Name)
	meta.Annotations = map[string]string{v1alpha1.AnnotationTrusts: given}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: new(p.Spec.Replicas), RevisionHistoryLimit: new(int32(1)),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: new(intstr.FromInt32(0)),
					MaxSurge: new(intstr.FromInt32(1))}},
			Selector: &metav1.LabelSelector{MatchLabels: ProxySelector(p)},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: proxyLabels(p, c),
				Annotations: map[string]string{v1alpha1.AnnotationTrusts: made}}, Spec: proxyPod(p, c, opts)},
		},
	}
}

func proxyPod(p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster, opts Options) corev1.PodSpec {
	scheduling := p.Spec.DeepCopy().Scheduling
	security := podSecurity(opts)
	security.FSGroupChangePolicy = nil // there is no volume to walk over
	if !opts.AssignedUsers {
		security.RunAsUser, security.RunAsGroup, security.FSGroup = new(proxyID), new(proxyID), new(proxyID)
	}
	install := agentContainer(c, opts)
	install.Resources = proxyResources(p)
	affinity := scheduling.Affinity
	if affinity == nil {
		affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100,
				PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname,
					LabelSelector: &metav1.LabelSelector{MatchLabels: ProxySelector(p)}}}}}}
	}
	return corev1.PodSpec{
		ServiceAccountName:            ServiceAccountName(c),
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		TerminationGracePeriodSeconds: new(proxyGraceSeconds),
		SecurityContext:               security,
		InitContainers:                []corev1.Container{install},
		Containers:                    []corev1.Container{proxyMain(p, opts)},
		Volumes: []corev1.Volume{
			{Name: volumeBin, VolumeSource: emptyDir(corev1.StorageMediumDefault, "128Mi")},
			{Name: volumeRun, VolumeSource: emptyDir(corev1.StorageMediumMemory, "64Mi")},
			{Name: volumeProxyState, VolumeSource: secretVolume(ProxyStateName(p), false)},
			{Name: volumeTLS, VolumeSource: secretVolume(ProxyIssuedName(p), false)},
		},
		ImagePullSecrets:          c.Spec.DeepCopy().ImagePullSecrets,
		NodeSelector:              scheduling.NodeSelector,
		Tolerations:               scheduling.Tolerations,
		PriorityClassName:         scheduling.PriorityClassName,
		Affinity:                  affinity,
		TopologySpreadConstraints: scheduling.TopologySpreadConstraints,
	}
}

func proxyMain(p *v1alpha1.GaleraProxy, opts Options) corev1.Container {
	port := func(name string, n int32) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: n, Protocol: corev1.ProtocolTCP}
	}
	return corev1.Container{
		Name: proxyContainer, Image: p.Spec.Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{agentapi.BinDir + "/agent", "proxy"},
		Env: []corev1.EnvVar{fromField(agentapi.EnvPodIP, "status.podIP"),
			{Name: logs.EnvFormat, Value: opts.LogFormat}},
		Ports: []corev1.ContainerPort{port("mysql", agentapi.ProxyPort), port("control", agentapi.ControlPort),
			port("metrics", agentapi.ProbePort)},
		ReadinessProbe: readinessProbe(), LivenessProbe: livenessProbe(), Resources: proxyResources(p),
		SecurityContext: containerSecurity(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeBin, MountPath: agentapi.BinDir, ReadOnly: true},
			{Name: volumeRun, MountPath: agentapi.ProxyRunDir},
			{Name: volumeProxyState, MountPath: agentapi.ProxyStateDir, ReadOnly: true},
			{Name: volumeTLS, MountPath: agentapi.ProxyTLSDir, ReadOnly: true},
		},
	}
}

func proxyResources(p *v1alpha1.GaleraProxy) corev1.ResourceRequirements {
	spec := p.Spec.Resources
	if len(spec.Requests) > 0 || len(spec.Limits) > 0 {
		return corev1.ResourceRequirements{Requests: spec.Requests.DeepCopy(), Limits: spec.Limits.DeepCopy()}
	}
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("100m"),
		corev1.ResourceMemory: resource.MustParse("128Mi"),
	}}
}
