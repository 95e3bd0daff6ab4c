// Package archiving has the binary log of a GaleraCluster archived: it keeps the archiver's account and its
// Deployment, asks it how far it is, and asks for the backup that the archive goes on from.
package archiving

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/deployed"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraclusters/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerausers,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackups,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupstores,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods;secrets,verbs=get;list;watch

// askInterval is how often the archiver is asked.
const askInterval = 5 * time.Second

// switchInterval is the same while clients wait for another site to take over.
const switchInterval = time.Second

// Reconciler reconciles the archive of one GaleraCluster.
type Reconciler struct {
	client.Client
	// Live reads past the cache.
	Live    client.Reader
	Objects *apply.Objects
	Options resources.Options
	Jobs    job.Options
	// Calls ask archivers, at their addresses, how far they are, with their certificates and keys.
	Calls *calls.Calls[string, deployed.Question, task.Archived]
	// Aligning asks primaries to have all nodes count GTIDs from one number on.
	Aligning *calls.Calls[observe.Target, agentapi.Alignment, agentapi.AlignmentResult]
	Agents   interface {
		Target(cluster types.NamespacedName, pod string) (observe.Target, bool)
		Seen(cluster types.NamespacedName) map[string]observe.Seen
	}
	Events events.EventRecorder
	// Now is the clock. Today is the earliest that the clocks show which are known, and Late the latest.
	Now, Today, Late func() time.Time

	alike alike
}

// Reconcile makes one pass.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	defer r.Calls.EndPass(req.NamespacedName)
	defer r.Aligning.EndPass(req.NamespacedName)
	c := &v1alpha1.GaleraCluster{}
	if err := r.Get(ctx, req.NamespacedName, c); err != nil || c.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if c.Paused() {
		return ctrl.Result{}, nil
	}
	if !c.ArchivesBinlog() {
		return retry.Pass(0, r.end(ctx, c))
	}
	if c.Status.ClusterUUID == "" || c.Follows() {
		return retry.Pass(0, r.pause(ctx, c)) // what it follows is complete when it is independent
	}
	if c.Spec.Hibernate {
		return retry.Pass(0, r.stopArchiver(ctx, c))
	}
	if c.Status.Backup == nil || c.Status.Backup.Session == "" {
		return retry.Pass(askInterval, r.beginSession(ctx, c))
	}
	f, err := r.observe(ctx, c)
	if err != nil {
		return retry.Pass(0, errors.Join(err, r.forgetEnds(ctx, c)))
	}
	next := c.DeepCopy()
	archival.Relocate(next, f, r.Late())
	ask := archival.Decide(next.Status.Backup, f)
	next.Status.EndedArchive = archival.Remembered(next.Status.EndedArchive, r.Today())
	archival.Supersede(next, f.Archived)
	f.Ends, f.Alike = r.ends(c)
	if lost, err := r.lost(ctx, c); err != nil || lost {
		return retry.Pass(switchInterval, err)
	}
	archival.SwitchSite(next, f)
	if !equality.Semantic.DeepEqual(c.Status, next.Status) {
		if err := r.Status().Update(ctx, next); err != nil {
			return retry.Pass(askInterval, err)
		}
	}
	if ask.Name != "" {
		err = r.makeBase(ctx, c, ask)
	}
	if align, _ := archival.Align(f); align && !next.Refuses() { // it writes
		err = errors.Join(err, r.align(ctx, next, *f.Archived.Skew))
	}
	if archival.Urgent(next.Status.SwitchSite) {
		return retry.Pass(switchInterval, err)
	}
	return retry.Pass(askInterval, err)
}

// align asks the primary's agent to have all nodes count GTIDs from one number on. It does so once for what was seen
// before: a pass that is killed, or comes too early to see it done, asks again.
func (r *Reconciler) align(ctx context.Context, c *v1alpha1.GaleraCluster, skew task.Skew) error {
	key := client.ObjectKeyFromObject(c)
	target, followed := r.Agents.Target(key, c.Status.Primary)
	if !followed {
		return nil // asked again
	}
	size := len(c.Status.Members)
	if a := c.Status.Arbitrator; a != nil && a.Connected {
		size++
	}
	done, err := r.Aligning.Ask(ctx, calls.By{Cluster: key, Object: key}, target, agentapi.Alignment{Seqno: skew.Seqno,
		Spread: skew.Spread, Size: size})
	switch {
	case calls.Quiet(err):
		return err
	case err != nil:
		return fmt.Errorf("the nodes' numbers could not be aligned: %w", err)
	case done.Number > 0:
		r.Events.Eventf(c, nil, corev1.EventTypeNormal, v1alpha1.ReasonNumbersAligned, "AlignNumbers",
			"the nodes numbered transactions differently (%s): all of them count from %d on now", skew.Why, done.Number)
		next := c.DeepCopy()
		next.Status.Backup.AlignedAt = &metav1.Time{Time: r.Now()}
		return r.Status().Update(ctx, next) // the agent does not do it twice for what was seen before
	}
	return nil
}

// beginSession writes down that the archive is enabled from now on, before anything is archived: what was committed
// before, while no node had a binary log, is in no chain of this session.
func (r *Reconciler) beginSession(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	next := c.DeepCopy()
	if next.Status.Backup == nil {
		next.Status.Backup = &v1alpha1.ArchiveStatus{}
	}
	next.Status.Backup.Session = strings.ToLower(rand.Text()[:12])
	next.Status.Backup.Window = &metav1.Duration{Duration: archival.Window(c, nil)} // that of the store once it is read
	return r.Status().Update(ctx, next)
}

// observe has the archiver there, and asks it.
func (r *Reconciler) observe(ctx context.Context, c *v1alpha1.GaleraCluster) (archival.Facts, error) {
	f := archival.Facts{Cluster: c, Now: r.Now(), Today: r.Today()}
	if !c.RenewsWriteLease() { // also without a store
		if err := r.endLease(ctx, c); err != nil {
			return f, err
		}
	}
	s := &v1alpha1.GaleraBackupStore{}
	err := r.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Spec.Backup.StoreRef.Name}, s)
	if apierrors.IsNotFound(err) {
		f.Problem = archival.Problem{Reason: v1alpha1.ReasonStoreNotFound,
			Message: "there is no GaleraBackupStore " + c.Spec.Backup.StoreRef.Name +
				" in this namespace: create it, or correct spec.backup.storeRef"}
		return f, nil
	}
	if err != nil {
		return f, err
	}
	f.Store = s
	var backups v1alpha1.GaleraBackupList
	if err := r.List(ctx, &backups, client.InNamespace(c.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return f, err
	}
	f.Backups = backups.Items
	if err := r.Objects.Apply(ctx, c.UID, job.ArchiverUser(c)); err != nil {
		return f, err
	}
	binding := &corev1.Secret{}
	err = r.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: job.ArchiverUser(c).BindingName()}, binding)
	if apierrors.IsNotFound(err) || err == nil && len(binding.Data[corev1.TLSCertKey]) == 0 {
		f.Problem = archival.Problem{Reason: v1alpha1.ReasonArchiverStarting,
			Message: "waiting for the archiver's account and certificate (GaleraUser " + resources.ArchiverName(c) + ")"}
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if reason, message := status.StoreProblem(s); reason == "" {
		ids, more := f.Damaged()
		d, err := job.Archiver(c, s, job.Damaged{IDs: ids, More: more}, r.Options, r.Jobs)
		if err != nil {
			return f, err
		}
		if err := r.Objects.Apply(ctx, c.UID, d); err != nil {
			return f, err
		}
		if f.NoLease, err = r.lease(ctx, c, s); err != nil {
			return f, err
		}
	} else { // the archiver stays as it is: no pod gets what a store names before that was checked
		f.Problem = archival.Problem{Reason: reason, Message: message}
	}
	return r.ask(ctx, f, slices.Concat(binding.Data[corev1.TLSCertKey], []byte("\n"),
		binding.Data[corev1.TLSPrivateKeyKey]))
}

// ask asks the pod of the archiver.
func (r *Reconciler) ask(ctx context.Context, f archival.Facts, pair []byte) (archival.Facts, error) {
	key, question := client.ObjectKeyFromObject(f.Cluster), deployed.Question{Pair: string(pair)}
	if s := f.Cluster.Status.SwitchSite; s != nil && s.Phase == v1alpha1.SwitchStopping { // it archives what there is
		question.Asks = task.AskHurry
	}
	answer, silent, err := deployed.Ask(ctx, r.Client, f.Cluster.Namespace, resources.ArchiverName(f.Cluster),
		job.ArchiverLabels(f.Cluster), func(address string) (task.Archived, error) {
			return r.Calls.Ask(ctx, calls.By{Cluster: key, Object: key}, address, question)
		})
	f.Archived, f.Silent = answer, silent
	return f, err
}

// makeBase asks for the backup that the archive goes on from. One that has failed goes first: a later pass creates the
// one that takes its name.
func (r *Reconciler) makeBase(ctx context.Context, c *v1alpha1.GaleraCluster, ask archival.Request) error {
	if ask.Failed != nil {
		return r.removeFailed(ctx, ask.Failed.DeepCopy())
	}
	b := &v1alpha1.GaleraBackup{
		ObjectMeta: metav1.ObjectMeta{Name: ask.Name, Namespace: c.Namespace, Labels: map[string]string{
			v1alpha1.LabelCluster: c.Name, v1alpha1.LabelArchiveOf: string(c.UID)}},
		Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: c.Name}, StoreRef: c.Spec.Backup.StoreRef,
			DeletionPolicy: v1alpha1.BackupRetain},
	}
	return client.IgnoreAlreadyExists(r.Create(ctx, b, client.FieldOwner(ownership.FieldOwner)))
}

// removeFailed deletes a base that has failed, and with it what its attempts have left in the store: nothing names it
// any more afterwards, and there would be more of it every hour.
func (r *Reconciler) removeFailed(ctx context.Context, b *v1alpha1.GaleraBackup) error {
	switch {
	case b.DeletionTimestamp != nil:
		return nil
	case b.Status.ID == "": // it has not begun
	case b.Spec.DeletionPolicy != v1alpha1.BackupDelete:
		before := b.DeepCopy()
		b.Spec.DeletionPolicy = v1alpha1.BackupDelete
		return client.IgnoreNotFound(r.Patch(ctx, b, client.MergeFromWithOptions(before,
			client.MergeFromWithOptimisticLock{}), client.FieldOwner(ownership.FieldOwner)))
	case len(b.Finalizers) == 0: // its own controller adds the one that holds it until then
		return nil
	}
	return client.IgnoreNotFound(r.Delete(ctx, b, client.Preconditions{UID: &b.UID, ResourceVersion: &b.ResourceVersion}))
}

// end removes the archiver. What lies in the store stays, and the status names what the window of that needs yet: until
// status.endedArchive does, status.backup does.
func (r *Reconciler) end(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	if c.Status.Backup == nil && equality.Semantic.DeepEqual(c.Status.EndedArchive,
		archival.Remembered(c.Status.EndedArchive, r.Today())) {
		return nil
	}
	s := &v1alpha1.GaleraBackupStore{}
	if c.Spec.Backup != nil {
		key := client.ObjectKey{Namespace: c.Namespace, Name: c.Spec.Backup.StoreRef.Name}
		if err := client.IgnoreNotFound(r.Get(ctx, key, s)); err != nil {
			return err
		}
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: resources.ArchiverName(c)}}
	if err := errors.Join(ownership.Remove(ctx, r.Client, r.Live, c.UID, d), ownership.Remove(ctx, r.Client, r.Live, c.UID,
		job.ArchiverUser(c)), r.endLease(ctx, c)); err != nil {
		return err
	}
	next := c.DeepCopy()
	next.Status.EndedArchive = archival.TurnOff(c, archival.Window(c, s), r.Today(), r.Late())
	next.Status.Backup = nil
	unknown(next)
	return r.Status().Update(ctx, next)
}

// stopArchiver stops the archiver of a cluster that hibernates, which goes on from the nodes' binary logs, and the pods
// that renew its lease once all nodes have stopped: transactions that are open until then would fail.
func (r *Reconciler) stopArchiver(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	if observe.Hibernated(c) {
		if err := r.endLease(ctx, c); err != nil {
			return err
		}
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: resources.ArchiverName(c)}}
	if err := ownership.Remove(ctx, r.Client, r.Live, c.UID, d); err != nil || c.Status.Backup == nil ||
		c.Status.Backup.Reason == v1alpha1.ReasonHibernated {
		return err
	}
	next := c.DeepCopy()
	next.Status.Backup.Reason, next.Status.Backup.Message, next.Status.Backup.Node = v1alpha1.ReasonHibernated,
		"the cluster hibernates", ""
	unknown(next)
	return r.Status().Update(ctx, next)
}

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("galeraarchive").
		For(&v1alpha1.GaleraCluster{}).
		Owns(&appsv1.Deployment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: retry.Workers, RateLimiter: retry.BackOff()}).
		WatchesRawSource(r.Calls.Source()).
		WatchesRawSource(r.Aligning.Source()).
		Complete(r)
}
