package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// partitionTable is the nftables table that cuts links; it holds nothing else.
const partitionTable = "galera_tests"

// Network is what connects the hosts, and the pods on them.
type Network struct{ kube *Kube }

// Network returns the handle of what connects the hosts.
func (k *Kube) Network() Network { return Network{k} }

// Partition cuts the network between groups of a cluster's pods: each group only reaches itself.
// The operator, kubelets and clients reach all of them. Heal ends it.
func (k Network) Partition(ctx context.Context, c *Cluster, groups ...[]string) error {
	addresses := make([][]string, len(groups))
	for i, group := range groups {
		for _, name := range group {
			p, err := c.Pod(ctx, name)
			if err != nil {
				return err
			}
			if p.Status.PodIP == "" {
				return fmt.Errorf("%s has no address", name)
			}
			addresses[i] = append(addresses[i], p.Status.PodIP)
		}
	}
	return k.cut(ctx, partitionRules(addresses))
}

// CutBetween cuts the network between the pods of two groups of addresses, of any cluster. Heal ends it.
func (k Network) CutBetween(ctx context.Context, these, those []string) error {
	return k.cut(ctx, partitionRules([][]string{these, those}))
}

// CutOff cuts the network between the pods and Services of this Kubernetes and those of another one. Heal ends it.
func (k Network) CutOff(ctx context.Context, other *Kube) error {
	these, err := k.kube.addresses(ctx)
	if err != nil {
		return err
	}
	those, err := other.addresses(ctx)
	if err != nil {
		return err
	}
	return k.CutBetween(ctx, these, those)
}

// addresses are the ranges of the pods and the Services.
func (k *Kube) addresses(ctx context.Context) ([]string, error) {
	var nodes corev1.NodeList
	var services networkingv1.ServiceCIDRList
	if err := errors.Join(k.List(ctx, &nodes), k.List(ctx, &services)); err != nil {
		return nil, err
	}
	var out []string
	for _, n := range nodes.Items {
		out = append(out, n.Spec.PodCIDRs...)
	}
	for _, s := range services.Items {
		out = append(out, s.Spec.CIDRs...)
	}
	return out, nil
}

// cut puts rules onto all workers, or onto none.
func (k Network) cut(ctx context.Context, rules string) error {
	nodes, err := k.kube.Hosts().Workers(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if err := onNodeNft(ctx, node, rules); err != nil {
			return errors.Join(err, k.Heal(ctx))
		}
	}
	return nil
}

// partitionRules drops what goes from any group to another, before anything else sees it.
func partitionRules(groups [][]string) string {
	var b strings.Builder
	// Declared first, so that deleting an absent table is no error.
	fmt.Fprintf(&b, "table ip %[1]s\ndelete table ip %[1]s\ntable ip %[1]s {\n", partitionTable)
	fmt.Fprint(&b, " chain forward {\n  type filter hook forward priority -300; policy accept;\n")
	for i, from := range groups {
		for j, to := range groups {
			if i != j {
				fmt.Fprintf(&b, "  ip saddr { %s } ip daddr { %s } drop\n", strings.Join(from, ", "), strings.Join(to, ", "))
			}
		}
	}
	fmt.Fprint(&b, " }\n}\n")
	return b.String()
}

// Heal connects everything again.
func (k Network) Heal(ctx context.Context) error {
	nodes, err := k.kube.Hosts().Workers(ctx)
	if err != nil {
		return err
	}
	rules := fmt.Sprintf("table ip %[1]s\ndelete table ip %[1]s\n", partitionTable)
	var errs []error
	for _, node := range nodes {
		errs = append(errs, onNodeNft(ctx, node, rules))
	}
	return errors.Join(errs...)
}

// CutAfter lets so many bytes pass to a port between pods of different hosts, and drops what comes then without a word:
// the connections stay, and nothing comes over them. Heal ends it.
func (k Network) CutAfter(ctx context.Context, port uint16, mebibytes int) error {
	return k.cut(ctx, fmt.Sprintf(`table ip %[1]s
delete table ip %[1]s
table ip %[1]s {
 chain forward {
  type filter hook forward priority -300; policy accept;
  tcp dport %[2]d quota over %[3]d mbytes drop
 }
}
`, partitionTable, port, mebibytes))
}

// CutOff has no pod reach the object store, and breaks the connections there are. Heal ends it.
func (s *ObjectStore) CutOff(ctx context.Context) error {
	return s.Kube.Network().cut(ctx, fmt.Sprintf(
		"table ip %[1]s\ndelete table ip %[1]s\ntable ip %[1]s {\n chain forward {\n  type filter hook forward priority 0; "+
			"policy accept;\n"+
			"  ip daddr %[2]s tcp dport %[3]d reject with tcp reset\n }\n}\n", partitionTable, s.podIP, StorePort))
}
