package resources

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// rulesFor returns the rules that open a port.
func rulesFor(policy *networkingv1.NetworkPolicy, port int) (rules []networkingv1.NetworkPolicyIngressRule) {
	for _, rule := range policy.Spec.Ingress {
		for _, p := range rule.Ports {
			if p.Port.IntValue() == port {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

func TestReplicationPortsAreForMembersOnly(t *testing.T) {
	policy := NetworkPolicy(shop(), testOptions)
	for _, port := range []int{PortReplication, PortIncremental, PortStateTransfer} {
		rules := rulesFor(policy, port)
		if len(rules) != 1 || len(rules[0].From) != 1 || rules[0].From[0].NamespaceSelector != nil ||
			rules[0].From[0].PodSelector.MatchLabels[v1alpha1.LabelCluster] != "shop" {
			t.Errorf("port %d: %+v", port, rules)
		}
	}
}

func TestAgentPortIsForTheOperatorOnly(t *testing.T) {
	rules := rulesFor(NetworkPolicy(shop(), testOptions), agentapi.ControlPort)
	if len(rules) != 1 || len(rules[0].From) != 1 {
		t.Fatalf("got %+v", rules)
	}
	from := rules[0].From[0]
	if from.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != "galera-operator-system" ||
		from.PodSelector.MatchLabels["app.kubernetes.io/name"] != "galera-operator" {
		t.Errorf("got %+v", from)
	}
}

// TestBackupPort: the Jobs of this namespace, and of those that may clone the cluster.
func TestBackupPort(t *testing.T) {
	c := shop()
	peers := func() []networkingv1.NetworkPolicyPeer {
		rules := rulesFor(NetworkPolicy(c, testOptions), agentapi.BackupPort)
		if len(rules) != 1 {
			t.Fatalf("%+v", rules)
		}
		for _, p := range rules[0].From {
			if p.PodSelector == nil || p.PodSelector.MatchLabels[v1alpha1.LabelCluster] != "shop" ||
				p.PodSelector.MatchLabels[labelComponent] != ComponentBackup {
				t.Errorf("other pods than the Jobs of its backups: %+v", p)
			}
		}
		return rules[0].From
	}
	if p := peers(); len(p) != 1 || p[0].NamespaceSelector != nil {
		t.Errorf("without consent: %+v", p)
	}
	c.Spec.AllowedCloneNamespaces = []string{"dev"}
	p := peers()
	if len(p) != 2 || len(p[1].NamespaceSelector.MatchExpressions) != 1 {
		t.Fatalf("%+v", p)
	}
	if e := p[1].NamespaceSelector.MatchExpressions[0]; e.Key != "kubernetes.io/metadata.name" || e.Operator != "In" ||
		len(e.Values) != 1 || e.Values[0] != "dev" {
		t.Errorf("%+v", e)
	}
}

func TestClientsPort(t *testing.T) {
	c := shop()
	open := func() bool {
		for _, rule := range rulesFor(NetworkPolicy(c, testOptions), PortClients) {
			if len(rule.From) == 0 {
				return true
			}
		}
		return false
	}
	if !open() {
		t.Error("3306 is closed although no client is named")
	}
	c.Spec.NetworkPolicy.ClientsFrom = everything().Spec.NetworkPolicy.ClientsFrom
	if open() {
		t.Error("3306 is open to all although a client is named")
	}
	if len(rulesFor(NetworkPolicy(c, testOptions), PortClients)) != 2 {
		t.Error("members may not prove each other's port 3306")
	}
}

// TestEgress: what nodes dial is limited on request only, to DNS, each other and what the spec names. A list that is
// empty opens nothing.
func TestEgress(t *testing.T) {
	c := shop()
	if p := NetworkPolicy(c, testOptions); len(p.Spec.PolicyTypes) != 1 || p.Spec.Egress != nil {
		t.Errorf("limited although no one asks for it: %+v", p.Spec)
	}
	c.Spec.NetworkPolicy.RestrictEgress = true
	p := NetworkPolicy(c, testOptions)
	if !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) || len(p.Spec.Egress) != 2 {
		t.Fatalf("%+v", p.Spec)
	}
	for _, rule := range p.Spec.Egress {
		switch {
		case len(rule.To) == 0: // to everything
			for _, port := range rule.Ports {
				if n := port.Port.IntValue(); n != 53 && n != 5353 {
					t.Errorf("port %d is open to everything", n)
				}
			}
			if len(rule.Ports) != 4 {
				t.Errorf("%+v", rule.Ports)
			}
		case len(rule.To) != 1 || rule.To[0].NamespaceSelector != nil || rule.To[0].IPBlock != nil ||
			rule.To[0].PodSelector.MatchLabels[v1alpha1.LabelCluster] != "shop":
			t.Errorf("%+v", rule)
		}
	}
	c.Spec.NetworkPolicy.EgressTo = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}}
	if p := NetworkPolicy(c, testOptions); len(p.Spec.Egress) != 3 || len(p.Spec.Egress[2].To) != 1 {
		t.Errorf("%+v", p.Spec.Egress)
	}
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{}
	source := NetworkPolicy(c, testOptions).Spec.Egress[2]
	if len(source.To) != 1 || source.To[0].PodSelector.MatchLabels[labelComponent] != ComponentSource ||
		source.Ports[0].Port.IntValue() != PortClients {
		t.Errorf("%+v", source)
	}
}

// TestEgressOfJobs: what Jobs and the archiver dial is limited only where the spec names what they need.
func TestEgressOfJobs(t *testing.T) {
	c := shop()
	c.Spec.NetworkPolicy.RestrictEgress = true
	left := &networkingv1.NetworkPolicy{ObjectMeta: ownedMeta(c, jobsPolicyName(c))}
	isLeft := func() bool { return LeftBehind(c, agentapi.NodeConfig{}, testOptions, false, left) }
	if JobsPolicy(c) != nil || !isLeft() {
		t.Error("limited although the store's addresses are not known")
	}
	addresses := networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}
	c.Spec.NetworkPolicy.JobsEgressTo = []networkingv1.NetworkPolicyPeer{addresses}
	p := JobsPolicy(c)
	if p == nil || isLeft() || len(p.Spec.PolicyTypes) != 1 || p.Spec.PolicyTypes[0] != networkingv1.PolicyTypeEgress ||
		len(p.Spec.Egress) != 3 {
		t.Fatalf("%+v", p)
	}
	if dns := p.Spec.Egress[0]; len(dns.To) != 0 || len(dns.Ports) != 4 {
		t.Errorf("%+v", dns)
	}
	if nodes := p.Spec.Egress[1].To; len(nodes) != 1 || nodes[0].NamespaceSelector == nil ||
		nodes[0].PodSelector.MatchLabels[v1alpha1.LabelCluster] != "shop" {
		t.Errorf("%+v", nodes)
	}
	if store := p.Spec.Egress[2].To; len(store) != 1 || store[0].IPBlock.CIDR != "10.0.0.0/8" {
		t.Errorf("%+v", store)
	}
	applied := 0
	for _, object := range Static(c, NodeConfig(c, int(c.Spec.Replicas), TLSConfig(c), testOptions),
		Roles{Primary: PodName(c, 0), Replicas: true}, testOptions) {
		if object.GetName() == jobsPolicyName(c) {
			applied++
		}
	}
	if applied != 1 {
		t.Errorf("it is applied %d times", applied)
	}
	for name, off := range map[string]func(*v1alpha1.NetworkPolicySpec){
		"restrictEgress": func(s *v1alpha1.NetworkPolicySpec) { s.RestrictEgress = false },
		"enabled":        func(s *v1alpha1.NetworkPolicySpec) { s.Enabled = new(false) },
	} {
		other := c.DeepCopy()
		off(&other.Spec.NetworkPolicy)
		if JobsPolicy(other) != nil {
			t.Errorf("limited without %s", name)
		}
	}
}

// TestCopyPolicy: the operator, and nothing else, reaches the Job that copies another server, as long as one is copied.
func TestCopyPolicy(t *testing.T) {
	c := shop()
	left := &networkingv1.NetworkPolicy{ObjectMeta: ownedMeta(c, copyPolicyName(c))}
	isLeft := func() bool { return LeftBehind(c, agentapi.NodeConfig{}, testOptions, false, left) }
	if CopyPolicy(c, testOptions) != nil || !isLeft() {
		t.Error("a policy without a Job")
	}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db"}}
	p := CopyPolicy(c, testOptions)
	if p == nil || isLeft() || len(p.Spec.Ingress) != 1 {
		t.Fatalf("%+v", p)
	}
	in := p.Spec.Ingress[0]
	if len(in.From) != 1 || in.From[0].PodSelector.MatchLabels[labelName] != OperatorLabel ||
		in.From[0].NamespaceSelector == nil || len(in.Ports) != 1 || in.Ports[0].Port.IntValue() != portCopied ||
		p.Spec.PodSelector.MatchLabels[labelComponent] != ComponentRestore {
		t.Errorf("%+v", p.Spec)
	}
	applied := 0
	for _, object := range Static(c, NodeConfig(c, int(c.Spec.Replicas), TLSConfig(c), testOptions),
		Roles{Primary: PodName(c, 0), Replicas: true}, testOptions) {
		if object.GetName() == copyPolicyName(c) {
			applied++
		}
	}
	if applied != 1 {
		t.Errorf("it is applied %d times", applied)
	}
	if c.Spec.NetworkPolicy.Enabled = new(false); CopyPolicy(c, testOptions) != nil {
		t.Error("no policy is wanted")
	}
}

func TestNoPolicy(t *testing.T) {
	c := plaintext()
	if NetworkPolicy(c, testOptions) != nil {
		t.Error("a policy that is not wanted")
	}
	for _, object := range Static(c, NodeConfig(c, int(c.Spec.Replicas), TLSConfig(c), testOptions),
		Roles{Primary: PodName(c, 0), Replicas: true}, testOptions) {
		if object.GetObjectKind().GroupVersionKind().Kind == "NetworkPolicy" {
			t.Error("a policy that is not wanted is applied")
		}
	}
}

func TestServices(t *testing.T) {
	c := everything()
	if s := Service(c); s.Spec.Type != "NodePort" || s.Spec.LoadBalancerClass != nil ||
		s.Spec.Selector[v1alpha1.LabelRole] != "" {
		t.Errorf("got %+v", s.Spec)
	}
	if s := PrimaryService(c, PodName(c, 2)); *s.Spec.LoadBalancerClass != "example.org/lb" ||
		s.Spec.Selector[appsv1.StatefulSetPodNameLabel] != PodName(c, 2) ||
		s.Spec.Selector[v1alpha1.LabelRole] != "" || !s.Spec.PublishNotReadyAddresses ||
		s.Annotations["example.org/internal"] != "true" {
		t.Errorf("got %+v", s.Spec)
	}
	if s := ReadOnlyService(c, Roles{Replicas: true}); s.Spec.Selector[v1alpha1.LabelRole] != v1alpha1.RoleReplica ||
		s.Labels["team"] != "shop" ||
		s.Labels[v1alpha1.LabelCluster] != "shop" || s.Spec.ExternalTrafficPolicy != "" ||
		*s.Spec.InternalTrafficPolicy != "Local" {
		t.Errorf("got %+v", s)
	}
	if s := ReadOnlyService(c, Roles{}); s.Spec.Selector[v1alpha1.LabelRole] != "" || s.Spec.PublishNotReadyAddresses {
		t.Errorf("without replicas: %+v", s.Spec)
	}
	if s := ReadOnlyService(c, Roles{Replicas: true, Behind: true}); s.Spec.Selector[v1alpha1.LabelRole] != roleNone {
		t.Errorf("behind: %+v", s.Spec)
	}
	if s := nodesService(c); s.Spec.ClusterIP != "None" || !s.Spec.PublishNotReadyAddresses || len(s.Spec.Ports) != 7 {
		t.Errorf("got %+v", s.Spec)
	}
	for _, s := range []map[string]string{Service(c).Spec.Selector, nodesService(c).Spec.Selector} {
		for key, value := range s {
			if StatefulSet(c, testOptions, pods(c, 3)).Spec.Template.Labels[key] != value {
				t.Errorf("the selector %s=%s selects no pod", key, value)
			}
		}
	}
}
