package plugin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/external"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// comparison compares the tables of a cluster with those of its source.
type comparison struct {
	*env
	only, skip, accept bool
	timeout            time.Duration
}

// maxDifferences is how many are written.
const maxDifferences = 20

func (e *comparison) flags(c *cobra.Command) {
	c.Flags().BoolVar(&e.only, "compare-only", false, "compare the tables, and end: nothing is cut over")
	c.Flags().BoolVar(&e.skip, "no-compare", false, "do not compare the tables")
	c.Flags().BoolVar(&e.accept, "accept-differences", false,
		"cut over although tables differ: the nodes keep what they have, and the differences are written")
	c.Flags().DurationVar(&e.timeout, "compare-timeout", time.Hour,
		"how long the comparison may take; the cluster goes on following afterwards in any case")
	c.MarkFlagsMutuallyExclusive("compare-only", "no-compare", "accept-differences")
}

// run holds the channel, compares all tables with the source on every node, and lets the channel go on.
func (e *comparison) run(ctx context.Context, c *v1alpha1.GaleraCluster, source *sql.DB, timeout time.Duration) error {
	if absent := e.noOperator(ctx, c.Name); absent != "" {
		return fmt.Errorf("the nodes cannot be held for a comparison: %s; nothing was changed", absent)
	}
	err := e.await(ctx, timeout, task{cluster: c.Name, poll: e.pollCluster(c.Name, lagLine),
		late: "the cluster is too far behind", goesOn: "nothing was changed"})
	if err != nil {
		return err
	}
	within, stop := context.WithTimeout(ctx, e.timeout)
	defer stop()
	targets, err := e.nodes(within, c)
	defer func() {
		for _, db := range targets {
			_ = db.Close()
		}
	}()
	switch {
	case errors.Is(err, errNoRoot):
		return fmt.Errorf("%w, and the tables are compared as root: leave the comparison out with --no-compare; nothing was "+
			"changed", err)
	case err != nil:
		return fmt.Errorf("%w; nothing was changed", err)
	}
	ends, _ := within.Deadline()
	hold := func(ctx context.Context, at string) error {
		return e.hold(ctx, c, strings.ReplaceAll(at, " ", "")+"@"+ends.UTC().Format(time.RFC3339), timeout)
	}
	defer e.release(context.WithoutCancel(ctx), c)
	if err := hold(within, agentapi.HoldNow); err != nil {
		return err
	}
	began := time.Now()
	found, err := external.Compare(within, source, targets, int(c.Source().Connections), hold)
	switch {
	case err == nil:
	case within.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("the comparison has not ended within %s: give it more time with --compare-timeout, or leave it "+
			"out with --no-compare; nothing was cut over", e.timeout)
	default:
		return fmt.Errorf("comparing the tables: %w; nothing was cut over", err)
	}
	return e.verdict(found, time.Since(began))
}

// verdict writes what was found. A difference is an error, unless it is accepted.
func (e *comparison) verdict(found external.Compared, took time.Duration) error {
	if len(found.Differences) == 0 {
		e.say("every node has what the source has at %s: compared %s with %s, and %s, in %s", found.GTID,
			galera.Count(found.Tables, "table"), galera.Count(found.Rows, "row"), galera.Count(found.Sequences, "sequence"),
			took.Round(100*time.Millisecond))
		return nil
	}
	for i, d := range found.Differences {
		if i == maxDifferences {
			e.say("and %d more", len(found.Differences)-i)
			break
		}
		e.say("%s", d)
	}
	if e.accept {
		e.say("WARNING: the cluster differs from its source at %s, and keeps what it has (--accept-differences)", found.GTID)
		return nil
	}
	return fmt.Errorf("the cluster differs from its source at %s; nothing was cut over. Create a new cluster from the "+
		"source, or correct the tables and compare again. With --accept-differences the nodes keep what they have",
		found.GTID)
}

// hold has the channel stop at a position until a time, and waits until all nodes report that.
func (e *comparison) hold(ctx context.Context, c *v1alpha1.GaleraCluster, at string, timeout time.Duration) error {
	if err := e.annotate(ctx, c, at); err != nil {
		return fmt.Errorf("stopping the channel: %w", err)
	}
	return e.await(ctx, timeout, task{cluster: c.Name, late: "the nodes do not all stop",
		goesOn: "the cluster goes on following", poll: e.pollCluster(c.Name, heldLine(c.Followed(), at))})
}

// heldLine reports whether all nodes have stopped where a comparison with a source holds them.
func heldLine(source v1alpha1.ExternalHost, at string) func(*v1alpha1.GaleraCluster) (string, bool, error) {
	return func(c *v1alpha1.GaleraCluster) (line string, done bool, err error) {
		switch now := c.Followed(); {
		case c.Spec.Cutover != nil:
			return "", false, errors.New("spec.cutover was set meanwhile")
		case now != source:
			return "", false, movedTo(now, source)
		}
		held := c.Status.Replication != nil && c.Status.Replication.Held == at
		position, _, _ := strings.Cut(at, "@") // what follows is when the nodes go on by themselves
		if position == agentapi.HoldNow {
			return "waiting until the nodes stop where they are", held, nil
		}
		return "waiting until the nodes stop at " + position, held, nil
	}
}

// release lets the channel go on.
func (e *comparison) release(ctx context.Context, c *v1alpha1.GaleraCluster) {
	if err := e.annotate(ctx, c, nil); err != nil {
		e.say("the channel goes on at the time in the annotation %s, which could not be removed (%s)",
			v1alpha1.AnnotationHoldChannel, err)
	}
}

func (e *comparison) annotate(ctx context.Context, c *v1alpha1.GaleraCluster, value any) error {
	return e.change(ctx, c, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{v1alpha1.AnnotationHoldChannel: value}}})
}

// errNoRoot is why nodes cannot be connected to.
var errNoRoot = errors.New("root cannot log in over the network (spec.rootAccess.disabled)")

// nodes connects to all nodes as root.
func (e *comparison) nodes(ctx context.Context, c *v1alpha1.GaleraCluster) (map[string]*sql.DB, error) {
	if a := c.Spec.RootAccess; a != nil && a.Disabled {
		return nil, errNoRoot
	}
	root, ca := &corev1.Secret{}, &corev1.ConfigMap{}
	if err := e.kube.Get(ctx, e.key(c.Name+"-root"), root); err != nil {
		return nil, fmt.Errorf("reading root's password: %w", err)
	}
	plain := c.Spec.TLS.Clients == v1alpha1.TLSDisabled
	if err := e.kube.Get(ctx, e.key(c.Name+"-ca"), ca); err != nil && !plain {
		return nil, fmt.Errorf("reading the CA: %w", err)
	}
	out := map[string]*sql.DB{}
	for i := range c.Spec.Replicas {
		pod := fmt.Sprintf("%s-%d", c.Name, i)
		port, err := connection{e.env}.forward(ctx, pod)
		if err != nil {
			return out, err
		}
		db, err := external.Server{Host: "localhost", Port: port, User: "root", Password: string(root.Data["password"]),
			Plain: plain, CA: []byte(ca.Data["ca.crt"]), Identity: true}.Open()
		if err != nil {
			return out, err
		}
		out[pod] = db
		if err := db.PingContext(ctx); err != nil {
			return out, fmt.Errorf("connecting to %s as root: %w", pod, err)
		}
	}
	return out, nil
}
