package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// restores is the command restore.
type restores struct{ *env }

// restoreFlags are what a restore is made of.
type restoreFlags struct {
	backup, store, namespace, cluster, uid, id, clone, identity, like, size string
	point                                                                   pointFlags
}

func (f *restoreFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.backup, "backup", "", "a complete GaleraBackup of this namespace")
	flags.StringVar(&f.store, "store", "",
		"a GaleraBackupStore of this namespace, instead of --backup; with --clone the one that the copy goes through")
	flags.StringVar(&f.namespace, "from-namespace", "",
		"with --store: namespace that was backed up. Default: this one")
	flags.StringVar(&f.cluster, "from-cluster", "", "with --store: cluster that was backed up. Default: NAME")
	flags.StringVar(&f.uid, "from-uid", "",
		"with --store: UID of that cluster, if several of its name have backups there")
	flags.StringVar(&f.id, "id", "",
		"with --store: the backup's id. Default: the latest, or the latest before the point")
	flags.StringVar(&f.point.time, "time", "",
		"restore everything committed before this whole second, as 2026-11-24T12:30:00Z; its own transactions are left out")
	flags.StringVar(&f.point.gtid, "gtid", "", "restore everything up to this transaction and with it, as 0-1-4711")
	flags.BoolVar(&f.point.latest, "latest", false, "restore everything that was archived")
	flags.StringVar(&f.clone, "clone", "",
		"with --store: begin with what this living cluster holds now, [NAMESPACE/]NAME")
	flags.StringVar(&f.identity, "identity", "", "Secret with the private key (required)")
	flags.StringVar(&f.like, "like", "", "take the rest of the spec from this cluster")
	flags.StringVar(&f.size, "size", "", "size of the volumes, without --like")
}

// Texts of the command restore.
const (
	restoreLong = "Make a new cluster that begins with a backup: every node restores it on its own volume. An existing " +
		"cluster is never changed.\n\n" +
		"With --time, --gtid or --latest it goes on to that point with the archive of the binary log " +
		"(spec.backup.pointInTime). With --store and without --id the latest backup before that point is taken.\n\n" +
		"With --clone it begins with what a living cluster holds now; the copy goes through --store. A cluster of another " +
		"namespace must name this one in its spec.allowedCloneNamespaces.\n\n" +
		"With --table or --database it brings one table, or all tables of a database, back into the living cluster NAME, " +
		"under another name (GaleraRestore). NAME may be left out if the namespace has one cluster, and --store if that has " +
		"spec.backup.storeRef."
	restoreExample = "  kubectl galera restore shop2 --backup shop-now --identity backup-identity --like shop --wait\n" +
		"  kubectl galera restore shop2 --store offsite --from-cluster shop --time 2026-11-24T12:30:00Z --identity " +
		"backup-identity --like shop --wait\n" +
		"  kubectl galera restore shop2 --clone prod/shop --store offsite --identity backup-identity --size 10Gi --wait\n" +
		"  kubectl galera restore shop --store offsite --identity backup-identity --size 10Gi --dry-run >shop.yaml\n" +
		"  kubectl galera restore shop --table shop.orders --time 2026-11-24T12:30:00Z --as orders_before --identity " +
		"backup-identity --wait"
)

// restore makes a new cluster from a backup, or from a living cluster.
func (e restores) restore() *cobra.Command {
	var f restoreFlags
	var tables tableFlags
	var format string
	var wait, dryRun bool
	var timeout time.Duration
	c := e.onCluster("restore", "Make a new cluster from a backup or as a clone, or bring a table back into a living one",
		func(ctx context.Context, name string) error {
			if tables.asked() {
				within := timeout
				if !wait {
					within = 0
				}
				return e.restoreTables(ctx, name, f, tables, dryRun, format, within)
			}
			c, err := e.restored(ctx, name, f, time.Now())
			if err != nil {
				return err
			}
			if dryRun {
				return e.print(manifestOf(c), format)
			}
			if err := e.kube.Create(ctx, c); err != nil {
				return err
			}
			e.say("the cluster %s is made", name)
			if wait {
				if err := e.settle(ctx, name, timeout, ready); err != nil {
					return err
				}
			}
			if format != "" {
				return e.printObject(ctx, c, format)
			}
			return nil
		})
	outputFlag(c, &format)
	c.Long, c.Example = restoreLong, restoreExample
	f.bind(c.Flags())
	tables.bind(c.Flags())
	c.Args = func(cmd *cobra.Command, args []string) error {
		if tables.asked() {
			return cobra.MaximumNArgs(1)(cmd, args)
		}
		return cobra.ExactArgs(1)(cmd, args)
	}
	c.RunE = e.orOnlyCluster(c.RunE)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "print the resource, and make nothing")
	waitFlags(c, &wait, &timeout)
	return c
}

func (e restores) restored(ctx context.Context, name string, f restoreFlags, now time.Time) (*v1alpha1.GaleraCluster,
	error) {
	var like *v1alpha1.GaleraCluster
	if f.like != "" {
		var err error
		if like, err = e.cluster(ctx, f.like); err != nil {
			return nil, err
		}
	}
	c, err := newCluster(name, f, like, now)
	if err != nil {
		return nil, err
	}
	c.Namespace = e.namespace
	return c, outside(c, e.knownOf(ctx, c))
}

// refused is what is wrong with the flags.
func (f restoreFlags) refused() error {
	switch {
	case f.identity == "":
		return errors.New(
			"--identity is missing: the Secret with the private key of one of the backup's recipients, under the key " +
				"\"identity\"")
	case f.clone != "" && f.store == "":
		return errors.New(
			"--store is missing: a clone's copy goes through a GaleraBackupStore of this namespace, encrypted for its " +
				"recipients")
	case (f.backup == "") == (f.store == ""):
		return errors.New("name what to restore: one of --backup and --store")
	case f.backup != "" && f.stored():
		return errors.New("--from-namespace, --from-cluster, --from-uid and --id go with --store")
	case f.clone != "" && f.stored():
		return errors.New("--from-namespace, --from-cluster, --from-uid and --id name a backup, and a clone has none: " +
			"leave out these or --clone")
	case f.clone != "" && f.point != pointFlags{}:
		return errors.New(
			"a clone is of the moment at which it is copied. For an earlier one name the store of the source's backups: " +
				"--store and --from-cluster, without --clone")
	case f.like == "" && f.size == "":
		return errors.New("name --size, or a cluster with --like")
	}
	return nil
}

// stored reports whether they name a backup in a store.
func (f restoreFlags) stored() bool {
	return f.namespace != "" || f.cluster != "" || f.uid != "" || f.id != ""
}

// source is what the flags say to begin with.
func (f restoreFlags) source() (b v1alpha1.BootstrapFrom, err error) {
	b.IdentitySecretRef = v1alpha1.SecretKey{Name: f.identity}
	switch {
	case f.backup != "":
		b.Backup = &v1alpha1.LocalName{Name: f.backup}
	case f.clone == "":
		b.Store = &v1alpha1.BootstrapStore{Name: f.store, Namespace: f.namespace, Cluster: f.cluster, ClusterUID: f.uid,
			ID: f.id}
	default:
		namespace, name, found := strings.Cut(f.clone, "/")
		if !found {
			namespace, name = "", f.clone
		}
		if name == "" || strings.Contains(name, "/") || found && namespace == "" {
			return b, fmt.Errorf("--clone %s: write NAME, or NAMESPACE/NAME", f.clone)
		}
		b.Cluster = &v1alpha1.BootstrapCluster{Namespace: namespace, Name: name, StoreRef: v1alpha1.LocalName{Name: f.store}}
	}
	return b, nil
}

// newCluster is the cluster of a restore. It is pure.
func newCluster(name string, f restoreFlags, like *v1alpha1.GaleraCluster, now time.Time) (*v1alpha1.GaleraCluster,
	error) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.GaleraClusterSpec{Replicas: 3}}
	if err := f.refused(); err != nil {
		return nil, err
	}
	from, err := f.source()
	if err != nil {
		return nil, err
	}
	if like != nil {
		c.Spec = ofItsOwn(*like.Spec.DeepCopy())
	}
	if f.size != "" {
		size, err := resource.ParseQuantity(f.size)
		if err != nil {
			return nil, fmt.Errorf("--size %s: %w", f.size, err)
		}
		c.Spec.Storage.Size = size
	}
	if from.PointInTime, err = f.point.point(now); err != nil {
		return nil, err
	}
	c.Spec.BootstrapFrom = &from
	return c, nil
}

// ofItsOwn returns the spec of a cluster without what is about that cluster alone. A copy alongside it runs no events,
// and external-dns gives it no host name: both would act in its place. The annotations of load balancers stay: one may
// keep it from being public.
func ofItsOwn(s v1alpha1.GaleraClusterSpec) v1alpha1.GaleraClusterSpec {
	s.Recovery, s.Hibernate, s.StateTransfer.Donors, s.AllowedCloneNamespaces = nil, false, nil, nil
	s.ReplicaOf, s.Cutover, s.SwitchSite, s.OverrulesPromotion = nil, nil, nil, ""
	s.MariaDB.Events = ""
	for _, of := range []*v1alpha1.ServiceSpec{&s.Service, &s.PrimaryService, &s.ReadOnlyService.ServiceSpec} {
		maps.DeleteFunc(of.Annotations, func(key, _ string) bool { return strings.HasPrefix(key, "external-dns.") })
	}
	return s
}

// manifestOf is a cluster as people write it: without status, and without fields that say nothing.
func manifestOf(c *v1alpha1.GaleraCluster) map[string]any {
	metadata := map[string]any{"name": c.Name}
	if c.Namespace != "" {
		metadata["namespace"] = c.Namespace
	}
	return map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "GaleraCluster", "metadata": metadata,
		"spec": plain(c.Spec)}
}

// plain is a spec without fields that say nothing.
func plain(spec any) map[string]any {
	out := map[string]any{}
	text, _ := yaml.Marshal(spec) // our own type can be written
	_ = yaml.Unmarshal(text, &out)
	return prune(out)
}

// prune leaves out empty objects and words: defaults are the API's.
func prune(m map[string]any) map[string]any {
	for k, v := range m {
		switch v := v.(type) {
		case map[string]any:
			if prune(v); len(v) == 0 {
				delete(m, k)
			}
		case string:
			if v == "" {
				delete(m, k)
			}
		case nil:
			delete(m, k)
		}
	}
	return m
}

// orOnlyCluster runs a command that names a cluster with the namespace's only one when none is named.
func (e restores) orOnlyCluster(onNamed func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return onNamed(cmd, args)
		}
		if err := e.connect(); err != nil {
			return err
		}
		name, err := e.onlyCluster(cmd.Context())
		if err != nil {
			return err
		}
		return onNamed(cmd, []string{name})
	}
}
