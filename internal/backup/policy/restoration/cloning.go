package restoration

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// CopyFacts is what is known of the copy that a clone begins with.
type CopyFacts struct {
	Source  *v1alpha1.GaleraCluster // nil when there is none that can be seen
	Watched bool                    // the operator sees the source's namespace
	Backup  *v1alpha1.GaleraBackup  // the temporary one, nil when there is none
	Image   string                  // of the clone
}

// Step is what a clone does next.
type Step struct {
	Find       *task.Find // where the complete copy lies; nil while it is not complete
	make, drop bool       // the temporary backup
	failed     bool       // it has failed: the next one is made after a pause
	since      metav1.Time
	Problem    Problem // keeps it from going on
	message    string  // what is in progress
}

// LostCopy is the problem that the copy is gone whose restore has begun. Another one would begin another history than
// that of the volumes which are filled.
func LostCopy(s *v1alpha1.RestoreStatus, b *v1alpha1.GaleraBackup) Problem {
	if b != nil && b.Status.ID == s.ID && b.Status.Phase == v1alpha1.BackupCompleted {
		return Problem{}
	}
	return Problem{v1alpha1.ReasonBackupNotFound,
		fmt.Sprintf(
			"the copy %s was deleted before every volume was filled with it: delete this cluster and its claims, and create "+
				"it again", s.ID)}
}

// Cloning returns what a clone does next, until its volumes are being filled. It is pure.
func Cloning(c *v1alpha1.GaleraCluster, k CopyFacts) Step {
	b := k.Backup
	if b == nil {
		if p := refused(c, k); p.Reason != "" {
			return Step{Problem: p}
		}
		return Step{make: true, message: "about to copy the cluster " + named(c)}
	}
	reason, message, stalled := backupStatus(b)
	switch {
	case b.DeletionTimestamp != nil && stalled:
		return Step{Problem: Problem{reason, fmt.Sprintf("waiting for the GaleraBackup %q of an earlier copy to go: %s",
			b.Name, message)}}
	case b.DeletionTimestamp != nil:
		return Step{message: fmt.Sprintf("waiting for the GaleraBackup %q of an earlier copy to go", b.Name)}
	case clone.Owner(b) == nil || clone.Owner(b).UID != c.UID:
		return Step{Problem: Problem{v1alpha1.ReasonNameConflict,
			fmt.Sprintf("the GaleraBackup %q was not made for this cluster: delete it, or choose another name for the cluster",
				b.Name)}}
	case !clone.Fits(b, c):
		return Step{drop: true, message: "removing the copy that spec.bootstrapFrom named before"}
	case b.Status.Phase == v1alpha1.BackupCompleted:
		return Step{Find: &task.Find{Dir: b.Status.Directory, ID: b.Status.ID, Checksum: b.Status.Checksum}}
	case b.Status.Phase == v1alpha1.BackupFailed:
		return Step{drop: true, failed: true, since: b.CreationTimestamp,
			Problem: Problem{cmp.Or(reason, v1alpha1.ReasonBackupFailed),
				fmt.Sprintf("the cluster %s could not be copied, and that is tried again: %s", named(c), message)}}
	case b.Status.Phase == v1alpha1.BackupRunning:
		return Step{message: fmt.Sprintf("copying the cluster %s: %s", named(c), message)}
	}
	if p := refused(c, k); p.Reason != "" {
		return Step{Problem: p}
	}
	if stalled {
		return Step{Problem: Problem{reason, message}}
	}
	return Step{message: fmt.Sprintf("about to copy the cluster %s: %s", named(c), message)}
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
func refused(c *v1alpha1.GaleraCluster, k CopyFacts) Problem {
	namespace, name := clone.Source(c)
	s := k.Source
	switch {
	case !k.Watched:
		return Problem{v1alpha1.ReasonNamespaceNotAllowed,
			fmt.Sprintf(
				"the operator does not watch the namespace %s, and cannot clone what is there: have it watch both namespaces",
				namespace)}
	case namespace != c.Namespace && !clone.Admits(s, c.Namespace):
		return Problem{v1alpha1.ReasonNamespaceNotAllowed, clone.Refusal(namespace, name, c.Namespace)}
	case s == nil:
		return Problem{v1alpha1.ReasonClusterNotFound,
			fmt.Sprintf("there is no GaleraCluster %q in this namespace: create it, or correct spec.bootstrapFrom.cluster",
				name)}
	case s.UID == c.UID:
		return Problem{v1alpha1.ReasonClusterNotFound,
			"spec.bootstrapFrom.cluster names this cluster itself: name another one, or remove it for an empty cluster"}
	case s.DeletionTimestamp != nil:
		return Problem{v1alpha1.ReasonClusterNotFound, fmt.Sprintf("the cluster %s is being deleted: name another one",
			named(c))}
	case validate.TooOld(k.Image, version(s)):
		return Problem{v1alpha1.ReasonVersionRefused,
			fmt.Sprintf(
				"the cluster %s runs MariaDB %s, and spec.image is %s, an earlier series, which cannot read its data: set "+
					"spec.image to that series or a later one", named(c), version(s), k.Image)}
	case s.Paused():
		return Problem{v1alpha1.ReasonClusterPaused,
			fmt.Sprintf("the cluster %s is paused (annotation %s): it is copied when that is removed", named(c),
				v1alpha1.AnnotationPause)}
	case s.Spec.Hibernate:
		return Problem{v1alpha1.ReasonWaitingForCluster,
			fmt.Sprintf("the cluster %s hibernates: it is copied when it serves again (spec.hibernate: false)", named(c))}
	case !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionAvailable):
		return Problem{v1alpha1.ReasonWaitingForCluster,
			fmt.Sprintf(
				"the cluster %s does not accept writes (its condition Available explains why): it is copied when it does",
				named(c))}
	}
	return Problem{}
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

// Needed reports whether the copy is still there for something: the clone is not Ready.
func Needed(c *v1alpha1.GaleraCluster) bool {
	_, name := clone.Source(c)
	return name != "" && !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady)
}
