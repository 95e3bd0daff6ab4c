package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// sites is the command switch-site: env is of the cluster that accepts writes, other of the one that is to.
type sites struct {
	*env
	other *env
}

// tokenPoll is how often it is asked while no cluster accepts writes.
const tokenPoll = 250 * time.Millisecond

// siteFlags are the command's flags.
type siteFlags struct {
	to, namespace, context, kubeconfig string
	back                               bool
	// rejoin is whether the one that has accepted writes is emptied afterwards, to follow the other one, and identity the
	// Secret with the private key for that.
	rejoin   bool
	identity string
	timeout  time.Duration
}

// command has another site take over.
func (e sites) command() *cobra.Command {
	var f siteFlags
	c := &cobra.Command{
		Use: "switch-site NAME --to STANDBY", Short: "Have a cluster at another site take over, without loss",
		Args: cobra.ExactArgs(1), ValidArgsFunction: e.clusterNames,
		Long: "Have a cluster that follows this one (spec.replicaOf) take over, without loss.\n\nAll nodes of this cluster " +
			"refuse the writes of clients first. Once all end with the same transaction, and the archive has it, the cluster " +
			"gives a token (status.switchSite.token), with which the other one takes over as soon as it has applied " +
			"everything (spec.cutover.token). Until the token was given to the other cluster, a failure has this one accept " +
			"writes again. Afterwards --back does, unless the other one has taken over: the store decides which of the two " +
			"it is. A command that was interrupted can be run again.\n\nWith --rejoin this cluster follows the other one " +
			"afterwards: its nodes and volumes are removed, once it is certain that the other one has everything, and has a " +
			"backup and an archive (spec.replicaOf.replaces).\n\nThe clusters may be in two Kubernetes: --to-context " +
			"and --to-kubeconfig name the other one.",
		Example: "  kubectl galera switch-site shop -n prod --to standby --to-namespace site --to-context eu\n" +
			"  kubectl galera switch-site shop -n prod --back",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.connect(); err != nil {
				return err
			}
			if f.rejoin != (f.identity != "") {
				return errors.New("--rejoin needs --identity-secret, a Secret in the namespace of NAME with the private key of a " +
					"recipient of the other cluster's backups, and the other way round")
			}
			if f.back {
				return e.back(cmd.Context(), args[0], f)
			}
			if err := e.connectOther(f); err != nil {
				return err
			}
			return e.run(cmd.Context(), args[0], f)
		},
	}
	c.Flags().StringVar(&f.to, "to", "", "the cluster that is to take over")
	c.Flags().StringVar(&f.namespace, "to-namespace", "", "its namespace, if it is another one")
	c.Flags().StringVar(&f.context, "to-context", "", "the kubeconfig's context for it, if it is another one")
	c.Flags().StringVar(&f.kubeconfig, "to-kubeconfig", "", "the kubeconfig for it, if it is another one")
	c.Flags().BoolVar(&f.back, "back", false, "take it back, unless the other cluster has taken over")
	c.Flags().BoolVar(&f.rejoin, "rejoin", false, "empty this cluster afterwards, and have it follow the other one")
	c.Flags().StringVar(&f.identity, "identity-secret", "", "with --rejoin: a Secret with the key identity")
	c.Flags().DurationVar(&f.timeout, "timeout", 3*time.Minute, "how long each step may take")
	c.MarkFlagsMutuallyExclusive("to", "back")
	c.MarkFlagsMutuallyExclusive("rejoin", "back")
	c.MarkFlagsOneRequired("to", "back")
	return c
}

// connectOther makes the client for the other cluster.
func (e sites) connectOther(f siteFlags) error {
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Context = e.flags.KubeConfig, e.flags.Context
	if f.kubeconfig != "" {
		flags.KubeConfig, flags.Context = &f.kubeconfig, new(string)
	}
	if f.context != "" {
		flags.Context = &f.context
	}
	switch {
	case f.namespace != "":
		flags.Namespace = &f.namespace
	case f.kubeconfig == "" && f.context == "":
		flags.Namespace = &e.namespace
	}
	*e.other = env{flags: flags, out: e.out, err: e.err}
	return e.other.connect()
}

// run has the other cluster take over.
func (e sites) run(ctx context.Context, name string, f siteFlags) error {
	a, b, err := e.both(ctx, name, f.to)
	if err != nil {
		return err
	}
	if by, of := a.Status.Superseded, a.Spec.ReplicaOf; f.rejoin && (by != nil && by.UID == string(b.UID) ||
		of != nil && of.Cluster.UID == string(b.UID) && a.Follows()) {
		return e.rejoin(ctx, name, f) // they have changed places already
	}
	if why := notSwitchable(a, b); why != "" {
		return fmt.Errorf("%s; nothing was changed", why)
	}
	began := time.Now()
	if b.Spec.Cutover == nil {
		if err := e.stop(ctx, a, b); err != nil {
			return err
		}
		if err := e.give(ctx, a, b, f); err != nil {
			return err
		}
	}
	err = e.other.await(ctx, f.timeout, task{cluster: f.to, poll: e.other.pollCluster(f.to, cutoverLine), every: tokenPoll,
		late: f.to + " has not taken over yet", goesOn: "it goes on by itself: kubectl galera status " + f.to +
			". To take it back, unless it has taken over: " + e.backCommand(name)})
	if err != nil {
		return err
	}
	e.say("%s accepts writes on all nodes, %s after the command began", f.to,
		time.Since(began).Round(100*time.Millisecond))
	if f.rejoin {
		return e.rejoin(ctx, name, f)
	}
	e.say("%s refuses writes from now on. To have it follow, run the command again with --rejoin", name)
	return nil
}

// stop has a cluster refuse writes, so that another one can take over. What an operator of an earlier release would not
// understand is found out before.
func (e sites) stop(ctx context.Context, a, b *v1alpha1.GaleraCluster) error {
	if a.Spec.SwitchSite != nil {
		return nil
	}
	asked := map[string]any{"spec": map[string]any{"switchSite": map[string]any{"to": siteOf(b),
		"uid": v1alpha1.RequestUID(a)}}}
	token := v1alpha1.SwitchToken{Number: 1, GTID: "0-1-1", Segment: 1, Checksum: "00000000", From: string(a.UID),
		To: string(b.UID)}
	for _, of := range []struct {
		env   *env
		c     *v1alpha1.GaleraCluster
		patch map[string]any
		keeps func(*v1alpha1.GaleraCluster) bool
	}{
		{e.env, a, asked, func(c *v1alpha1.GaleraCluster) bool { return c.Spec.SwitchSite != nil }},
		{e.other, b, taking(b, token), func(c *v1alpha1.GaleraCluster) bool {
			return c.Spec.Cutover != nil && c.Spec.Cutover.Token != nil
		}},
	} {
		tried, err := of.env.try(ctx, of.c, of.patch)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w; nothing was changed", of.c.Name, err)
		case !of.keeps(tried):
			return fmt.Errorf("the operator of %s is of an earlier release, which has no change of sites: upgrade it, with its "+
				"CustomResourceDefinitions; nothing was changed", of.c.Name)
		}
	}
	if err := e.change(ctx, a, asked); err != nil { // it may have been stored all the same
		return e.reopen(ctx, a.Name, err)
	}
	return nil
}

// taking is the patch with which a cluster takes over.
func taking(c *v1alpha1.GaleraCluster, token v1alpha1.SwitchToken) map[string]any {
	return map[string]any{"spec": map[string]any{"cutover": map[string]any{"gtid": token.GTID,
		"uid": v1alpha1.RequestUID(c), "token": token}}}
}

func siteOf(c *v1alpha1.GaleraCluster) v1alpha1.SiteCluster {
	return v1alpha1.SiteCluster{Namespace: c.Namespace, Name: c.Name, UID: string(c.UID)}
}

// give waits for the token of a cluster, and gives it to the other one.
func (e sites) give(ctx context.Context, a, b *v1alpha1.GaleraCluster, f siteFlags) error {
	token, err := e.token(ctx, a.Name, siteOf(b), f)
	var over ended
	switch {
	case errors.As(err, &over):
		return err
	case err != nil:
		return e.reopen(ctx, a.Name, err)
	}
	e.say("%s accepts no writes, and the archive has everything up to %s", a.Name, token.GTID)
	if b, err = e.other.cluster(ctx, b.Name); err == nil {
		err = e.other.change(ctx, b, taking(b, *token))
	}
	if err != nil {
		return fmt.Errorf("whether %s takes over is not known: %w. Run the command again, or take it back: %s", f.to, err,
			e.backCommand(a.Name))
	}
	return nil
}

// ended is why there will be no token: nothing is left to be taken back.
type ended struct{ error }

// both reads the two clusters.
func (e sites) both(ctx context.Context, name, to string) (a, b *v1alpha1.GaleraCluster, err error) {
	if a, err = e.cluster(ctx, name); err != nil {
		return nil, nil, err
	}
	if b, err = e.other.cluster(ctx, to); err != nil {
		return nil, nil, fmt.Errorf("the cluster that is to take over: %w", err)
	}
	return a, b, nil
}

// token waits for the token.
func (e sites) token(ctx context.Context, name string, to v1alpha1.SiteCluster, f siteFlags) (*v1alpha1.SwitchToken,
	error) {
	var token *v1alpha1.SwitchToken
	err := e.await(ctx, f.timeout, task{cluster: name, poll: e.pollCluster(name,
		func(c *v1alpha1.GaleraCluster) (string, bool, error) {
			line, has, err := tokenLine(c, to)
			token = has
			return line, has != nil, err
		}), late: name + " has not given a token yet", goesOn: "it is taken back", every: tokenPoll})
	return token, err
}

// reopen has the cluster accept writes again, before any other cluster has got a token.
func (e sites) reopen(ctx context.Context, name string, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), absentAfter)
	defer cancel()
	c, err := e.cluster(ctx, name)
	if err == nil {
		err = e.change(ctx, c, map[string]any{"spec": map[string]any{"switchSite": nil}})
	}
	if err != nil {
		return fmt.Errorf("%w. It could not be taken back (%w): %s", why, err, e.backCommand(name))
	}
	return fmt.Errorf("%w. spec.switchSite was removed: %s accepts writes again as soon as its operator has seen it; if "+
		"it has given a token meanwhile, once the store has it recorded that this is void. To wait for that: %s", why, name,
		e.backCommand(name))
}

func (e sites) backCommand(name string) string {
	return "kubectl galera switch-site " + name + " -n " + e.namespace + " --back"
}

// back takes it back, unless another cluster has taken over.
func (e sites) back(ctx context.Context, name string, f siteFlags) error {
	c, err := e.cluster(ctx, name)
	if err != nil {
		return err
	}
	if c.Spec.SwitchSite != nil {
		if err := e.change(ctx, c, map[string]any{"spec": map[string]any{"switchSite": nil}}); err != nil {
			return err
		}
	}
	err = e.await(ctx, f.timeout, task{cluster: name, poll: e.pollCluster(name, backLine),
		late: name + " does not accept writes yet", goesOn: "it goes on by itself: kubectl galera status " + name})
	if err != nil {
		return err
	}
	e.say("%s accepts writes. If spec.cutover.token of the other cluster is set, remove spec.cutover there: it then goes "+
		"on following", name)
	return nil
}

// notSwitchable is why a cluster cannot take over from another one without loss, "" where it can.
func notSwitchable(a, b *v1alpha1.GaleraCluster) string {
	of := b.Spec.ReplicaOf
	switch {
	case of == nil || of.Cluster.Name != a.Name || of.Cluster.Namespace != "" && of.Cluster.Namespace != a.Namespace ||
		of.Cluster.UID != "" && of.Cluster.UID != string(a.UID):
		return fmt.Sprintf("%s does not follow %s/%s (spec.replicaOf.cluster)", b.Name, a.Namespace, a.Name)
	case b.Spec.Cutover != nil && (b.Spec.Cutover.Token == nil || b.Spec.Cutover.Token.From != string(a.UID)):
		return fmt.Sprintf("%s takes over already, and not with a token of %s (spec.cutover)", b.Name, a.Name)
	case b.Spec.Cutover != nil && !holds(a, b.Spec.Cutover.Token):
		return fmt.Sprintf("spec.cutover.token of %s is void: remove spec.cutover there (kubectl patch galeracluster %s -n "+
			"%s --type=merge -p '{\"spec\":{\"cutover\":null}}'), and wait until it is Following", b.Name, b.Name, b.Namespace)
	case b.Spec.Cutover != nil:
		return "" // the command goes on
	case a.Spec.SwitchSite != nil && a.Spec.SwitchSite.To.UID != string(b.UID):
		return fmt.Sprintf("spec.switchSite of %s names another cluster, %s/%s", a.Name, a.Spec.SwitchSite.To.Namespace,
			a.Spec.SwitchSite.To.Name)
	case !a.ArchivesBinlog():
		return a.Name + " has no archive: enable spec.backup.pointInTime"
	case a.Superseded():
		return "another cluster has taken over from " + a.Name + " already"
	case a.Paused() || b.Paused():
		return "an operator is paused. Remove the annotation " + v1alpha1.AnnotationPause
	case a.Spec.SwitchSite == nil && !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionFollowing):
		if following := condition(b, v1alpha1.ConditionFollowing); following != nil {
			return b.Name + " is not Following: " + following.Message
		}
		return b.Name + " is not Following yet"
	}
	return ""
}

// holds reports whether a token is the one that a cluster has given, and has not taken back.
func holds(c *v1alpha1.GaleraCluster, token *v1alpha1.SwitchToken) bool {
	s := c.Status.SwitchSite
	return s != nil && s.Token != nil && *s.Token == *token && (s.Phase == v1alpha1.SwitchOffered ||
		s.Phase == v1alpha1.SwitchTaken)
}

// tokenLine returns the token for a cluster, nil while there is none.
func tokenLine(c *v1alpha1.GaleraCluster, to v1alpha1.SiteCluster) (line string, token *v1alpha1.SwitchToken,
	err error) {
	s := c.Status.SwitchSite
	switch {
	case c.Superseded():
		return "", nil, ended{fmt.Errorf("a cluster has taken over from %s: kubectl galera status %s", c.Name, c.Name)}
	case c.Spec.SwitchSite == nil:
		return "", nil, ended{fmt.Errorf("spec.switchSite of %s was removed: it is taken back. To wait for that: kubectl "+
			"galera switch-site %s -n %s --back", c.Name, c.Name, c.Namespace)}
	case s == nil || s.To != to:
		return "waiting for the operator of " + c.Name, nil, nil
	case s.Phase == v1alpha1.SwitchTaken:
		return "", nil, ended{fmt.Errorf("spec.switchSite of %s is that of a change which has ended: a cluster has taken "+
			"over, and that does not count any more. Remove it first (--back)", c.Name)}
	case s.Phase == v1alpha1.SwitchExpired:
		return "", nil, fmt.Errorf("%s accepts writes again, as there was no token in time: %s", c.Name, s.Message)
	case s.Phase == v1alpha1.SwitchOffered && s.Token != nil:
		return "", s.Token, nil
	case s.Message == "":
		return "waiting until the nodes of " + c.Name + " refuse writes", nil, nil
	}
	return s.Message, nil, nil
}

// backLine reports whether a cluster accepts writes again.
func backLine(c *v1alpha1.GaleraCluster) (line string, done bool, err error) {
	s := c.Status.SwitchSite
	switch {
	case c.Superseded():
		return "", false, fmt.Errorf("%s/%s has taken over before: %s stays read-only. What to do is the message of "+
			"Stalled: kubectl galera status %s", c.Status.Superseded.Namespace, c.Status.Superseded.Name, c.Name, c.Name)
	case c.Spec.SwitchSite != nil:
		return "", false, fmt.Errorf("spec.switchSite of %s was set again", c.Name)
	case s == nil || s.Phase == v1alpha1.SwitchTakenBack:
		// a status that was lost has no conditions, and is about to be restored
		a := condition(c, v1alpha1.ConditionAvailable)
		if a == nil || a.Status != metav1.ConditionTrue && a.Reason == v1alpha1.ReasonSwitchingSite {
			return "waiting until the nodes of " + c.Name + " accept writes", false, nil
		}
		return "", true, nil
	case s.Message == "":
		return "waiting for the operator of " + c.Name, false, nil
	}
	return s.Message, false, nil
}
