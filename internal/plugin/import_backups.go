package plugin

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
)

// storedFlags select backups in a store.
type storedFlags struct{ store, namespace, cluster, uid, id string }

// importBackups makes GaleraBackups of what lies in a store.
func (e backups) importBackups() *cobra.Command {
	var f storedFlags
	c := &cobra.Command{
		Use: "backups", Short: "Create GaleraBackups for backups that are in a store already", Args: cobra.NoArgs,
		Long: "Create GaleraBackups for backups that are in a store already, for instance after a disaster: for each one " +
			"that the store's status lists and that has no GaleraBackup in this namespace. Existing GaleraBackups are not " +
			"changed, nothing in the store is changed, and deleting such a GaleraBackup removes no data.\n\n" +
			"The status lists the latest 20. For an earlier backup, name --from-cluster, --from-uid and --id.",
		Example: "  kubectl galera import backups --store offsite\n" +
			"  kubectl galera import backups --store offsite --from-cluster shop --from-uid a54080f9 --id " +
			"20261124-002934-1aef9dcf",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := e.connect(); err != nil {
				return err
			}
			return e.importAll(cmd.Context(), f)
		},
	}
	c.Flags().StringVar(&f.store, "store", "", "GaleraBackupStore. Default: the only one of the namespace")
	c.Flags().StringVar(&f.namespace, "from-namespace", "", "namespace that was backed up. Default: this one")
	c.Flags().StringVar(&f.cluster, "from-cluster", "", "cluster that was backed up. Default: all")
	c.Flags().StringVar(&f.uid, "from-uid", "", "UID of that cluster, or its first eight characters. Default: all")
	c.Flags().StringVar(&f.id, "id", "", "the backup's id. Default: all")
	return c
}

func (e backups) importAll(ctx context.Context, f storedFlags) (err error) {
	if f.store == "" {
		if f.store, err = e.onlyStore(ctx); err != nil {
			return err
		}
	}
	s := &v1alpha1.GaleraBackupStore{}
	if err := e.kube.Get(ctx, e.key(f.store), s); err != nil {
		return err
	}
	var have v1alpha1.GaleraBackupList
	if err := e.kube.List(ctx, &have, client.InNamespace(e.namespace)); err != nil {
		return err
	}
	all, err := storedBackups(s, have.Items, f)
	if err != nil {
		return err
	}
	for _, b := range all {
		err := e.kube.Create(ctx, b)
		switch {
		case apierrors.IsAlreadyExists(err):
			e.say("%s exists already, and is left as it is. If it is of what the store named before, delete it, and import "+
				"again: its data stay", b.Name)
		case err != nil:
			return err
		default:
			e.say("%s is created, for the backup %s/%s", b.Name, b.Spec.Import.Directory, b.Spec.Import.ID)
		}
	}
	if n := s.Status.Backups; f.id == "" && n != nil && int(*n) > len(s.Status.Latest) {
		e.say("the store has %d backups, and its status lists the latest %d: for another one, name --from-cluster, "+
			"--from-uid and --id", *n, len(s.Status.Latest))
	}
	if len(all) > 0 {
		e.say("see what they hold: kubectl galera backups")
	}
	return nil
}

// storedBackups returns the GaleraBackups to create. It is pure.
func storedBackups(s *v1alpha1.GaleraBackupStore, have []v1alpha1.GaleraBackup, f storedFlags) (
	[]*v1alpha1.GaleraBackup, error) {
	if f.namespace == "" {
		f.namespace = s.Namespace
	}
	f.uid, _, _ = strings.Cut(f.uid, "-")
	listed := s.Status.Latest
	if f.cluster != "" && f.uid != "" && f.id != "" { // it need not be listed
		listed = []v1alpha1.StoredBackup{{Directory: path.Join(f.namespace, f.cluster, f.uid), ID: f.id}}
	} else if s.Status.CheckedAt == nil {
		return nil, fmt.Errorf("the store %s was not checked yet, so its backups are not known: kubectl get gstore %s -o "+
			"wide",
			s.Name, s.Name)
	}
	known := map[string]bool{}
	for _, b := range have {
		if b.Spec.StoreRef.Name != s.Name || location.Changed(b.Status.Store, s) != "" { // another place may hold a copy
			continue
		}
		known[path.Join(b.Status.Directory, b.Status.ID)] = true
		if i := b.Spec.Import; i != nil {
			known[path.Join(i.Directory, i.ID)] = true
		}
	}
	var out []*v1alpha1.GaleraBackup
	found := 0
	for _, b := range listed {
		of := strings.Split(b.Directory, "/")
		if len(of) != 3 || of[0] != f.namespace || f.cluster != "" && of[1] != f.cluster || f.uid != "" && of[2] != f.uid ||
			f.id != "" && b.ID != f.id {
			continue
		}
		if found++; known[path.Join(b.Directory, b.ID)] {
			continue
		}
		out = append(out, &v1alpha1.GaleraBackup{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: importName(of[1], of[2], b.ID)},
			Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: of[1]},
				StoreRef: v1alpha1.LocalName{Name: s.Name}, DeletionPolicy: v1alpha1.BackupRetain,
				Import: &v1alpha1.BackupImport{Directory: b.Directory, ID: b.ID}}})
	}
	switch {
	case found == 0:
		return nil, errors.New("the store's status lists no such backup: kubectl galera backups")
	case len(out) == 0:
		return nil, errors.New("every such backup has a GaleraBackup already: kubectl galera backups")
	}
	return out, nil
}

// lettersFirst are names that may be an object's.
var lettersFirst = regexp.MustCompile(`^[a-z]`)

// importName is the same for the same backup. Two clusters of one name have backups of different IDs, but for those
// that were copied.
func importName(cluster, uid, id string) string {
	const most = 52
	name := cluster
	if !lettersFirst.MatchString(name) {
		name = "b-" + name
	}
	rest := "-" + uid + "-" + id
	if len(rest) > most-2 { // not one that the operator has made
		rest = rest[:most-2]
	}
	return strings.TrimRight(name[:min(len(name), most-len(rest))]+rest, "-")
}
