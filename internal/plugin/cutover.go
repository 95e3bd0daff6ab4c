package plugin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// cutovers is the command cutover.
type cutovers struct{ *env }

// maxLag is how many seconds a cluster may be behind its source when a cutover begins.
const maxLag = 1

// command ends that a cluster follows a source.
func (e cutovers) command() *cobra.Command {
	var f cutoverFlags
	o := &comparison{env: e.env}
	c := &cobra.Command{
		Use: "cutover NAME", Short: "End following another server, and accept writes", Args: cobra.ExactArgs(1),
		ValidArgsFunction: e.clusterNames,
		Long: "End that a cluster follows another server (spec.bootstrapFrom.external.follow), once it has applied all " +
			"that the server has written.\n\nThe command waits until the cluster is at most a second behind, makes the server " +
			"read-only if the account of credentialsSecretRef may, and otherwise waits until you have. It then writes the " +
			"server's last " +
			"position to spec.cutover. Each node accepts writes as soon as it has applied everything up to there. While " +
			"spec.cutover is known not to be set, a failure makes the server writable again; afterwards nothing is taken " +
			"back. A command that was interrupted can be run again.\n\nBefore that, all tables of each node are compared with " +
			"the server at one position. The nodes stop there meanwhile, and the server goes on. A difference is named, and " +
			"ends the command. The connections to the server, and to the nodes by port-forwards as root, are made from this " +
			"machine.\n\n" + archiveCutover + "\n\n" + backHelp,
		Example: "  kubectl galera cutover shop\n  kubectl galera cutover shop --back --back-host=shop.example.com",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.connect(); err != nil {
				return err
			}
			return e.run(cmd.Context(), args[0], f, o)
		},
	}
	c.Flags().DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long each step may take")
	c.Flags().BoolVar(&f.stopped, "writes-stopped", false,
		"nothing writes any more, neither to the server nor to one that it replicates from: do not make it read-only, and "+
			"wait until it has applied what it has received, and nothing has come for 5 seconds")
	c.Flags().BoolVar(&f.loss, "accept-loss", false,
		"give up what an archive that is followed does not have (spec.replicaOf)")
	c.Flags().BoolVar(&f.unrecorded, "without-record", false,
		"take over without a record in the store that is followed (spec.replicaOf): nothing stops the other cluster then")
	c.MarkFlagsMutuallyExclusive("writes-stopped", "accept-loss")
	backFlags(c, &f)
	o.flags(c)
	return c
}

// cutoverFlags are the command's flags, but those of the comparison.
type cutoverFlags struct {
	timeout             time.Duration
	stopped, loss, back bool
	unrecorded          bool
	host                string
	port                int
}

// refuses is why a cluster is not cut over with these flags. It is pure.
func (f cutoverFlags) refuses(c *v1alpha1.GaleraCluster, compareOnly bool) error {
	switch name := c.Name; {
	case c.Source() == nil:
		return fmt.Errorf("%s follows nothing that it could be cut over from: neither spec.bootstrapFrom.external.follow "+
			"nor spec.replicaOf is set", name)
	case c.Spec.ReplicaOf != nil && f.back:
		return fmt.Errorf("--back is for a cluster that has followed a server, and %s follows an archive", name)
	case c.Spec.ReplicaOf == nil && f.loss:
		return fmt.Errorf("--accept-loss is for a cluster that follows an archive, and %s follows a server", name)
	case c.Spec.ReplicaOf == nil && f.unrecorded:
		return fmt.Errorf("--without-record is for a cluster that follows an archive, and %s follows a server", name)
	case c.Spec.ReplicaOf != nil && compareOnly:
		return fmt.Errorf("%s follows an archive, which has no tables to compare with", name)
	case c.Spec.Cutover != nil && !c.TakesOver() && !c.OwnCutover():
		return fmt.Errorf("spec.cutover of %s is that of another cluster, which has had the same manifest, or of the time "+
			"before this one has begun anew, or has no uid. What to do is the message of Stalled: kubectl galera status %s",
			name, name)
	}
	return nil
}

func (e cutovers) run(ctx context.Context, name string, f cutoverFlags, o *comparison) error {
	c, err := e.cluster(ctx, name)
	if err == nil {
		err = f.refuses(c, o.only)
	}
	switch {
	case err != nil:
		return err
	case c.Spec.ReplicaOf != nil && c.Spec.Cutover == nil:
		if err := e.beginArchive(ctx, c, f); err != nil {
			return err
		}
	case f.unrecorded && !c.TakesOver():
		if err := e.change(ctx, c, map[string]any{"spec": map[string]any{"cutover": map[string]any{
			"withoutRecord": true}}}); err != nil {
			return err
		}
	case c.Spec.Cutover == nil:
		at := c.Followed()
		source, err := e.source(ctx, c, at)
		if err != nil {
			return err
		}
		defer func() { _ = source.Close() }()
		if !o.only { // before a comparison that takes hours
			if err := upstream(ctx, source, f.stopped); err != nil {
				return err
			}
		}
		if !o.skip {
			if err := o.run(ctx, c, source, f.timeout); err != nil || o.only {
				return err
			}
		}
		if err := e.begin(ctx, c, source, at, f); err != nil {
			return err
		}
		defer e.compare(ctx, c.Name, source)
	}
	began := time.Now()
	err = e.await(ctx, f.timeout, task{cluster: name, poll: e.pollCluster(name, cutoverLine),
		late:   "not all nodes accept writes yet",
		goesOn: "the cutover goes on by itself: kubectl galera status " + name})
	if err != nil {
		return err
	}
	e.say("%s accepts writes on all nodes, %s after its last position was known", name,
		time.Since(began).Round(100*time.Millisecond))
	if f.back {
		return e.printBack(ctx, name, f)
	}
	return nil
}

// source connects to the one of a cluster's sources that it follows.
func (e cutovers) source(ctx context.Context, c *v1alpha1.GaleraCluster, at v1alpha1.ExternalHost) (*sql.DB, error) {
	from := c.Source()
	f := importFlags{host: at.Host, port: int(at.Port), credentials: from.CredentialsSecretRef.Name,
		insecure: from.TLS == nil, verify: v1alpha1.VerifyIdentity}
	if from.TLS != nil {
		f.ca = from.TLS.CASecretRef.Name
	}
	credentials, err := imports(e).secret(ctx, f.credentials)
	if err != nil {
		return nil, err
	}
	ca, err := imports(e).secret(ctx, f.ca)
	if err != nil {
		return nil, err
	}
	server, err := f.server(credentials, ca)
	if err != nil {
		return nil, err
	}
	return server.Open()
}

// begin ends the writes of the source, and records its last position. An error undoes it where that is known not to be
// recorded.
func (e cutovers) begin(ctx context.Context, c *v1alpha1.GaleraCluster, source *sql.DB, at v1alpha1.ExternalHost,
	f cutoverFlags) error {
	err := e.await(ctx, f.timeout, task{cluster: c.Name, poll: e.pollCluster(c.Name, lagLineOf(at)),
		late: "the cluster is too far behind", goesOn: "nothing was changed"})
	if err != nil {
		return err
	}
	if absent := e.noOperator(ctx, c.Name); absent != "" {
		return fmt.Errorf("spec.cutover would not reach the nodes: %s; nothing was changed", absent)
	}
	own, err := e.ownPosition(ctx, c)
	switch {
	case err != nil && f.back:
		return fmt.Errorf("the old server could not follow the cluster: %w; nothing was changed", err)
	case err != nil:
		e.say("the old server will not be able to follow the cluster (--back): %s", err)
	}
	made := false
	if !f.stopped {
		if err := upstream(ctx, source, f.stopped); err != nil {
			return err
		}
		if made, err = e.readOnly(ctx, source, f.timeout); err != nil {
			return err
		}
	}
	unset, err := e.record(ctx, c, source, own, f)
	return reopened(err, made, unset, func() error {
		_, err := source.ExecContext(context.WithoutCancel(ctx), "SET GLOBAL read_only = OFF")
		return err
	})
}

// record sets spec.cutover to the last position of the source. unset reports whether there is known to be none after an
// error.
func (e cutovers) record(ctx context.Context, c *v1alpha1.GaleraCluster, source *sql.DB, own string,
	f cutoverFlags) (unset bool, err error) {
	end := lastPosition
	if f.stopped {
		end = e.quietPosition
	}
	last, err := end(ctx, c.Name, source, f.timeout)
	if err != nil {
		return true, err
	}
	e.say("the last position of the source is %s", last)
	cutover := map[string]any{"gtid": last, "uid": v1alpha1.RequestUID(c)}
	if own != "" {
		cutover["own"] = own
	}
	return e.publish(ctx, c, cutover)
}

// reopened has a source accept writes again after an error, if this cutover has made it read-only, and spec.cutover is
// known not to be set: the cluster would take over otherwise while clients still write to the source. It returns the
// error, and what the source does now.
func reopened(err error, made, unset bool, reopen func() error) error {
	switch {
	case err == nil || !made:
		return err
	case !unset:
		return fmt.Errorf("%w; the source stays read-only, as spec.cutover may be set: run the command again. If it is not "+
			"set, and you give the cutover up, run on the source: SET GLOBAL read_only = OFF", err)
	}
	if undo := reopen(); undo != nil {
		return fmt.Errorf("%w; and the source is still read-only: %w", err, undo)
	}
	return fmt.Errorf("%w; the source accepts writes again", err)
}

// publish sends spec.cutover. unset reports whether there is known to be none: the API server has refused it, and shows
// none that someone else has set, either. An answer that is lost may be that of a patch that was written.
func (e cutovers) publish(ctx context.Context, c *v1alpha1.GaleraCluster, cutover map[string]any) (unset bool,
	err error) {
	err = e.change(ctx, c, map[string]any{"spec": map[string]any{"cutover": cutover}})
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) &&
		!apierrors.IsBadRequest(err) {
		return false, err
	}
	now, unread := e.cluster(context.WithoutCancel(ctx), c.Name)
	return unread == nil && now.UID == c.UID && now.Spec.Cutover == nil, err
}

// readOnly makes a source read-only, or waits until a person has. made reports whether it did.
func (e cutovers) readOnly(ctx context.Context, source *sql.DB, timeout time.Duration) (made bool, err error) {
	is := func(ctx context.Context) (on bool, err error) {
		err = source.QueryRowContext(ctx, "SELECT @@GLOBAL.read_only").Scan(&on)
		return on, err
	}
	if on, err := is(ctx); err != nil || on {
		return false, err
	}
	_, refused := source.ExecContext(ctx, "SET GLOBAL read_only = ON")
	if refused == nil {
		e.say("the source is read-only until it restarts: put read_only into its option file, too")
		return true, nil
	}
	e.say("the source could not be made read-only (%s). Run there: SET GLOBAL read_only = ON", refused)
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		if on, err := is(within); err == nil && on {
			return false, nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-within.Done():
			return false, fmt.Errorf("after %s the source still accepts writes; nothing was changed", timeout)
		}
	}
}

// lastPosition is the position of a source that is read-only, once it does not change any more.
func lastPosition(ctx context.Context, _ string, source *sql.DB, timeout time.Duration) (string, error) {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	before := ""
	for {
		var now string
		if err := source.QueryRowContext(within, "SELECT @@GLOBAL.gtid_binlog_pos").Scan(&now); err != nil {
			return "", fmt.Errorf("reading the source's position: %w", err)
		}
		if now == "" {
			return "", errNoBinaryLog
		}
		if now == before {
			return strings.ReplaceAll(now, " ", ""), nil
		}
		before = now
		select {
		case <-time.After(200 * time.Millisecond):
		case <-within.Done():
			return "", errors.New("the source goes on writing: stop what writes there, accounts with READ ONLY ADMIN included")
		}
	}
}

// compare warns of what the source has written after its last position.
func (e cutovers) compare(ctx context.Context, name string, source *sql.DB) {
	c, err := e.cluster(ctx, name)
	if err != nil || c.Spec.Cutover == nil {
		return
	}
	var now string
	if err := source.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_binlog_pos").Scan(&now); err == nil &&
		strings.ReplaceAll(now, " ", "") != c.Spec.Cutover.GTID {
		e.say("WARNING: the source has written after %s, up to %s, and %s does not have that. Read it there with "+
			"mariadb-binlog, and write it to %s by hand", c.Spec.Cutover.GTID, now, name, name)
	}
}

// lagLineOf is lagLine for a cluster that has to follow one of its sources still.
func lagLineOf(at v1alpha1.ExternalHost) func(*v1alpha1.GaleraCluster) (string, bool, error) {
	return func(c *v1alpha1.GaleraCluster) (line string, done bool, err error) {
		if now := c.Followed(); now != at {
			return "", false, movedTo(now, at)
		}
		return lagLine(c)
	}
}

func movedTo(now, before v1alpha1.ExternalHost) error {
	return fmt.Errorf("the cluster now follows %s instead of %s: run the command again; nothing was changed", now, before)
}

// lagLine reports whether a cluster is close enough to its source.
func lagLine(c *v1alpha1.GaleraCluster) (line string, done bool, err error) {
	following := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionFollowing)
	r := c.Status.Replication
	switch {
	case c.Paused():
		return "the operator is paused: spec.cutover would not reach the nodes. Remove the annotation " +
			v1alpha1.AnnotationPause, false, nil
	case r == nil || following == nil:
		return "the cluster does not follow yet", false, nil
	case meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionStalled):
		stalled := condition(c, v1alpha1.ConditionStalled)
		return fmt.Sprintf("spec.cutover may not reach the nodes: %s: %s", stalled.Reason, stalled.Message), false, nil
	case !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionFollowing):
		return following.Message, false, nil
	case r.SecondsBehind == nil:
		return r.Node + " runs the channel, and how far it is behind is not known yet", false, nil
	case *r.SecondsBehind > maxLag:
		return fmt.Sprintf("%s behind %s", galera.Count(*r.SecondsBehind, "second"), r.Source), false, nil
	}
	return fmt.Sprintf("%s follows %s, %s behind", r.Node, r.Source, galera.Count(*r.SecondsBehind, "second")), true, nil
}

// cutoverLine reports whether all nodes accept writes.
func cutoverLine(c *v1alpha1.GaleraCluster) (line string, done bool, err error) {
	r := c.Status.Replication
	if r != nil && r.Role == v1alpha1.RoleIndependent {
		return "", true, nil
	}
	if !c.TakesOver() && r != nil && r.Promotion != nil && r.Promotion.Withdrawn {
		return "", false, fmt.Errorf("the token was taken back: %s accepts no writes, and goes on following once "+
			"spec.cutover is removed", c.Name)
	}
	if !c.TakesOver() && r != nil && r.Promotion != nil && r.Promotion.LostTo != "" {
		return "", false, fmt.Errorf("%s has taken over before: %s accepts no writes. What to do is the message of Stalled: "+
			"kubectl galera status %s", r.Promotion.LostTo, c.Name, c.Name)
	}
	if f := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionFollowing); f != nil &&
		f.Reason != v1alpha1.ReasonFollowing {
		return f.Message, false, nil
	}
	from := c.Followed().String()
	if c.Spec.ReplicaOf != nil {
		from = c.FollowedName()
	}
	return "waiting until the nodes have applied everything from " + from, false, nil
}
