package plugin

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/screen"
	"github.com/galera-operator/galera-operator/internal/users"
)

// encryption is the command tls.
type encryption struct{ *env }

var channels = []string{"replication", "stateTransfer", "clients"}

// tls is the command with the actions as second argument: kubectl galera tls NAME [enable|disable|renew|replace-ca].
func (e encryption) tls() *cobra.Command {
	var channel, strategy, format string
	var wait, follow, yes bool
	var timeout time.Duration
	actions := []string{"enable", "disable", "renew", "replace-ca"}
	c := &cobra.Command{
		Use:   "tls NAME [enable|disable|renew|replace-ca]",
		Short: "Show a cluster's encryption, switch it on or off, renew certificates",
		Args:  cobra.RangeArgs(1, 2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, to string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return actions, cobra.ShellCompDirectiveNoFileComp
			}
			return e.clusterNames(cmd, args, to)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.connect(); err != nil {
				return err
			}
			if len(args) == 1 {
				return e.show(cmd.Context(), args[0], format, follow, e.encryption())
			}
			c, err := e.cluster(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			patch, done, err := tlsChange(args[1], channel, strategy, time.Now())
			if err != nil {
				return err
			}
			if !yes && takesClientsTLS(c, patch) {
				if err := e.confirmLoss(cmd.Context(), c, os.Stdin); err != nil {
					return err
				}
			}
			if err := e.change(cmd.Context(), c, patch); err != nil || !wait {
				return err
			}
			if err := e.settle(cmd.Context(), c.Name, timeout, done); err != nil {
				return err
			}
			return e.show(cmd.Context(), c.Name, format, false, e.encryption())
		},
	}
	outputFlag(c, &format)
	watchFlag(c, &follow)
	c.Flags().StringVar(&channel, "channel", "", "enable or disable one channel only: "+strings.Join(channels, ", ")+
		". Default: all")
	// the flag is there
	_ = c.RegisterFlagCompletionFunc("channel", cobra.FixedCompletions(channels, cobra.ShellCompDirectiveNoFileComp))
	c.Flags().StringVar(&strategy, "strategy", "",
		"how replication is switched: Rolling or Rebootstrap. Default: as the cluster's spec says")
	// the flag is there
	_ = c.RegisterFlagCompletionFunc("strategy", cobra.FixedCompletions([]string{"Rolling", "Rebootstrap"},
		cobra.ShellCompDirectiveNoFileComp))
	c.Flags().BoolVar(&yes, "yes", false, "disable: do not ask when users need the TLS that is taken away")
	waitFlags(c, &wait, &timeout)
	return c
}

// takesClientsTLS reports whether a patch takes TLS away from a cluster's clients.
func takesClientsTLS(c *v1alpha1.GaleraCluster, patch map[string]any) bool {
	clients, _, _ := unstructured.NestedString(patch, "spec", "tls", "clients")
	return clients == v1alpha1.TLSDisabled && c.Spec.TLS.Clients != v1alpha1.TLSDisabled
}

// confirmLoss asks before the users of a cluster lose their TLS, and names them. Users that may not be listed are not
// known: then it asks, too.
func (e encryption) confirmLoss(ctx context.Context, c *v1alpha1.GaleraCluster, answers io.Reader) error {
	var users v1alpha1.GaleraUserList
	if err := e.kube.List(ctx, &users); err != nil {
		e.say("the GaleraUsers of %s cannot be listed: %s. Those that require TLS cannot connect without it", c.Name, err)
	} else if names := losers(c, users.Items); len(names) > 0 {
		e.say("these GaleraUsers require TLS, and their applications cannot connect without it: %s",
			strings.Join(names, ", "))
	} else {
		return nil
	}
	if !e.confirmed(answers, "Type the name of the cluster to continue: ", c.Name) {
		return fmt.Errorf("nothing was changed")
	}
	return nil
}

// losers are the users of a cluster that cannot connect to it without TLS.
func losers(c *v1alpha1.GaleraCluster, all []v1alpha1.GaleraUser) []string {
	without := c.DeepCopy()
	without.Spec.TLS.Clients = v1alpha1.TLSDisabled
	var out []string
	for i := range all {
		u := &all[i]
		if namespace, name := u.Cluster(); namespace == c.Namespace && name == c.Name && users.LacksTLS(u, without) {
			out = append(out, u.Namespace+"/"+u.Name)
		}
	}
	return out
}

// encryption is what tls shows.
func (e encryption) encryption() screenful {
	return screenful{
		text: func(c *v1alpha1.GaleraCluster) string { return screen.Encryption(c, e.style()) },
		value: func(c *v1alpha1.GaleraCluster) any {
			nodes := map[string]any{}
			for _, m := range c.Status.Members {
				nodes[m.Name] = m.TLS
			}
			return map[string]any{"cluster": c.Name, "namespace": c.Namespace, "policy": c.Spec.TLS, "status": c.Status.TLS,
				"nodes":             nodes,
				"encrypted":         condition(c, v1alpha1.ConditionEncrypted),
				"certificatesValid": condition(c, v1alpha1.ConditionCertificatesValid)}
		},
	}
}

// tlsChange is the patch of an action, and when that has taken effect. It is pure.
func tlsChange(action, channel, strategy string, now time.Time) (map[string]any, func(*v1alpha1.GaleraCluster) bool,
	error) {
	switch action {
	case "enable", "disable":
		policy := map[string]string{"enable": "Required", "disable": "Disabled"}[action]
		which := channels
		if channel != "" {
			if !slices.Contains(channels, channel) {
				return nil, nil, fmt.Errorf("there is no channel %q: %s", channel, strings.Join(channels, ", "))
			}
			which = []string{channel}
		}
		tls := map[string]any{}
		for _, name := range which {
			tls[name] = policy
		}
		if strategy != "" {
			tls["switchStrategy"] = strategy
		}
		return map[string]any{"spec": map[string]any{"tls": tls}}, ready, nil
	case "renew", "replace-ca":
		of := map[string]string{"renew": "leaf", "replace-ca": "ca"}[action]
		token := now.UTC().Format("20060102-150405")
		patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationRenew: of + "@" +
			token}}}
		return patch, func(c *v1alpha1.GaleraCluster) bool { return ready(c) && renewed(c, of, token) }, nil
	}
	return nil, nil, fmt.Errorf("there is no action %q: enable, disable, renew or replace-ca", action)
}

// renewed reports whether a renewal is complete, and the CA before is trusted no longer.
func renewed(c *v1alpha1.GaleraCluster, of, token string) bool {
	t := c.Status.TLS
	if t == nil || t.Step != "Settled" {
		return false
	}
	return slices.ContainsFunc(t.Renewals, func(r v1alpha1.RenewalStatus) bool {
		return r.Of == of && r.Token == token &&
			r.CompletedAt != nil
	})
}
