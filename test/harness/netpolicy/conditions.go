package netpolicy

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// peers returns conditions on the other side of a connection, any of which is enough: one for all pods that are meant,
// and one for each block of addresses. No peers mean everything; peers that match nothing have no condition.
func (w World) peers(namespace string, peers []networkingv1.NetworkPolicyPeer, other string) ([]string, error) {
	if len(peers) == 0 {
		return []string{""}, nil
	}
	var out, pods []string
	for _, peer := range peers {
		if peer.IPBlock != nil {
			block, err := blockCondition(peer.IPBlock, other)
			if err != nil {
				return nil, err
			}
			out = append(out, block)
			continue
		}
		addresses, err := w.addresses(namespace, peer)
		if err != nil {
			return nil, err
		}
		pods = append(pods, addresses...)
	}
	if len(pods) > 0 {
		slices.Sort(pods)
		out = append(out, fmt.Sprintf(" ip %s { %s }", other, strings.Join(slices.Compact(pods), ", ")))
	}
	return out, nil
}

// addresses are those of the pods a peer means: with a selector of namespaces in those, else in the policy's own.
func (w World) addresses(namespace string, peer networkingv1.NetworkPolicyPeer) ([]string, error) {
	var out []string
	for _, pod := range w.live() {
		in := pod.Namespace == namespace
		var err error
		if peer.NamespaceSelector != nil {
			in, err = matches(peer.NamespaceSelector, w.namespaceLabels(pod.Namespace))
		}
		if err == nil && in && peer.PodSelector != nil {
			in, err = matches(peer.PodSelector, pod.Labels)
		}
		if err != nil {
			return nil, err
		}
		if !in {
			continue
		}
		if err := address(pod.Status.PodIP); err != nil {
			return nil, fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		out = append(out, pod.Status.PodIP)
	}
	return out, nil
}

func (w World) namespaceLabels(name string) map[string]string {
	for i := range w.Namespaces {
		if w.Namespaces[i].Name == name {
			return w.Namespaces[i].Labels
		}
	}
	return nil
}

func matches(selector *metav1.LabelSelector, have map[string]string) (bool, error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(have)), err
}

func blockCondition(block *networkingv1.IPBlock, other string) (string, error) {
	for _, cidr := range append([]string{block.CIDR}, block.Except...) {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			return "", err
		}
		if !prefix.Addr().Is4() {
			return "", fmt.Errorf("%s is not IPv4", cidr)
		}
	}
	out := fmt.Sprintf(" ip %s %s", other, block.CIDR)
	if len(block.Except) > 0 {
		out += fmt.Sprintf(" ip %s != { %s }", other, strings.Join(block.Except, ", "))
	}
	return out, nil
}

// portConditions returns conditions on the destination's port, one for each protocol. No ports mean all.
func portConditions(ports []networkingv1.NetworkPolicyPort) ([]string, error) {
	if len(ports) == 0 {
		return []string{""}, nil
	}
	byProtocol := map[string][]string{}
	for _, p := range ports {
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		key := strings.ToLower(string(protocol))
		switch {
		case p.Port == nil:
			byProtocol[key] = append(byProtocol[key], "0-65535")
		case p.Port.Type == intstr.String:
			return nil, errors.New("named ports are not supported: " + p.Port.StrVal)
		case p.EndPort != nil:
			byProtocol[key] = append(byProtocol[key], fmt.Sprintf("%d-%d", p.Port.IntVal, *p.EndPort))
		default:
			byProtocol[key] = append(byProtocol[key], fmt.Sprint(p.Port.IntVal))
		}
	}
	var out []string
	for protocol, list := range byProtocol {
		slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		out = append(out, fmt.Sprintf(" %s dport { %s }", protocol, strings.Join(slices.Compact(list), ", ")))
	}
	slices.Sort(out)
	return out, nil
}
