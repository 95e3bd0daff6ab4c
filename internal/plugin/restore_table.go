package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// tableFlags select a table, or a database, that comes back into a living cluster.
type tableFlags struct{ table, database, into, as, name string }

func (f *tableFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.table, "table", "",
		"restore one table, DATABASE.TABLE, into the living cluster NAME, under another name; nothing there is changed")
	flags.StringVar(&f.database, "database", "",
		"restore all tables of one database into the living cluster NAME, as a new database")
	flags.StringVar(&f.into, "into", "", "with --table: the database that gets the table. Default: the table's own")
	flags.StringVar(&f.as, "as", "",
		"with --table or --database: the new name of the table, or of the database (required)")
	flags.StringVar(&f.name, "name", "",
		"with --table or --database: name of the GaleraRestore. Default: NAME and the time")
}

// asked reports whether a table or a database is named.
func (f tableFlags) asked() bool { return f.table != "" || f.database != "" }

// refused is what is wrong with the flags.
func (f tableFlags) refused(r restoreFlags) error {
	switch {
	case f.table != "" && f.database != "":
		return errors.New("name one of --table and --database")
	case f.as == "":
		return errors.New("--as is missing: the new name. What is there is never overwritten")
	case f.into != "" && f.table == "":
		return errors.New("--into goes with --table")
	case r.identity == "":
		return errors.New("--identity is missing: the Secret with the private key of one of the backup's recipients, under " +
			"the key \"identity\"")
	case r.backup != "" && (r.store != "" || r.stored()):
		return errors.New("--store, --from-namespace, --from-cluster, --from-uid and --id do not go with --backup")
	case r.clone != "" || r.like != "" || r.size != "":
		return errors.New("--clone, --like and --size are for a new cluster, and not for --table and --database")
	}
	return nil
}

// newTableRestore is the GaleraRestore of a command. store is that of the cluster's own backups, "" if it has none. It
// is pure.
func newTableRestore(cluster, store string, r restoreFlags, f tableFlags,
	now time.Time) (*v1alpha1.GaleraRestore, error) {
	if err := f.refused(r); err != nil {
		return nil, err
	}
	o := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Name: f.name}}
	if o.Name == "" {
		const most = 24 // and the time
		o.Name = strings.TrimRight(cluster[:min(len(cluster), most)], "-") + "-" + now.UTC().Format("20060102-150405")
	}
	o.Spec.ClusterRef.Name = cluster
	if r.store != "" {
		store = r.store
	}
	switch {
	case r.backup != "":
		o.Spec.From.Backup = &v1alpha1.LocalName{Name: r.backup}
	case store == "":
		return nil, fmt.Errorf("the cluster %s has no spec.backup.storeRef: name --store or --backup", cluster)
	default:
		o.Spec.From.Store = &v1alpha1.BootstrapStore{Name: store, Namespace: r.namespace, Cluster: r.cluster,
			ClusterUID: r.uid, ID: r.id}
	}
	o.Spec.From.IdentitySecretRef = v1alpha1.SecretKey{Name: r.identity}
	var err error
	if o.Spec.From.PointInTime, err = r.point.point(now); err != nil {
		return nil, err
	}
	if f.database != "" {
		o.Spec.Database = &v1alpha1.RestoreDatabase{Name: v1alpha1.DatabaseName(f.database), As: v1alpha1.DatabaseName(f.as)}
		return o, nil
	}
	database, table, found := strings.Cut(f.table, ".")
	if !found || database == "" || table == "" {
		return nil, fmt.Errorf("--table %s: write DATABASE.TABLE", f.table)
	}
	o.Spec.Table = &v1alpha1.RestoreTable{Database: v1alpha1.DatabaseName(database), Name: v1alpha1.TableName(table),
		Into: v1alpha1.DatabaseName(f.into), As: v1alpha1.TableName(f.as)}
	return o, nil
}

// restoreTables makes a GaleraRestore, and waits for it if that is asked for.
func (e restores) restoreTables(ctx context.Context, name string, r restoreFlags, f tableFlags, dryRun bool,
	format string, wait time.Duration) error {
	c, err := e.cluster(ctx, name)
	if err != nil {
		return err
	}
	store := ""
	if c.Spec.Backup != nil {
		store = c.Spec.Backup.StoreRef.Name
	}
	o, err := newTableRestore(name, store, r, f, time.Now())
	if err != nil {
		return err
	}
	o.Namespace = e.namespace
	if dryRun {
		return e.print(map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "GaleraRestore",
			"metadata": map[string]any{"name": o.Name, "namespace": o.Namespace}, "spec": plain(o.Spec)}, format)
	}
	if err := e.kube.Create(ctx, o); err != nil {
		return err
	}
	e.say("the restore %s is made", o.Name)
	if wait > 0 {
		if err := e.waitRestore(ctx, name, o.Name, wait); err != nil {
			return err
		}
	}
	if format != "" {
		return e.printObject(ctx, o, format)
	}
	return nil
}

// waitRestore waits until a restore has ended, and reports how far it is.
func (e restores) waitRestore(ctx context.Context, cluster, name string, timeout time.Duration) error {
	return e.await(ctx, timeout, task{
		cluster: cluster,
		poll: func(ctx context.Context) (string, bool, error) {
			o := &v1alpha1.GaleraRestore{}
			if err := e.kube.Get(ctx, e.key(name), o); err != nil {
				return "", false, forGood(err)
			}
			return restoreLine(o)
		},
		late:   "the restore " + name + " has not ended yet",
		goesOn: "it goes on: kubectl get galerarestore " + name,
	})
}

// restoreLine reports where a restore stands, and whether that is its end. It is pure.
func restoreLine(o *v1alpha1.GaleraRestore) (line string, done bool, err error) {
	c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionComplete)
	switch {
	case c == nil:
		return "waiting for the operator", false, nil
	case o.Status.Phase == v1alpha1.RestoreFailed:
		return "", true, fmt.Errorf("the restore %s has failed: %s", o.Name, c.Message)
	}
	return c.Message, o.Status.Phase == v1alpha1.RestoreCompleted, nil
}

// onlyCluster is the name of the only cluster of the namespace.
func (e restores) onlyCluster(ctx context.Context) (string, error) {
	var all v1alpha1.GaleraClusterList
	if err := e.kube.List(ctx, &all, client.InNamespace(e.namespace)); err != nil {
		return "", err
	}
	if len(all.Items) != 1 {
		return "", fmt.Errorf("this namespace has %d GaleraClusters: name one", len(all.Items))
	}
	return all.Items[0].Name, nil
}
