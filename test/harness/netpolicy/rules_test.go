package netpolicy

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func pod(namespace, name, address string, labels map[string]string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address}}
}

func selector(labels ...string) *metav1.LabelSelector {
	s := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for i := 0; i+1 < len(labels); i += 2 {
		s.MatchLabels[labels[i]] = labels[i+1]
	}
	return s
}

func ports(numbers ...int32) []networkingv1.NetworkPolicyPort {
	var out []networkingv1.NetworkPolicyPort
	for _, n := range numbers {
		out = append(out, networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(n))})
	}
	return out
}

// policy is one for the pods db=yes of the namespace shop.
func policy(rules ...networkingv1.NetworkPolicyIngressRule) networkingv1.NetworkPolicy {
	return networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"},
		Spec: networkingv1.NetworkPolicySpec{PodSelector: *selector("db", "yes"),
			PolicyTypes: []networkingv1.PolicyType{"Ingress"}, Ingress: rules}}
}

func from(ports []networkingv1.NetworkPolicyPort,
	peers ...networkingv1.NetworkPolicyPeer) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{From: peers, Ports: ports}
}

// world has two databases and a client in the namespace shop, and one pod like each of them in another one.
func world(policies ...networkingv1.NetworkPolicy) World {
	finished := pod("shop", "job", "10.0.0.9", map[string]string{"db": "yes"})
	finished.Status.Phase = corev1.PodSucceeded
	onHost := pod("shop", "host", "172.18.0.2", map[string]string{"db": "yes"})
	onHost.Spec.HostNetwork = true
	return World{
		Policies: policies,
		Namespaces: []corev1.Namespace{
			{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "a"}}},
			{ObjectMeta: metav1.ObjectMeta{Name: "far", Labels: map[string]string{"team": "b"}}},
		},
		Pods: []corev1.Pod{
			pod("shop", "db-1", "10.0.0.2", map[string]string{"db": "yes"}),
			pod("shop", "db-0", "10.0.0.1", map[string]string{"db": "yes"}),
			pod("shop", "client", "10.0.0.3", map[string]string{"app": "web"}),
			pod("far", "client", "10.0.1.3", map[string]string{"app": "web"}),
			pod("far", "db", "10.0.1.1", map[string]string{"db": "yes"}),
			pod("shop", "pending", "", map[string]string{"db": "yes"}),
			finished, onHost,
		},
	}
}

// rulesAbout returns the rules of a chain that concern one address, without the part they share.
func rulesAbout(t *testing.T, w World, chain, address string) []string {
	t.Helper()
	text, err := Rules(w)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = strings.Cut(text, "flush table")
	_, text, _ = strings.Cut(text, " chain "+chain+" {\n")
	text, _, _ = strings.Cut(text, " }\n c")
	direction := map[string]string{"ingress": "daddr", "egress": "saddr"}[chain]
	var out []string
	for line := range strings.Lines(text) {
		if rule, ok := strings.CutPrefix(strings.TrimSpace(line), "ip "+direction+" "+address+" "); ok {
			out = append(out, rule)
		}
	}
	return out
}

func TestIngress(t *testing.T) {
	itself, refuse := "ip saddr 10.0.0.1 return", "goto refuse"
	pods := func(s *metav1.LabelSelector) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{PodSelector: s}
	}
	for name, tc := range map[string]struct {
		rules []networkingv1.NetworkPolicyIngressRule
		want  []string
	}{
		"nothing is allowed":     {nil, []string{itself, refuse}},
		"everything from anyone": {[]networkingv1.NetworkPolicyIngressRule{{}}, []string{itself, "return", refuse}},
		"a port from anyone": {[]networkingv1.NetworkPolicyIngressRule{from(ports(8080))},
			[]string{itself, "tcp dport { 8080 } return", refuse}},
		"pods of the same namespace only, by label": {
			[]networkingv1.NetworkPolicyIngressRule{from(ports(4567, 4444), pods(selector("db", "yes")))},
			[]string{itself, "ip saddr { 10.0.0.1, 10.0.0.2 } tcp dport { 4444, 4567 } return", refuse}},
		"all pods of a namespace": {
			[]networkingv1.NetworkPolicyIngressRule{from(ports(3306),
				networkingv1.NetworkPolicyPeer{NamespaceSelector: selector("team", "b")})},
			[]string{itself, "ip saddr { 10.0.1.1, 10.0.1.3 } tcp dport { 3306 } return", refuse}},
		"some pods of a namespace": {
			[]networkingv1.NetworkPolicyIngressRule{from(ports(3306),
				networkingv1.NetworkPolicyPeer{NamespaceSelector: selector("team", "b"), PodSelector: selector("app", "web")})},
			[]string{itself, "ip saddr { 10.0.1.3 } tcp dport { 3306 } return", refuse}},
		"an empty selector of namespaces is all of them": {
			[]networkingv1.NetworkPolicyIngressRule{from(nil, networkingv1.NetworkPolicyPeer{NamespaceSelector: selector(),
				PodSelector: selector("app", "web")})},
			[]string{itself, "ip saddr { 10.0.0.3, 10.0.1.3 } return", refuse}},
		"selectors that match nothing are not anyone": {
			[]networkingv1.NetworkPolicyIngressRule{from(ports(3306), pods(selector("app", "none")))}, []string{itself, refuse}},
		"a block of addresses": {
			[]networkingv1.NetworkPolicyIngressRule{from(ports(3306),
				networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "172.18.0.0/16",
					Except: []string{"172.18.1.0/24"}}})},
			[]string{itself, "ip saddr 172.18.0.0/16 ip saddr != { 172.18.1.0/24 } tcp dport { 3306 } return", refuse}},
		"a range of ports, and UDP": {
			[]networkingv1.NetworkPolicyIngressRule{from([]networkingv1.NetworkPolicyPort{
				{Port: new(intstr.FromInt32(100)), EndPort: new(int32(200))}, {Protocol: new(corev1.ProtocolUDP)}})},
			[]string{itself, "tcp dport { 100-200 } return", "udp dport { 0-65535 } return", refuse}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rulesAbout(t, world(policy(tc.rules...)), "ingress", "10.0.0.1"); !slices.Equal(got, tc.want) {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestWhoIsSelected(t *testing.T) {
	w := world(policy())
	for address, want := range map[string]bool{
		"10.0.0.1": true, "10.0.0.2": true,
		"10.0.0.3":   false, // another label
		"10.0.1.1":   false, // another namespace
		"10.0.0.9":   false, // it is over, and its address may be another's
		"172.18.0.2": false, // on the host's network
	} {
		if got := len(rulesAbout(t, w, "ingress", address)) > 0; got != want {
			t.Errorf("%s: selected %v, want %v", address, got, want)
		}
	}
	if got := rulesAbout(t, w, "egress", "10.0.0.1"); got != nil {
		t.Errorf("a policy for Ingress restricts Egress: %q", got)
	}
}

func TestPoliciesAddUp(t *testing.T) {
	want := []string{"ip saddr 10.0.0.1 return", "tcp dport { 22 } return", "tcp dport { 3306 } return", "goto refuse"}
	got := rulesAbout(t, world(policy(from(ports(3306))), policy(from(ports(22)))), "ingress", "10.0.0.1")
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEgress(t *testing.T) {
	p := policy(from(ports(2222)))
	p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{PodSelector: selector(
		"app", "web")}}, Ports: ports(3306)}}
	want := []string{"ip daddr 10.0.0.1 return", "ip daddr { 10.0.0.3 } tcp dport { 3306 } return", "goto refuse"}
	if got := rulesAbout(t, world(p), "egress", "10.0.0.1"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	p.Spec.PolicyTypes = nil // then Egress is restricted because there are rules for it
	if got := rulesAbout(t, world(p), "egress", "10.0.0.1"); !slices.Equal(got, want) {
		t.Errorf("without types: got  %q\nwant %q", got, want)
	}
}

func TestAWorldWithoutPods(t *testing.T) {
	text, err := Rules(World{Policies: []networkingv1.NetworkPolicy{policy()}})
	if err != nil || strings.Contains(text, "{  }") || strings.Contains(text, "add @") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestWhatIsNotSupportedIsAnError(t *testing.T) {
	named := policy(from([]networkingv1.NetworkPolicyPort{{Port: new(intstr.FromString("mysql"))}}))
	six := world(policy())
	six.Pods[0].Status.PodIP = "fd00::1"
	block := policy(from(nil, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "fd00::/8"}}))
	for name, w := range map[string]World{"a named port": world(named), "a pod with IPv6": six,
		"a block of IPv6": world(block)} {
		if text, err := Rules(w); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestRulesAsAWhole shows the frame around the rules.
func TestRulesAsAWhole(t *testing.T) {
	w := world(policy(from(ports(3306))))
	w.Pods = []corev1.Pod{w.Pods[0], w.Pods[2], w.Pods[5]} // a database, a client, and one without an address
	got, err := Rules(w)
	if err != nil {
		t.Fatal(err)
	}
	const want = `table ip galera_test_policies {
 set refused { type ipv4_addr . ipv4_addr . inet_service; size 65535; flags dynamic; }
 chain refuse { }
 chain egress { }
 chain ingress { }
 chain forward { type filter hook forward priority 0; policy accept; }
}
flush table ip galera_test_policies
table ip galera_test_policies {
 chain refuse {
  ip saddr { 10.0.0.2, 10.0.0.3 } meta l4proto { tcp, udp, sctp } add @refused { ip saddr . ip daddr . th dport }
  drop
 }
 chain egress {
 }
 chain ingress {
  # shop/db-1
  ip daddr 10.0.0.2 ip saddr 10.0.0.2 return
  ip daddr 10.0.0.2 tcp dport { 3306 } return
  ip daddr 10.0.0.2 goto refuse
 }
 chain forward {
  ct state established,related accept
  jump egress
  jump ingress
 }
}
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}
