// Package restoring fills the volumes of a new GaleraCluster with the backup that spec.bootstrapFrom names, or that it
// has made of the living cluster named there, or with the newest one of the cluster that spec.replicaOf names, or the
// first node's with a copy of the other server named there, before there is a pod of a database. The cluster's own
// controller makes its StatefulSet when that is done.
package restoring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraclusters/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackups,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupstores,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create

// whileReseeding is how often what is being removed is looked at.
const whileReseeding = 2 * time.Second

// Reconciler brings the restore of one GaleraCluster a step further, every time it is asked.
type Reconciler struct {
	client.Client
	// Live reads past the cache.
	Live client.Reader
	// Sources are the clusters that may be cloned.
	Sources clone.Sources
	Options resources.Options
	Jobs    job.Options
	// Calls ask the Job that copies another server how far it is.
	Calls *Progress
	// Now is the clock, and Late the latest of those that are known.
	Now, Late func() time.Time
}

// Reconcile makes one pass.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	defer r.Calls.EndPass(req.NamespacedName)
	c := &v1alpha1.GaleraCluster{}
	if err := r.Get(ctx, req.NamespacedName, c); err != nil || c.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if c.Paused() || c.Status.ObservedGeneration < 0 {
		return ctrl.Result{}, nil
	}
	if err := r.tidy(ctx, c); err != nil {
		return retry.Pass(0, err)
	}
	busy, err := r.tidyJobs(ctx, c)
	if err != nil {
		return retry.Pass(0, err)
	}
	if err := r.tidyPair(ctx, c); err != nil {
		return retry.Pass(0, err)
	}
	if done, result, err := r.reseed(ctx, c); done || err != nil {
		return result, err
	}
	if c.Bootstrap() == nil || c.Status.ClusterUUID != "" || c.Status.Restore != nil &&
		c.Status.Restore.Phase == v1alpha1.RestoreCompleted {
		return ctrl.Result{}, nil
	}
	if started, err := r.started(ctx, c); started || err != nil {
		return ctrl.Result{}, err
	}
	f, err := r.observe(ctx, c)
	if err != nil {
		return ctrl.Result{}, err
	}
	f.Busy = busy
	next := c.DeepCopy()
	d := restoration.Decide(&next.Status, f)
	if !equality.Semantic.DeepEqual(c.Status, next.Status) {
		return retry.Pass(d.RequeueAfter, r.Status().Update(ctx, next)) // the intent first
	}
	return retry.Pass(d.RequeueAfter, r.act(ctx, f, d))
}

// started reports whether the cluster has pods, whatever its status has lost: their volumes are no longer this
// package's.
func (r *Reconciler) started(ctx context.Context, c *v1alpha1.GaleraCluster) (bool, error) {
	set := &metav1.PartialObjectMetadata{}
	set.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: resources.StatefulSetName(c)}, set)
	return err == nil, client.IgnoreNotFound(err)
}

func (r *Reconciler) observe(ctx context.Context, c *v1alpha1.GaleraCluster) (restoration.Facts, error) {
	f := restoration.Facts{Cluster: c, Now: r.Now()}
	var err error
	if f.Source, f.Blocker, err = r.source(ctx, c); err != nil || c.Status.Restore == nil {
		return f, err
	}
	if err = r.observeClone(ctx, &f); err != nil {
		return f, err
	}
	if f.Find, err = outcome.Of(ctx, r.Client, c, job.FindName(c), f.Now); err != nil {
		return f, err
	}
	filled := int(c.Spec.Replicas)
	if restoration.IsExternal(c) {
		filled = 1 // the others receive an SST
	}
	for i := range filled {
		o, err := outcome.Of(ctx, r.Client, c, job.RestoreName(c, i), f.Now)
		if err != nil {
			return f, err
		}
		f.Members = append(f.Members, o)
	}
	if restoration.IsExternal(c) && c.Status.Restore.Phase == v1alpha1.RestoreRestoring {
		f.Copied, err = r.copied(ctx, c, f.Members[0].Address)
	}
	return f, err
}

// source finds the store, and where in it the backup is searched for.
func (r *Reconciler) source(ctx context.Context, c *v1alpha1.GaleraCluster) (
	s restoration.Source, p restoration.Problem, err error) {
	from, field := c.Bootstrap(), c.BootstrapField()
	var name string
	switch {
	case from.External != nil:
		s.Store, p, err = r.external(ctx, c)
		return s, p, err
	case from.Cluster != nil:
		name = from.Cluster.StoreRef.Name // the copy reports what is found there
	default:
		s, p, err = Stored(ctx, r.Client, c, from.Backup, from.Store, field)
	}
	if name != "" {
		s.Store, p, err = storeOf(ctx, r.Client, c.Namespace, name, field)
	}
	if p.Reason != "" || err != nil {
		return s, p, err
	}
	t, wrong := restoration.Target(c)
	if wrong != "" {
		return s, restoration.Problem{Reason: v1alpha1.ReasonPointInTimeUnavailable, Message: wrong}, nil
	}
	s.Find.Target, s.Find.After = t, restoration.After(c)
	p, err = Identity(ctx, r.Live, c.Namespace, from.IdentitySecretRef, field+".identitySecretRef")
	return s, p, err
}

// Stored finds the backup, or where it is searched for, that a field of an object in the namespace of a cluster names.
func Stored(ctx context.Context, kube client.Reader, c *v1alpha1.GaleraCluster, backup *v1alpha1.LocalName,
	store *v1alpha1.BootstrapStore, field string) (s restoration.Source, p restoration.Problem, err error) {
	var name string
	b := &v1alpha1.GaleraBackup{}
	if backup != nil {
		err := kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: backup.Name}, b)
		switch {
		case apierrors.IsNotFound(err):
			return s, problem(v1alpha1.ReasonBackupNotFound,
				"%s names the GaleraBackup %q, which does not exist in this namespace: correct the name, or import the backup "+
					"from its store", field, backup.Name), nil
		case err != nil:
			return s, p, err
		case b.Status.Phase != v1alpha1.BackupCompleted:
			return s, problem(v1alpha1.ReasonBackupNotFound,
				"the GaleraBackup %q is not complete: it is %s. Wait until it is complete, or name another one", b.Name,
				cmp.Or(b.Status.Phase, v1alpha1.BackupPending)), nil
		}
		name = b.Spec.StoreRef.Name
		s.Find = task.Find{Dir: b.Status.Directory, ID: b.Status.ID, Checksum: b.Status.Checksum}
	} else {
		name, s.Find = store.Name, task.Find{Dir: restoration.DirectoryOf(store, c.Namespace, c.Name), ID: store.ID}
		if field != "spec.replicaOf" { // which begins with the newest backup
			s.Find.IDField = field + ".store.id"
		}
	}
	s.Store, p, err = storeOf(ctx, kube, c.Namespace, name, field)
	if p.Reason == "" && err == nil {
		p = restoration.Moved(b.Status.Store, s.Store, "import the backup again, and name the new GaleraBackup")
	}
	if p.Reason == "" && err == nil {
		s.Known, err = known(ctx, kube, c.Namespace, s.Store)
		s.Find.Damaged = s.Damaged()
	}
	return s, p, err
}

// known are the complete GaleraBackups of a namespace that lie where a store leads.
func known(ctx context.Context, kube client.Reader, namespace string, store *v1alpha1.GaleraBackupStore) (
	[]v1alpha1.GaleraBackup, error) {
	var all v1alpha1.GaleraBackupList
	err := kube.List(ctx, &all, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	return slices.DeleteFunc(all.Items, func(b v1alpha1.GaleraBackup) bool {
		return b.Spec.StoreRef.Name != store.Name || b.Status.Phase != v1alpha1.BackupCompleted ||
			location.Changed(b.Status.Store, store) != ""
	}), err
}

// storeOf returns a store that can be used.
func storeOf(ctx context.Context, kube client.Reader, namespace, name, field string) (*v1alpha1.GaleraBackupStore,
	restoration.Problem, error) {
	s := &v1alpha1.GaleraBackupStore{}
	err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
	if apierrors.IsNotFound(err) {
		return s, problem(v1alpha1.ReasonStoreNotFound, "there is no GaleraBackupStore %q in this namespace: "+
			"create it, or correct %s", name, field), nil
	}
	if err != nil {
		return s, restoration.Problem{}, err
	}
	reason, message := status.StoreProblem(s)
	return s, restoration.Problem{Reason: reason, Message: message}, nil
}

// Identity checks whether the Secret with the private key that a field names is there; what it holds only the Jobs see.
func Identity(ctx context.Context, live client.Reader, namespace string, ref v1alpha1.SecretKey, field string) (
	p restoration.Problem, err error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err = live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, secret)
	if of := secret.Labels[v1alpha1.LabelCluster]; err == nil && of != "" {
		return problem(v1alpha1.ReasonWrongKey, "the Secret %q belongs to the cluster %q: name one with the private key",
			ref.Name, of), nil
	}
	if apierrors.IsNotFound(err) {
		return problem(v1alpha1.ReasonWrongKey, "%s names the Secret %q, which does not exist", field, ref.Name), nil
	}
	return p, err
}

func problem(reason, format string, args ...any) restoration.Problem {
	return restoration.Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// act has the Jobs there that the phase needs.
func (r *Reconciler) act(ctx context.Context, f restoration.Facts, d restoration.Decision) error {
	c := f.Cluster
	if d.Find && restoration.IsExternal(c) {
		j, err := r.inspecting(c, f.Source.Store)
		if err != nil {
			return err
		}
		return ownership.Keep(ctx, r.Client, r.Live, c.UID, j)
	}
	if d.Find {
		j, err := job.Find(c, f.Source.Store, f.Source.Find, r.Jobs)
		if err != nil {
			return err
		}
		return ownership.Keep(ctx, r.Client, r.Live, c.UID, j)
	}
	switch {
	case d.Copy:
		return ownership.Keep(ctx, r.Client, r.Live, c.UID, clone.Backup(c))
	case d.Drop:
		return ownership.Remove(ctx, r.Client, r.Live, c.UID,
			&v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: clone.BackupName(c)}})
	}
	var errs []error
	for _, ordinal := range d.Restore {
		errs = append(errs, r.restore(ctx, f, ordinal))
	}
	for _, ordinal := range d.Claims {
		errs = append(errs, r.claim(ctx, c, ordinal))
	}
	// After the Job: what keeps the pair from being made only keeps the progress from being shown.
	if restoration.IsExternal(c) && c.FromBackup() == nil && c.Status.Restore != nil &&
		c.Status.Restore.Phase == v1alpha1.RestoreRestoring {
		errs = append(errs, r.pair(ctx, c))
	}
	return errors.Join(errs...)
}

// restore has the volume of a member, and the Job that fills it.
func (r *Reconciler) restore(ctx context.Context, f restoration.Facts, ordinal int) error {
	c := f.Cluster
	if c.AtRest() != nil && resources.NeededKeys(c) == nil {
		return nil // the Job waits for the keys
	}
	if err := r.claim(ctx, c, ordinal); err != nil {
		return err
	}
	if restoration.IsExternal(c) {
		j, err := r.importing(c, f.Source.Store)
		if err != nil {
			return err
		}
		return ownership.Keep(ctx, r.Client, r.Live, c.UID, j)
	}
	t, err := taskOf(c)
	if err != nil {
		return err
	}
	j, err := job.Restore(c, f.Source.Store, ordinal, t, r.Options, r.Jobs)
	if err != nil {
		return err
	}
	return ownership.Keep(ctx, r.Client, r.Live, c.UID, j)
}

// claim has the claim of a member. One that is deleted while its Job waits is made again once it is gone: the Job's pod
// would wait for it for ever.
func (r *Reconciler) claim(ctx context.Context, c *v1alpha1.GaleraCluster, ordinal int) error {
	wanted := resources.Claim(c, ordinal)
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(wanted), &corev1.PersistentVolumeClaim{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	return client.IgnoreAlreadyExists(r.Create(ctx, wanted, client.FieldOwner(ownership.FieldOwner)))
}

// taskOf is what the Job of a member does.
func taskOf(c *v1alpha1.GaleraCluster) (task.Restore, error) {
	s := c.Status.Restore
	replay, err := restoration.Replay(c)
	t := task.Restore{Dir: s.Directory, ID: s.ID, Checksum: s.Checksum, History: s.History, Replay: replay,
		Follow: c.Spec.ReplicaOf != nil, Keys: resources.NeededKeys(c),
		Created: mycnf.Created(resources.Settings(c))}
	t.ServerID, t.Domain = resources.Identifiers(c)
	if t.Keys != nil {
		t.Algorithm = c.Status.AtRest.Algorithm
	}
	if limit := c.Bootstrap().RateLimit; limit != nil {
		t.Rate = limit.Value()
	}
	return t, err
}

// SetupWithManager registers the reconciler: it is woken by the cluster, its Jobs, and the copy of a clone.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("galerarestore").
		For(&v1alpha1.GaleraCluster{}).
		WithOptions(controller.Options{RateLimiter: retry.BackOff()}).
		Owns(&batchv1.Job{}).
		Owns(&v1alpha1.GaleraBackup{}).
		WatchesRawSource(r.Calls.Source()).
		Complete(r)
}
