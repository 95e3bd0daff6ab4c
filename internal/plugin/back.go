package plugin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/external"
)

// backHelp is the part of the help of cutover about the way back.
const backHelp = "With --back the command prints, once the cluster accepts writes, what lets the old server follow " +
	"the cluster from the moment of the cutover, so that going back loses nothing. It changes nothing on the old " +
	"server. It can be run again later."

// askedFor bounds how long nodes are asked for something that a cutover can do without.
const askedFor = 20 * time.Second

// backAccount is the GaleraUser that the old server logs in with, after the cluster's name.
const backAccount = "-back"

func backFlags(c *cobra.Command, f *cutoverFlags) {
	c.Flags().BoolVar(&f.back, "back", false, "print what lets the old server follow the cluster")
	c.Flags().StringVar(&f.host, "back-host", "", "where the old server reaches the cluster's primary")
	c.Flags().IntVar(&f.port, "back-port", v1alpha1.SourcePort, "the port there")
}

// ownPosition is the last transaction of the cluster's own domain.
func (e cutovers) ownPosition(ctx context.Context, c *v1alpha1.GaleraCluster) (own string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askedFor)
	defer cancel()
	err = e.onNodes(ctx, c, func(nodes map[string]*sql.DB) (err error) {
		own, err = external.OwnPosition(ctx, nodes)
		return err
	})
	return own, err
}

// onNodes connects to all nodes as root.
func (e cutovers) onNodes(ctx context.Context, c *v1alpha1.GaleraCluster, use func(map[string]*sql.DB) error) error {
	nodes, err := (&comparison{env: e.env}).nodes(ctx, c)
	defer func() {
		for _, db := range nodes {
			_ = db.Close()
		}
	}()
	if err != nil {
		return err
	}
	return use(nodes)
}

// printBack prints what lets the old server follow the cluster.
func (e cutovers) printBack(ctx context.Context, name string, f cutoverFlags) error {
	c, err := e.cluster(ctx, name)
	if err != nil {
		return err
	}
	if why := noBack(c); why != "" {
		return errors.New(why)
	}
	b := external.Back{Host: f.host, Port: f.port, User: c.Name + backAccount, GTID: c.Spec.Cutover.GTID,
		Own: c.Spec.Cutover.Own}
	if b.Host == "" {
		b.Host = "HOST"
	}
	if c.Spec.TLS.Clients != v1alpha1.TLSDisabled {
		b.CA = "/etc/mysql/" + c.Name + "-ca.crt"
	}
	version, err := e.checkNodes(ctx, c, b)
	if err != nil {
		return err
	}
	if err := e.checkOld(ctx, c, b, version); err != nil {
		return err
	}
	_, err = fmt.Fprint(e.out, backText(c, b))
	return err
}

// noBack is why an old server cannot follow a cluster, as far as its object shows that.
func noBack(c *v1alpha1.GaleraCluster) string {
	switch r := c.Status.Replication; {
	case c.Source() == nil || c.Spec.Cutover == nil:
		return c.Name + " names no server that it was cut over from any more (spec.bootstrapFrom, spec.cutover): its nodes " +
			"may have no binary log"
	case r == nil || r.Role != v1alpha1.RoleIndependent:
		return c.Name + " does not accept writes on all nodes yet: run the command again then"
	case c.Spec.Cutover.Own == "":
		return "where the cluster's own transactions were at the cutover is not known (spec.cutover.own), and so it is not " +
			"known from which one on the old server would have to follow the cluster"
	}
	return ""
}

// checkNodes makes sure that a node has what the old server needs next, and returns the version of the nodes.
func (e cutovers) checkNodes(ctx context.Context, c *v1alpha1.GaleraCluster, b external.Back) (
	version string, err error) {
	within, cancel := context.WithTimeout(ctx, askedFor)
	defer cancel()
	have, foreign := 0, ""
	err = e.onNodes(within, c, func(nodes map[string]*sql.DB) error {
		for _, name := range slices.Sorted(maps.Keys(nodes)) {
			lacks, err := b.Held(within, nodes[name])
			var domain uint64
			if err == nil {
				err = nodes[name].QueryRowContext(within, "SELECT @@version, @@GLOBAL.wsrep_gtid_domain_id").Scan(&version,
					&domain)
			}
			switch {
			case err != nil:
				return fmt.Errorf("%s: %w", name, err)
			case b.Foreign(domain) != "":
				foreign = b.Foreign(domain)
			case lacks != "":
				e.say("%s cannot be followed: %s", name, lacks)
			default:
				have++
			}
		}
		return nil
	})
	switch {
	case foreign != "":
		return version, errors.New(foreign)
	case err != nil:
		e.say("NOT CHECKED: the nodes' binary logs: %s", err)
		return "", nil
	case have == 0:
		return version, errors.New("no node has what follows the cutover in its binary log any more: the old server cannot " +
			"follow the cluster, and would need a copy of it")
	}
	return version, nil
}

// checkOld makes sure that the old server can follow the cluster, if it can be asked.
func (e cutovers) checkOld(ctx context.Context, c *v1alpha1.GaleraCluster, b external.Back, version string) error {
	within, cancel := context.WithTimeout(ctx, askedFor)
	defer cancel()
	var old external.OldServer
	server, err := e.source(within, c, c.Followed())
	if err == nil {
		defer func() { _ = server.Close() }()
		old, err = external.Old(within, server)
	}
	if err != nil {
		e.say("NOT CHECKED: the old server: %s", err)
		return nil
	}
	if warns := old.Warns(version); warns != "" {
		e.say("WARNING: the old server may cease to follow: %s", warns)
	}
	if why := b.Refuses(old); len(why) > 0 {
		return fmt.Errorf("the old server %s cannot follow %s: %s", c.Followed(), c.Name, strings.Join(why, ". "))
	}
	return nil
}

// backText is what a person does, in order.
func backText(c *v1alpha1.GaleraCluster, b external.Back) string {
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	require := v1alpha1.RequireTLS
	if b.CA == "" {
		require = v1alpha1.RequireNone
	}
	say("# 1. An account for the old server (kubectl apply -f -):")
	say("apiVersion: %s\nkind: GaleraUser\nmetadata: {name: %s, namespace: %s}", v1alpha1.GroupVersion, b.User,
		c.Namespace)
	say("spec:\n  clusterRef: {name: %s}\n  require: %s\n  grants:\n  - privileges: [REPLICATION SLAVE]", c.Name, require)
	say("\n# Its password:\nkubectl get secret %s-binding -n %s -o jsonpath='{.data.password}' | base64 -d", b.User,
		c.Namespace)
	if b.CA != "" {
		say("\n# 2. The cluster's CA. Copy it to the old server, as %s:", b.CA)
		say("kubectl get configmap %s-ca -n %s -o jsonpath='{.data.ca\\.crt}'", c.Name, c.Namespace)
	}
	// SET GLOBAL gtid_slave_pos and mariadb-backup may wait for each other, without an end.
	say("\n# 3. On the old server, as root, while no backup of it is made. The host leads from there to the Service "+
		"%s-primary, and the nodes' certificate names it (spec.tls.certificate.dnsNames):", c.Name)
	for _, statement := range b.Statements() {
		say("%s;", statement)
	}
	say("\n# Its option file needs read_only, gtid_strict_mode and replicate_wild_ignore_table, too: they end with " +
		"a restart. Leave spec.bootstrapFrom as it is: the nodes have a binary log by it.")
	say("\n# 4. To go back: end all writes to the cluster. Once @@gtid_slave_pos on the old server has what "+
		"@@gtid_binlog_pos of %s-primary has in the domain %s, run on the old server:", c.Name, domainOf(b.Own))
	say("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF;")
	return out.String()
}

// domainOf is the domain of a GTID.
func domainOf(gtid string) string {
	domain, _, _ := strings.Cut(gtid, "-")
	return domain
}
