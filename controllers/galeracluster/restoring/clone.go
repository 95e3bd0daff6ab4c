package restoring

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// A clone is a backup followed by a restore: a GaleraBackup of the clone's own namespace copies the living cluster into
// a store of that namespace. The consent of the source is asked for here, so that nothing is begun without it, and
// again by the controller of backups at each of its passes.

// copied is what is known of the copy that a clone begins with.
type copied struct {
	source  *v1alpha1.GaleraCluster // nil when there is none that can be seen
	watched bool                    // the operator sees the source's namespace
	backup  *v1alpha1.GaleraBackup  // the temporary one, nil when there is none
	image   string                  // of the clone
}

// step is what a clone does next.
type step struct {
	find       *task.Find // where the complete copy lies; nil while it is not complete
	make, drop bool       // the temporary backup
	failed     bool       // it has failed: the next one is made after a pause
	since      metav1.Time
	problem    problem // keeps it from going on
	message    string  // what is under way
}

// observeClone finds out what a clone does next, where nothing else keeps it from that.
func (r *Reconciler) observeClone(ctx context.Context, f *facts) (err error) {
	c := f.cluster
	namespace, name := clone.Source(c)
	if name == "" || f.blocker.reason != "" {
		return nil
	}
	k := copied{watched: r.Sources.Watches(namespace), image: resources.Image(c, r.Options)}
	if k.source, err = r.Sources.Find(ctx, namespace, name); err != nil {
		return err
	}
	if k.backup, err = r.copyOf(ctx, c); err != nil {
		return err
	}
	if s := c.Status.Restore; s.Phase == v1alpha1.RestoreRestoring {
		f.blocker = lostCopy(s, k.backup)
		return nil
	}
	f.clone = cloning(c, k)
	if f.blocker = f.clone.problem; f.clone.find != nil {
		f.source.find = *f.clone.find
	}
	return nil
}

// lostCopy is the problem that the copy is gone whose restore has begun. Another one would begin another history than
// that of the volumes which are filled.
func lostCopy(s *v1alpha1.RestoreStatus, b *v1alpha1.GaleraBackup) problem {
	if b != nil && b.Status.ID == s.ID && b.Status.Phase == v1alpha1.BackupCompleted {
		return problem{}
	}
	return problem{v1alpha1.ReasonBackupNotFound,
		fmt.Sprintf(
			"the copy %s was deleted before every volume was filled with it: delete this cluster and its claims, and create "+
				"it again", s.ID)}
}

// copyOf returns the backup of that name, nil when there is none.
func (r *Reconciler) copyOf(ctx context.Context, c *v1alpha1.GaleraCluster) (*v1alpha1.GaleraBackup, error) {
	b := &v1alpha1.GaleraBackup{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: clone.BackupName(c)}, b); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return b, nil
}

// cloning returns what a clone does next, until its volumes are being filled. It is pure.
func cloning(c *v1alpha1.GaleraCluster, k copied) step {
	b := k.backup
	if b == nil {
		if p := refused(c, k); p.reason != "" {
			return step{problem: p}
		}
		return step{make: true, message: "about to copy the cluster " + named(c)}
	}
	reason, message, stalled := backupStatus(b)
	switch {
	case b.DeletionTimestamp != nil && stalled:
		return step{problem: problem{reason, fmt.Sprintf("waiting for the GaleraBackup %q of an earlier copy to go: %s",
			b.Name, message)}}
	case b.DeletionTimestamp != nil:
		return step{message: fmt.Sprintf("waiting for the GaleraBackup %q of an earlier copy to go", b.Name)}
	case clone.Owner(b) == nil || clone.Owner(b).UID != c.UID:
		return step{problem: problem{v1alpha1.ReasonNameConflict,
			fmt.Sprintf("the GaleraBackup %q was not made for this cluster: delete it, or choose another name for the cluster",
				b.Name)}}
	case !clone.Fits(b, c):
		return step{drop: true, message: "removing the copy that spec.bootstrapFrom named before"}
	case b.Status.Phase == v1alpha1.BackupCompleted:
		return step{find: &task.Find{Dir: b.Status.Directory, ID: b.Status.ID}}
	case b.Status.Phase == v1alpha1.BackupFailed:
		return step{drop: true, failed: true, since: b.CreationTimestamp,
			problem: problem{cmp.Or(reason, v1alpha1.ReasonBackupFailed),
				fmt.Sprintf("the cluster %s could not be copied, and that is tried again: %s", named(c), message)}}
	case b.Status.Phase == v1alpha1.BackupRunning:
		return step{message: fmt.Sprintf("copying the cluster %s: %s", named(c), message)}
	}
	if p := refused(c, k); p.reason != "" {
		return step{problem: p}
	}
	if stalled {
		return step{problem: problem{reason, message}}
	}
	return step{message: fmt.Sprintf("about to copy the cluster %s: %s", named(c), message)}
}

// backupStatus returns what a backup reports.
func backupStatus(b *v1alpha1.GaleraBackup) (reason, message string, stalled bool) {
	if s := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled); s != nil &&
		s.Status == metav1.ConditionTrue {
		return s.Reason, s.Message, true
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete); c != nil {
		return c.Reason, c.Message, false
	}
	return "", "its backup is about to begin", false
}

// refused is why a cluster cannot be cloned now. The state of one in another namespace is disclosed only to a namespace
// that it admits.
func refused(c *v1alpha1.GaleraCluster, k copied) problem {
	namespace, name := clone.Source(c)
	s := k.source
	switch {
	case !k.watched:
		return problem{v1alpha1.ReasonNamespaceRefused,
			fmt.Sprintf(
				"the operator does not watch the namespace %s, and cannot clone what is there: have it watch both namespaces",
				namespace)}
	case namespace != c.Namespace && !clone.Admits(s, c.Namespace):
		return problem{v1alpha1.ReasonNamespaceRefused, clone.Refusal(namespace, name, c.Namespace)}
	case s == nil:
		return problem{v1alpha1.ReasonClusterNotFound,
			fmt.Sprintf("there is no GaleraCluster %q in this namespace: create it, or correct spec.bootstrapFrom.cluster",
				name)}
	case s.UID == c.UID:
		return problem{v1alpha1.ReasonClusterNotFound,
			"spec.bootstrapFrom.cluster names this cluster itself: name another one, or remove it for an empty cluster"}
	case s.DeletionTimestamp != nil:
		return problem{v1alpha1.ReasonClusterNotFound, fmt.Sprintf("the cluster %s is being deleted: name another one",
			named(c))}
	case validate.TooOld(k.image, version(s)):
		return problem{v1alpha1.ReasonVersionRefused,
			fmt.Sprintf(
				"the cluster %s runs MariaDB %s, and spec.image is %s, an earlier series, which cannot read its data: set "+
					"spec.image to that series or a later one", named(c), version(s), k.image)}
	case s.Paused():
		return problem{v1alpha1.ReasonClusterPaused,
			fmt.Sprintf("the cluster %s is paused (annotation %s): it is copied when that is removed", named(c),
				v1alpha1.AnnotationPause)}
	case s.Spec.Hibernate:
		return problem{v1alpha1.ReasonBackupWaiting,
			fmt.Sprintf("the cluster %s hibernates: it is copied when it serves again (spec.hibernate: false)", named(c))}
	case !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionAvailable):
		return problem{v1alpha1.ReasonBackupWaiting,
			fmt.Sprintf(
				"the cluster %s does not accept writes (its condition Available explains why): it is copied when it does",
				named(c))}
	}
	return problem{}
}

// version is the latest that a node of a cluster was seen to run: a backup may be of any of them.
func version(c *v1alpha1.GaleraCluster) (latest string) {
	for _, m := range c.Status.Members {
		if latest == "" || galera.Older(latest, m.Version) {
			latest = m.Version
		}
	}
	return latest
}

// named is the cluster that c is a clone of, as messages name it.
func named(c *v1alpha1.GaleraCluster) string {
	namespace, name := clone.Source(c)
	return namespace + "/" + name
}

// needed reports whether the copy is still there for something: the clone is not Ready.
func needed(c *v1alpha1.GaleraCluster) bool {
	_, name := clone.Source(c)
	return name != "" && !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady)
}

// tidy removes the copy, and its data from the store, once it is not needed any more.
func (r *Reconciler) tidy(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	if needed(c) {
		return nil
	}
	b, err := r.copyOf(ctx, c)
	if err != nil || b == nil || b.DeletionTimestamp != nil {
		return err
	}
	return apply.Remove(ctx, r.Client, r.Live, c.UID, b)
}
