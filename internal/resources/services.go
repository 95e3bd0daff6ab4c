package resources

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Ports of a database pod, in addition to the agent's.
const (
	PortClients       = 3306
	PortReplication   = 4567
	PortIncremental   = 4568
	PortStateTransfer = 4444
)

// namedPort is a port under the name it has in containers and Services.
type namedPort struct {
	name string
	port int32
}

var podPorts = []namedPort{
	{"mysql", PortClients},
	{"replication", PortReplication},
	{"ist", PortIncremental},
	{"sst", PortStateTransfer},
	{"control", agentapi.ControlPort},
	{"metrics", agentapi.ProbePort},
}

// Service returns the Service that selects every Synced node: those with a passing readiness probe.
func Service(c *v1alpha1.GaleraCluster) *corev1.Service {
	return clientService(c, ServiceName(c), c.Spec.Service, Selector(c))
}

// PrimaryService returns the Service that leads to the one node of that name. Writers that use it never conflict with
// each other's certification. It selects by the label that Kubernetes itself puts on a pod of a StatefulSet, so that
// the primary has its clients again when its pod was made anew and no operator is there.
//
// The name alone decides, and not the readiness: it is that of a node that can write, which the probe would report a
// second or two later, and the operator changes it sooner than the probe would take the node out. Without an operator
// a node that is not ready refuses clients, as a Service without endpoints does.
func PrimaryService(c *v1alpha1.GaleraCluster, primary string) *corev1.Service {
	selector := withLabel(Selector(c), appsv1.StatefulSetPodNameLabel, primary)
	s := clientService(c, PrimaryServiceName(c), c.Spec.PrimaryService, selector)
	s.Spec.PublishNotReadyAddresses = true
	return s
}

// roleNone is the role of no pod.
const roleNone = "none"

// ReadOnlyService returns the Service that leads to every Synced node but the primary. Without replicas that serve it
// leads to every Synced node, which is the primary: so a replica that comes back has clients although no operator is
// there. Where all nodes are behind it leads to none.
func ReadOnlyService(c *v1alpha1.GaleraCluster, roles Roles) *corev1.Service {
	selector := Selector(c)
	switch {
	case roles.Behind:
		selector = withLabel(selector, v1alpha1.LabelRole, roleNone)
	case roles.Replicas:
		selector = withLabel(selector, v1alpha1.LabelRole, v1alpha1.RoleReplica)
	}
	return clientService(c, ReadOnlyServiceName(c), c.Spec.ReadOnlyService.ServiceSpec, selector)
}

// nodesService returns the headless Service that gives every node its DNS name. It publishes nodes
// that are not ready, because a node must be found before it can become ready.
func nodesService(c *v1alpha1.GaleraCluster) *corev1.Service {
	s := newService(c, NodesServiceName(c), Selector(c))
	s.Spec.Type = corev1.ServiceTypeClusterIP
	s.Spec.ClusterIP = corev1.ClusterIPNone
	s.Spec.PublishNotReadyAddresses = true
	// The pods do not list the peer port: a template that did would restart nodes for nothing.
	for _, p := range append(slices.Clone(podPorts), namedPort{"peers", agentapi.PeerPort}) {
		s.Spec.Ports = append(s.Spec.Ports, servicePort(p))
	}
	return s
}

func clientService(c *v1alpha1.GaleraCluster, name string, spec v1alpha1.ServiceSpec,
	selector map[string]string) *corev1.Service {
	s := newService(c, name, selector)
	s.Annotations = maps.Clone(spec.Annotations)
	labels := maps.Clone(spec.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, s.Labels)
	s.Labels = labels
	s.Spec.Type = spec.Type
	if s.Spec.Type == "" {
		s.Spec.Type = corev1.ServiceTypeClusterIP
	}
	// Only a load balancer has these: the API server refuses a class on any other type.
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		s.Spec.LoadBalancerClass = spec.LoadBalancerClass
		s.Spec.LoadBalancerSourceRanges = slices.Clone(spec.LoadBalancerSourceRanges)
	}
	// The API server refuses this one without ports on the hosts.
	if s.Spec.Type != corev1.ServiceTypeClusterIP {
		s.Spec.ExternalTrafficPolicy = spec.ExternalTrafficPolicy
	}
	if spec.InternalTrafficPolicy != "" {
		s.Spec.InternalTrafficPolicy = &spec.InternalTrafficPolicy
	}
	s.Spec.Ports = []corev1.ServicePort{servicePort(podPorts[0])}
	return s
}

func newService(c *v1alpha1.GaleraCluster, name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: ownedMeta(c, name),
		Spec:       corev1.ServiceSpec{Selector: selector},
	}
}

// servicePort names the protocol: it is part of the list's key in a server-side apply.
func servicePort(p namedPort) corev1.ServicePort {
	return corev1.ServicePort{
		Name:       p.name,
		Port:       p.port,
		Protocol:   corev1.ProtocolTCP,
		TargetPort: intstr.FromInt32(p.port),
	}
}
