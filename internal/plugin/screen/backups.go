package screen

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
)

// BackupProgress is how far a copy is.
func BackupProgress(p *v1alpha1.BackupProgress) string {
	out := p.BytesDone.String()
	if p.BytesTotal != nil && p.BytesTotal.Value() > 0 {
		out = bar(float64(p.BytesDone.Value())/float64(p.BytesTotal.Value())) + " " + out + " of " + p.BytesTotal.String()
	}
	if p.Rate != nil {
		out += ", " + p.Rate.String() + "/s"
	}
	return out
}

// Backups is a table of a namespace's backups, the latest first, of one cluster if it is named; then of what stores
// hold in addition.
func Backups(all []v1alpha1.GaleraBackup, stores []v1alpha1.GaleraBackupStore, cluster string, s Style) string {
	all = slices.DeleteFunc(slices.Clone(all), func(b v1alpha1.GaleraBackup) bool {
		return cluster != "" &&
			b.Spec.ClusterRef.Name != cluster
	})
	slices.SortFunc(all, func(a, b v1alpha1.GaleraBackup) int {
		return b.CreationTimestamp.Compare(
			a.CreationTimestamp.Time)
	})
	rows := [][]cell{{plain("BACKUP"), plain("CLUSTER"), plain("STORE"), plain("STATE"), plain("SIZE"), plain("AGE"),
		plain("POSITION"), plain("VERIFIED")}}
	known := map[string]bool{}
	for _, b := range all {
		state := backupState(b)
		if elsewhere(b, stores) {
			state = cell{v1alpha1.ReasonStoreChanged, red}
		} else {
			known[b.Status.Directory+"/"+b.Status.ID] = true
			if i := b.Spec.Import; i != nil {
				known[i.Directory+"/"+i.ID] = true
			}
		}
		rows = append(rows, []cell{plain(b.Name), plain(b.Spec.ClusterRef.Name), plain(b.Spec.StoreRef.Name), state,
			plain(quantity(b)), plain(backupAge(b, s)),
			plain(short(b.Status.Position)), verified(b)})
	}
	out := "no backups in this namespace\n"
	if len(all) > 0 {
		const position, store = 6, 2
		out = s.table(rows, position, store)
	}
	return out + otherStores(stores, known, cluster, s)
}

// elsewhere reports whether a backup lies where its store does not lead any more.
func elsewhere(b v1alpha1.GaleraBackup, stores []v1alpha1.GaleraBackupStore) bool {
	return slices.ContainsFunc(stores, func(s v1alpha1.GaleraBackupStore) bool {
		return s.Name == b.Spec.StoreRef.Name && location.Changed(b.Status.Store, &s) != ""
	})
}

func backupState(b v1alpha1.GaleraBackup) cell {
	switch b.Status.Phase {
	case v1alpha1.BackupCompleted:
		return cell{b.Status.Phase, green}
	case v1alpha1.BackupFailed:
		return cell{b.Status.Phase, red}
	case v1alpha1.BackupRunning:
		if p := b.Status.Progress; p != nil {
			return cell{strings.TrimSpace(b.Status.Phase + " " + p.Summary), yellow}
		}
	}
	return cell{b.Status.Phase, yellow}
}

func quantity(b v1alpha1.GaleraBackup) string {
	if b.Status.StoredSize == nil {
		return ""
	}
	return b.Status.StoredSize.String()
}

func backupAge(b v1alpha1.GaleraBackup, s Style) string {
	if b.Status.CompletedAt == nil {
		return ""
	}
	return age(s.Now.Sub(b.Status.CompletedAt.Time))
}

func verified(b v1alpha1.GaleraBackup) cell {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	switch {
	case c == nil:
		return plain("-")
	case c.Status == metav1.ConditionTrue:
		return cell{"✓ " + b.Spec.Verify, green}
	case c.Reason == v1alpha1.ReasonVerifying:
		return cell{"…", yellow}
	}
	return cell{"✗ " + c.Reason, red}
}

// otherStores are the latest backups of stores that no GaleraBackup is about: of another namespace, another Kubernetes,
// or a deleted object.
func otherStores(stores []v1alpha1.GaleraBackupStore, known map[string]bool, cluster string, s Style) string {
	rows := [][]cell{{plain("IN STORE"), plain("DIRECTORY"), plain("ID"), plain("AGE")}}
	out := ""
	for _, store := range stores {
		for _, b := range store.Status.Latest {
			parts := strings.Split(b.Directory, "/")
			if known[b.Directory+"/"+b.ID] || cluster != "" && (len(parts) < 2 || parts[1] != cluster) {
				continue
			}
			rows = append(rows, []cell{plain(store.Name), plain(b.Directory), plain(b.ID), plain(s.since(b.CompletedAt.Time))})
		}
		if c := meta.FindStatusCondition(store.Status.Conditions, v1alpha1.ConditionReachable); c != nil &&
			c.Status != metav1.ConditionTrue {
			out += s.note(red, store.Name, fmt.Sprintf("cannot be used: %s: %s", c.Reason, c.Message))
		}
	}
	if len(rows) > 1 {
		out = s.table(rows) + out
	}
	if out == "" {
		return ""
	}
	return "\n" + out
}
