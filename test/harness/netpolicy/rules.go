// Package netpolicy decides what NetworkPolicies mean, as nftables rules for the nodes of the local cluster, which has
// no network plug-in that enforces them.
package netpolicy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

const (
	// Table is the nftables table, of the family ip, that holds the rules and nothing else.
	Table = "galera_test_policies"
	// RefusedSet is the set in Table that remembers what was dropped: source, destination and port. It has no packets of
	// pods that the API server did not know yet, which may be dropped although a policy admits them: a pod runs a moment
	// before its address is reported, here and with any network plug-in.
	RefusedSet = "refused"
)

// World is all that NetworkPolicies speak of.
type World struct {
	Policies   []networkingv1.NetworkPolicy
	Pods       []corev1.Pod
	Namespaces []corev1.Namespace
}

// Rules returns the nftables commands that make a node drop what the policies do not allow, in one transaction that
// replaces earlier rules. All nodes take the same.
//
// As Kubernetes has it: a pod that no policy selects is open; what one policy allows is allowed; connections that exist
// stay; a pod reaches itself; a node reaches its own pods, and they reach it, because only forwarded packets are looked
// at. Pods on a host's network are neither selected nor admitted. Named ports and IPv6 are errors: no policy here uses
// them.
func Rules(w World) (string, error) {
	ingress, err := w.chain(networkingv1.PolicyTypeIngress)
	if err != nil {
		return "", err
	}
	egress, err := w.chain(networkingv1.PolicyTypeEgress)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "table ip %s {\n", Table)
	fmt.Fprintf(&b, " set %s { type ipv4_addr . ipv4_addr . inet_service; size 65535; flags dynamic; }\n", RefusedSet)
	fmt.Fprint(&b, " chain refuse { }\n chain egress { }\n chain ingress { }\n")
	fmt.Fprint(&b, " chain forward { type filter hook forward priority 0; policy accept; }\n}\n")
	fmt.Fprintf(&b, "flush table ip %s\n", Table) // rules, not sets
	fmt.Fprintf(&b, "table ip %s {\n", Table)
	fmt.Fprintf(&b, " chain refuse {\n%s  drop\n }\n", w.remember())
	fmt.Fprintf(&b, " chain egress {\n%s }\n", egress)
	fmt.Fprintf(&b, " chain ingress {\n%s }\n", ingress)
	fmt.Fprint(&b, " chain forward {\n  ct state established,related accept\n  jump egress\n  jump ingress\n }\n}\n")
	return b.String(), nil
}

// remember returns the rule that adds to RefusedSet.
func (w World) remember() string {
	var known []string
	for _, pod := range w.live() {
		known = append(known, pod.Status.PodIP)
	}
	if len(known) == 0 {
		return ""
	}
	return fmt.Sprintf("  ip saddr { %s } meta l4proto { tcp, udp, sctp } add @%s { ip saddr . ip daddr . th dport }\n",
		strings.Join(slices.Compact(known), ", "), RefusedSet)
}

// None returns the nftables commands that remove all rules; it is no error when there are none.
func None() string { return fmt.Sprintf("table ip %[1]s\ndelete table ip %[1]s\n", Table) }

// chain returns the rules of one direction: for each pod that a policy selects what is allowed, and at last the
// refusal.
func (w World) chain(direction networkingv1.PolicyType) (string, error) {
	own, other := "daddr", "saddr"
	if direction == networkingv1.PolicyTypeEgress {
		own, other = other, own
	}
	var b strings.Builder
	for _, pod := range w.live() {
		var rules []string
		selected := false
		for i := range w.Policies {
			policy := &w.Policies[i]
			if policy.Namespace != pod.Namespace || !concerns(policy, direction) {
				continue
			}
			if ok, err := matches(&policy.Spec.PodSelector, pod.Labels); err != nil || !ok {
				if err != nil {
					return "", fmt.Errorf("policy %s/%s: %w", policy.Namespace, policy.Name, err)
				}
				continue
			}
			selected = true
			allowed, err := w.allowed(policy, direction, other)
			if err != nil {
				return "", fmt.Errorf("policy %s/%s: %w", policy.Namespace, policy.Name, err)
			}
			rules = append(rules, allowed...)
		}
		if !selected {
			continue
		}
		if err := address(pod.Status.PodIP); err != nil {
			return "", fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		fmt.Fprintf(&b, "  # %s/%s\n", pod.Namespace, pod.Name)
		this := fmt.Sprintf("ip %s %s", own, pod.Status.PodIP)
		fmt.Fprintf(&b, "  %s ip %s %s return\n", this, other, pod.Status.PodIP)
		slices.Sort(rules)
		for _, rule := range slices.Compact(rules) {
			fmt.Fprintf(&b, "  %s%s return\n", this, rule)
		}
		fmt.Fprintf(&b, "  %s goto refuse\n", this)
	}
	return b.String(), nil
}

// live are the pods that have an address of their own, by address.
func (w World) live() []corev1.Pod {
	var out []corev1.Pod
	for _, p := range w.Pods {
		over := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if p.Status.PodIP != "" && !p.Spec.HostNetwork && !over {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b corev1.Pod) int { return cmp.Compare(a.Status.PodIP, b.Status.PodIP) })
	return out
}

// concerns reports whether a policy restricts a direction. Where it names none, it is Ingress, and Egress if it has
// such rules.
func concerns(p *networkingv1.NetworkPolicy, direction networkingv1.PolicyType) bool {
	if len(p.Spec.PolicyTypes) > 0 {
		return slices.Contains(p.Spec.PolicyTypes, direction)
	}
	return direction == networkingv1.PolicyTypeIngress || len(p.Spec.Egress) > 0
}

// allowed returns, for each thing a policy allows, the conditions of a rule on the other side and the port, each with a
// space before it; "" is everything.
func (w World) allowed(p *networkingv1.NetworkPolicy, direction networkingv1.PolicyType, other string) ([]string,
	error) {
	var out []string
	add := func(peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) error {
		who, err := w.peers(p.Namespace, peers, other)
		if err != nil {
			return err
		}
		where, err := portConditions(ports)
		if err != nil {
			return err
		}
		for _, from := range who {
			for _, at := range where {
				out = append(out, from+at)
			}
		}
		return nil
	}
	if direction == networkingv1.PolicyTypeEgress {
		for _, rule := range p.Spec.Egress {
			if err := add(rule.To, rule.Ports); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	for _, rule := range p.Spec.Ingress {
		if err := add(rule.From, rule.Ports); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// address checks that an address can be put into a rule.
func address(text string) error {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return err
	}
	if !a.Is4() {
		return fmt.Errorf("%s is not IPv4", text)
	}
	return nil
}
