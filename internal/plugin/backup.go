package plugin

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/screen"
)

// backups are the commands backup and backups.
type backups struct{ *env }

// backupFlags are those of the command backup.
type backupFlags struct {
	store, name, verify, identity string
	incremental                   bool
}

// object is the backup that is made. It is pure.
func (f backupFlags) object(namespace, cluster string) *v1alpha1.GaleraBackup {
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: f.name},
		Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: cluster},
			StoreRef: v1alpha1.LocalName{Name: f.store}, Verify: f.verify}}
	if f.identity != "" {
		b.Spec.IdentitySecretRef = &v1alpha1.SecretKey{Name: f.identity}
	}
	if f.incremental {
		b.Spec.Incremental = &v1alpha1.BackupIncremental{}
	}
	return b
}

// backup makes one.
func (e backups) backup() *cobra.Command {
	var f backupFlags
	var format string
	var wait bool
	var timeout time.Duration
	c := e.onCluster("backup", "Make a backup of a cluster now", func(ctx context.Context, cluster string) error {
		if f.store == "" {
			var err error
			if f.store, err = e.onlyStore(ctx); err != nil {
				return err
			}
		}
		if f.name == "" {
			f.name = backupName(cluster, time.Now())
		}
		b := f.object(e.namespace, cluster)
		if err := e.kube.Create(ctx, b); err != nil {
			return err
		}
		e.say("the backup %s is made", b.Name)
		if wait {
			if err := e.waitBackup(ctx, cluster, b.Name, timeout); err != nil {
				return err
			}
		}
		if format != "" {
			return e.printObject(ctx, b, format)
		}
		return nil
	})
	outputFlag(c, &format)
	c.Flags().StringVar(&f.store, "store", "", "GaleraBackupStore. Default: the only one of the namespace")
	c.Flags().StringVar(&f.name, "name", "", "name of the GaleraBackup. Default: the cluster's and the time")
	c.Flags().BoolVar(&f.incremental, "incremental", false, "copy only what has changed since the latest backup in the "+
		"store; where none can be added to, a full backup is made, with the reason")
	c.Flags().StringVar(&f.verify, "verify", "", "test it afterwards: None, Checksum or Restore. Default: None")
	c.Flags().StringVar(&f.identity, "identity", "", "Secret with the private key, for --verify Restore")
	waitFlags(c, &wait, &timeout)
	return c
}

// backupName is unique to the second, and short enough for the names of Jobs.
func backupName(cluster string, now time.Time) string {
	const most = 36
	return cluster[:min(len(cluster), most)] + "-" + now.UTC().Format("20060102-150405")
}

func (e backups) onlyStore(ctx context.Context) (string, error) {
	var all v1alpha1.GaleraBackupStoreList
	if err := e.kube.List(ctx, &all, client.InNamespace(e.namespace)); err != nil {
		return "", err
	}
	if len(all.Items) != 1 {
		return "", fmt.Errorf("this namespace has %d GaleraBackupStores: name one with --store", len(all.Items))
	}
	return all.Items[0].Name, nil
}

// waitBackup waits until a backup is complete, and tested if that is asked for, and reports how far it is.
func (e backups) waitBackup(ctx context.Context, cluster, name string, timeout time.Duration) error {
	return e.await(ctx, timeout, task{
		cluster: cluster,
		poll: func(ctx context.Context) (string, bool, error) {
			b := &v1alpha1.GaleraBackup{}
			if err := e.kube.Get(ctx, e.key(name), b); err != nil {
				return "", false, forGood(err)
			}
			return backupLine(b)
		},
		late:   "the backup " + name + " is not there yet",
		goesOn: "it goes on: kubectl galera backups",
	})
}

// backupLine reports where a backup stands, and whether that is its end. It is pure.
func backupLine(b *v1alpha1.GaleraBackup) (line string, done bool, err error) {
	complete := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete)
	if complete == nil {
		return "waiting for the operator", false, nil
	}
	line = complete.Message
	if p := b.Status.Progress; p != nil && b.Status.Phase == v1alpha1.BackupRunning {
		line += " " + screen.BackupProgress(p)
	}
	switch {
	case b.Status.Phase == v1alpha1.BackupFailed:
		return line, true, fmt.Errorf("the backup %s has failed: %s", b.Name, complete.Message)
	case b.Status.Phase != v1alpha1.BackupCompleted:
		return line, false, nil
	case b.Spec.Verify == "" || b.Spec.Verify == v1alpha1.VerifyNone:
		return line, true, nil
	}
	verified := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	switch v := b.Status.Verification; {
	case verified == nil || v == nil || v.Phase == v1alpha1.VerifyRunning:
		return line + " It is being tested.", false, nil
	case verified.Status != metav1.ConditionTrue:
		return line, true, fmt.Errorf("the backup %s has not passed its test: %s", b.Name, verified.Message)
	default:
		return line + " " + verified.Message, true, nil
	}
}

// backups lists what there is: the objects, and what lies in stores without one.
func (e backups) backups() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "backups [CLUSTER]", Short: "List backups, also those in a store that no GaleraBackup is about",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: e.clusterNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.connect(); err != nil {
				return err
			}
			cluster := ""
			if len(args) > 0 {
				cluster = args[0]
			}
			return e.listBackups(cmd.Context(), cluster, format)
		},
	}
	outputFlag(c, &format)
	return c
}

func (e backups) listBackups(ctx context.Context, cluster, format string) error {
	if format != "" {
		return e.printBackups(ctx, cluster, format)
	}
	var all v1alpha1.GaleraBackupList
	if err := e.kube.List(ctx, &all, client.InNamespace(e.namespace)); err != nil {
		return err
	}
	var stores v1alpha1.GaleraBackupStoreList
	if err := e.kube.List(ctx, &stores, client.InNamespace(e.namespace)); err != nil {
		e.say("stores are not shown: %s", err)
	}
	_, err := fmt.Fprint(e.out, screen.Backups(all.Items, stores.Items, cluster, e.style()))
	return err
}

// printBackups prints the objects as the API server has them: with fields that this plugin does not know, and without
// managed fields.
func (e backups) printBackups(ctx context.Context, cluster, format string) error {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("GaleraBackupList"))
	if err := e.kube.List(ctx, all, client.InNamespace(e.namespace)); err != nil {
		return err
	}
	all.Items = slices.DeleteFunc(all.Items, func(b unstructured.Unstructured) bool {
		of, _, _ := unstructured.NestedString(b.Object, "spec", "clusterRef", "name")
		return cluster != "" && of != cluster
	})
	for i := range all.Items {
		all.Items[i].SetManagedFields(nil)
	}
	return e.print(all.UnstructuredContent(), format)
}
