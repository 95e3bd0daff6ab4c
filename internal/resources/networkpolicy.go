package resources

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// OperatorLabel is the value of app.kubernetes.io/name on the operator's pods.
const OperatorLabel = "galera-operator"

// portsOfDNS are the usual one, and the one of OpenShift's DNS pods: policies see the port of the pod.
var portsOfDNS = []int32{53, 5353}

// NetworkPolicy returns who may reach which port, and with restrictEgress what pods may dial, or nil where the spec
// wants none.
func NetworkPolicy(c *v1alpha1.GaleraCluster, opts Options) *networkingv1.NetworkPolicy {
	spec := c.Spec.NetworkPolicy
	if spec.Enabled != nil && !*spec.Enabled {
		return nil
	}
	p := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: ownedMeta(c, networkPolicyName(c)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *voters(c),
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				fromMembers(c),
				fromOperator(opts, agentapi.ControlPort),
				fromBackups(c),
				fromClients(c),
				{Ports: policyPorts(openPorts(c)...)},
			},
		},
	}
	if c.ArchivesBinlog() {
		p.Spec.Ingress = append(p.Spec.Ingress, fromArchiver(c))
	}
	if c.RenewsWriteLease() {
		p.Spec.Ingress = append(p.Spec.Ingress, fromLease(c))
	}
	if spec.RestrictEgress {
		p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		p.Spec.Egress = egress(c)
	}
	return p
}

// egress is what nodes and the arbitrator dial. Agents are asked by the operator, and never dial it. To each other all
// ports are open here: what they listen on is limited for those who reach it.
func egress(c *v1alpha1.GaleraCluster) []networkingv1.NetworkPolicyEgressRule {
	nodes := []networkingv1.NetworkPolicyPeer{{PodSelector: voters(c)}}
	out := []networkingv1.NetworkPolicyEgressRule{toDNS(), {To: nodes}}
	if from := c.Source(); from != nil && !independent(c) {
		for _, h := range from.Hosts() {
			out = append(out, toSource(c, h))
		}
	}
	if to := c.Spec.NetworkPolicy.DeepCopy().EgressTo; len(to) > 0 { // an empty list would be everything
		out = append(out, networkingv1.NetworkPolicyEgressRule{To: to})
	}
	return out
}

// JobsPolicy returns what the Jobs of backups and restores, and the archiver, may dial, or nil where they may dial
// everything: only a person knows the addresses of a store. A Job that copies a cluster has the labels of that cluster,
// which may be in another namespace.
func JobsPolicy(c *v1alpha1.GaleraCluster) *networkingv1.NetworkPolicy {
	spec := c.Spec.NetworkPolicy.DeepCopy()
	if spec.Enabled != nil && !*spec.Enabled || !spec.RestrictEgress || len(spec.JobsEgressTo) == 0 {
		return nil
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: ownedMeta(c, jobsPolicyName(c)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelCluster: c.Name},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: labelComponent, Operator: metav1.LabelSelectorOpIn,
					Values: []string{ComponentArchiver, ComponentBackup, ComponentLease, ComponentLoad, ComponentRestore,
						ComponentSource, ComponentVerify}}}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress: []networkingv1.NetworkPolicyEgressRule{
				toDNS(),
				{To: []networkingv1.NetworkPolicyPeer{{PodSelector: voters(c), NamespaceSelector: &metav1.LabelSelector{}}}},
				{To: spec.JobsEgressTo},
			},
		},
	}
}

// portCopied is where the Job that copies another server reports how far it is.
const portCopied = 8445

// CopyPolicy returns who may reach the Job that copies another server: the operator, which asks how far it is, also
// where another policy denies the namespace all else. It is nil where the spec wants no policies, or copies no server.
func CopyPolicy(c *v1alpha1.GaleraCluster, opts Options) *networkingv1.NetworkPolicy {
	if c.Spec.BootstrapFrom == nil || c.Spec.BootstrapFrom.External == nil {
		return nil
	}
	return ProgressPolicy(c, ownedMeta(c, copyPolicyName(c)), map[string]string{v1alpha1.LabelCluster: c.Name,
		labelComponent: ComponentRestore}, opts)
}

// ProgressPolicy returns the same for pods with some labels, nil where the cluster's spec wants no policies.
func ProgressPolicy(c *v1alpha1.GaleraCluster, meta metav1.ObjectMeta, pods map[string]string,
	opts Options) *networkingv1.NetworkPolicy {
	if on := c.Spec.NetworkPolicy.Enabled; on != nil && !*on {
		return nil
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: meta,
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: pods},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{fromOperator(opts, portCopied)},
		},
	}
}

func independent(c *v1alpha1.GaleraCluster) bool {
	return c.Status.Replication != nil && c.Status.Replication.Role == v1alpha1.RoleIndependent
}

// toSource is a server that the nodes may follow. A policy has no names: with one, its port may be dialled anywhere.
// That of an archive is a pod of this namespace.
func toSource(c *v1alpha1.GaleraCluster, from v1alpha1.ExternalHost) networkingv1.NetworkPolicyEgressRule {
	out := networkingv1.NetworkPolicyEgressRule{Ports: policyPorts(from.Port)}
	if c.Spec.ReplicaOf != nil {
		out.To = []networkingv1.NetworkPolicyPeer{{PodSelector: sourcePod(c)}}
		return out
	}
	if addr, err := netip.ParseAddr(from.Host); err == nil {
		addr = addr.Unmap().WithZone("")
		out.To = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{
			CIDR: netip.PrefixFrom(addr, addr.BitLen()).String()}}}
	}
	return out
}

func toDNS() networkingv1.NetworkPolicyEgressRule {
	dns := networkingv1.NetworkPolicyEgressRule{Ports: policyPorts(portsOfDNS...)}
	for _, p := range policyPorts(portsOfDNS...) {
		p.Protocol = new(corev1.ProtocolUDP)
		dns.Ports = append(dns.Ports, p)
	}
	return dns
}

// openPorts are for kubelet and Prometheus: probes and metrics, nothing secret.
func openPorts(c *v1alpha1.GaleraCluster) []int32 {
	ports := []int32{agentapi.ProbePort}
	if Exporter(c) != nil {
		ports = append(ports, PortExporter)
	}
	return ports
}

// fromMembers includes the arbitrator, which is one, and the clients' port, because members prove to each other what it
// speaks. Their agents ask each other on the peer port.
func fromMembers(c *v1alpha1.GaleraCluster) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		From:  []networkingv1.NetworkPolicyPeer{{PodSelector: voters(c)}},
		Ports: policyPorts(PortReplication, PortIncremental, PortStateTransfer, PortClients, agentapi.PeerPort),
	}
}

func fromOperator(opts Options, port int32) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				corev1.LabelMetadataName: opts.OperatorNamespace,
			}},
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{labelName: OperatorLabel}},
		}},
		Ports: policyPorts(port),
	}
}

const (
	// ComponentVerify is the value of the component's label on the pods that test a backup.
	ComponentVerify = "verify"
	// ComponentRestore is that of the pods that fill volumes.
	ComponentRestore = "restore"
	// ComponentLoad is that of the pods that load tables of a backup into the cluster.
	ComponentLoad = "load"
)

// ComponentBackup is the value of the component's label on the pods of a cluster's backups.
const ComponentBackup = "backup"

// fromBackups admits the Jobs that take backups of this cluster, those of its clones too; the agent admits one key of
// them.
func fromBackups(c *v1alpha1.GaleraCluster) networkingv1.NetworkPolicyIngressRule {
	jobs := &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelCluster: c.Name,
		labelComponent: ComponentBackup}}
	rule := networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{PodSelector: jobs}},
		Ports: policyPorts(agentapi.BackupPort)}
	if also := c.Spec.AllowedCloneNamespaces; len(also) > 0 {
		rule.From = append(rule.From, networkingv1.NetworkPolicyPeer{PodSelector: jobs.DeepCopy(),
			NamespaceSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: corev1.LabelMetadataName,
					Operator: metav1.LabelSelectorOpIn, Values: slices.Clone(also)}}}})
	}
	return rule
}

// ComponentArchiver is the value of the component's label on the pod that archives the binary log.
const ComponentArchiver = "archiver"

// fromArchiver admits the archiver, which clientsFrom need not name. It asks agents for the history of their nodes.
func fromArchiver(c *v1alpha1.GaleraCluster) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			v1alpha1.LabelCluster: c.Name, labelComponent: ComponentArchiver}}}},
		Ports: policyPorts(PortClients, agentapi.PeerPort),
	}
}

// ComponentLease is the value of the component's label on the pods that renew the lease of the cluster.
const ComponentLease = "lease"

// fromLease admits them to the agents.
func fromLease(c *v1alpha1.GaleraCluster) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			v1alpha1.LabelCluster: c.Name, labelComponent: ComponentLease}}}},
		Ports: policyPorts(agentapi.PeerPort),
	}
}

// fromClients admits all clients if the spec names none, and the cluster's proxies and Jobs that load tables in any
// case.
func fromClients(c *v1alpha1.GaleraCluster) networkingv1.NetworkPolicyIngressRule {
	from := c.Spec.NetworkPolicy.DeepCopy().ClientsFrom
	if len(from) > 0 {
		from = append(from, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			v1alpha1.LabelCluster: c.Name, labelComponent: ComponentProxy}}},
			networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				v1alpha1.LabelCluster: c.Name, labelComponent: ComponentLoad}}})
	}
	return networkingv1.NetworkPolicyIngressRule{From: from, Ports: policyPorts(PortClients)}
}

func policyPorts(ports ...int32) []networkingv1.NetworkPolicyPort {
	out := make([]networkingv1.NetworkPolicyPort, 0, len(ports))
	for _, p := range ports {
		out = append(out, networkingv1.NetworkPolicyPort{
			Protocol: new(corev1.ProtocolTCP),
			Port:     new(intstr.FromInt32(p)),
		})
	}
	return out
}
