// Package serving has the archive that spec.replicaOf names offered to the cluster's nodes, as a server that they
// follow: it keeps the Deployment NAME-source with what belongs to it, and asks it how far the archive is.
package serving

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/deployed"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/restoring"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraclusters/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupstores,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services;secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch

// askInterval is how often the program is asked, tokenInterval the same while clients wait for this cluster.
const (
	askInterval   = 5 * time.Second
	tokenInterval = 500 * time.Millisecond
)

// Reconciler reconciles what offers an archive to one GaleraCluster.
type Reconciler struct {
	client.Client
	// Live reads past the cache.
	Live    client.Reader
	Objects *apply.Objects
	Jobs    job.Options
	// Calls ask the program, at its address, how far the archive is, with its certificate and its key.
	Calls *calls.Calls[string, deployed.Question, task.Served]
	// Now is the clock.
	Now func() time.Time
}

// Reconcile makes one pass.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	defer r.Calls.EndPass(req.NamespacedName)
	c := &v1alpha1.GaleraCluster{}
	if err := r.Get(ctx, req.NamespacedName, c); err != nil || c.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if c.Paused() {
		return ctrl.Result{}, nil
	}
	if c.Spec.ReplicaOf == nil || !c.Follows() {
		return retry.Pass(0, r.end(ctx, c))
	}
	seeded := c.Status.Restore
	if c.Status.ClusterUUID == "" && (seeded == nil || seeded.Phase != v1alpha1.RestoreRestoring &&
		seeded.Phase != v1alpha1.RestoreCompleted) {
		return ctrl.Result{}, nil
	}
	served, problem, err := r.observe(ctx, c)
	interval := askInterval
	if urgent(c) {
		interval = tokenInterval
	}
	if err != nil {
		return retry.Pass(interval, err)
	}
	return retry.Pass(interval, r.report(ctx, c, served, problem))
}

// report writes down how far the archive is, and what keeps it from being served. The status of the replication itself
// is the cluster's controller's.
func (r *Reconciler) report(ctx context.Context, c *v1alpha1.GaleraCluster, served *task.Served, problem string) error {
	if c.Status.Replication == nil {
		return nil
	}
	next := c.DeepCopy()
	to := next.Status.Replication
	to.Archive = archive(to.Archive, served, problem)
	to.Promotion = Recorded(c, served, problem)
	to.Stream = stream(c, to.Stream, served, problem)
	goOn(&next.Status, served)
	record(&next.Status, served)
	if equality.Semantic.DeepEqual(c.Status, next.Status) {
		return nil
	}
	return r.Status().Update(ctx, next)
}

// archive is what is known now. What was known before stays while there is no answer.
func archive(before *v1alpha1.FollowedArchive, served *task.Served, problem string) *v1alpha1.FollowedArchive {
	out := &v1alpha1.FollowedArchive{}
	if before != nil {
		out.GTID, out.Through, out.ObservedAt = before.GTID, before.Through, before.ObservedAt
	}
	out.Message = problem
	if served == nil {
		return out
	}
	if served.GTID != "" && !served.Through.IsZero() {
		out.GTID = served.GTID
		out.Through = new(metav1.NewTime(served.Through.Truncate(time.Second)))
		out.ObservedAt = new(metav1.NewTime(served.Observed.Truncate(time.Second)))
	}
	if out.Message == "" {
		out.Message = served.Problem
	}
	return out
}

// stream is what is known now of the stream. While the program does not answer, none is known to run.
func stream(c *v1alpha1.GaleraCluster, before *v1alpha1.FollowedStream, served *task.Served,
	problem string) *v1alpha1.FollowedStream {
	if job.Upstream(c) == nil {
		return nil
	}
	out := &v1alpha1.FollowedStream{}
	if before != nil {
		out.Endpoint, out.SecondsBehind = before.Endpoint, before.SecondsBehind
	}
	if served != nil && served.Stream != nil {
		of := served.Stream
		out.Endpoint, out.Connected, out.Error = of.Endpoint, of.Connected, of.Error
	} else if problem != "" {
		out.Error = "whether it is streamed is not known: " + problem
	}
	if !out.Connected {
		out.SecondsBehind = nil
	}
	out.Error = strings.ToValidUTF8(out.Error[:min(len(out.Error), maxStreamError)], "")
	return out
}

// maxStreamError is what is kept of an error.
const maxStreamError = 1000

// record writes down the line of history in which the program may stream. It asks for a later one once the cluster has
// everything before that, and sends nothing of it before.
func record(to *v1alpha1.GaleraClusterStatus, served *task.Served) {
	if served != nil && served.Line != "" && to.Restore != nil && to.Restore.Replay != nil &&
		to.Restore.Replay.Line == served.LineBefore {
		to.Restore.Replay.Line = served.Line
	}
}

// observe has the program there, and asks it. problem is what keeps it from serving.
func (r *Reconciler) observe(ctx context.Context, c *v1alpha1.GaleraCluster) (served *task.Served, problem string,
	err error) {
	secret, err := r.secret(ctx, c)
	if err != nil {
		return nil, "", err
	}
	asks, problem, err := r.deploy(ctx, c, secret)
	var taken apply.ErrNameTaken
	if errors.As(err, &taken) {
		return nil, taken.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	key := client.ObjectKeyFromObject(c)
	question := deployed.Question{Asks: asks, Pair: string(secret.Data[corev1.TLSCertKey]) + "\n" +
		string(secret.Data[corev1.TLSPrivateKeyKey])}
	served, silent, err := deployed.Ask(ctx, r.Client, c.Namespace, resources.SourceName(c), job.SourceLabels(c),
		func(address string) (task.Served, error) {
			return r.Calls.Ask(ctx, calls.By{Cluster: key, Object: key}, address, question)
		})
	if problem == "" {
		problem = silent
	}
	if anew := begunAnew(c, served); anew != "" { // its transactions may have the numbers of others here
		return onlyRecord(served), anew, err
	}
	return served, problem, err
}

// onlyRecord is what a program answers about the record of a promotion, nil for nothing.
func onlyRecord(served *task.Served) *task.Served {
	if served.Promotion == nil && served.Unrecorded == "" && !served.Waits {
		return nil
	}
	return &task.Served{Promotion: served.Promotion, Unrecorded: served.Unrecorded, Waits: served.Waits}
}

// begunAnew is why the end of the archive is not that of what the cluster follows, "" where it is.
func begunAnew(c *v1alpha1.GaleraCluster, served *task.Served) string {
	of := c.Status.Restore
	if served == nil || served.Chain == 0 || of == nil || of.Replay == nil || of.Replay.Chain == 0 {
		return ""
	}
	if follows := uint64(of.Replay.Chain); served.Chain == follows || //nolint:gosec // it was written from such
		served.Continues == follows {
		return ""
	}
	return fmt.Sprintf("the archive has begun anew with the segment %d, and this cluster follows what began with the "+
		"segment %d: create the cluster anew", served.Chain, of.Replay.Chain)
}

// goOn records the chain of the archive's end as the one that the cluster follows, once the cluster has all that was
// before it: retention removes that, and with it what shows that nothing is missing.
func goOn(to *v1alpha1.GaleraClusterStatus, served *task.Served) {
	if served == nil || served.Continues == 0 || to.Restore == nil || to.Restore.Replay == nil {
		return
	}
	begin, err := binlog.Parse(served.Begin)
	if err != nil || uint64(to.Restore.Replay.Chain) != served.Continues { //nolint:gosec // it was written from such
		return
	}
	if at, _ := binlog.In(to.Replication.Applied, begin.Domain); at.Server == begin.Server && at.Seq >= begin.Seq {
		to.Restore.Replay.Chain = int64(served.Chain) //nolint:gosec // segments are numbered from one on
	}
}

// deploy applies the Deployment, and what belongs to it. The Deployment stays as it is while something is missing: no
// pod gets what a store names before that was checked. asks is what the program is asked to record with a token, "" for
// nothing.
func (r *Reconciler) deploy(ctx context.Context, c *v1alpha1.GaleraCluster, secret *corev1.Secret) (asks,
	problem string, err error) {
	for _, o := range []client.Object{secret, job.SourceService(c)} {
		if err := r.Objects.Apply(ctx, c.UID, o); err != nil {
			return "", "", err
		}
	}
	if policy := resources.SourcePolicy(c); policy != nil {
		err = r.Objects.Apply(ctx, c.UID, policy)
	} else {
		err = r.remove(ctx, c, &networkingv1.NetworkPolicy{})
	}
	if err != nil {
		return "", "", err
	}
	s, problem, err := r.store(ctx, c)
	if err != nil || problem != "" {
		return "", problem, err
	}
	return asked(c, s), "", r.serve(ctx, c, s)
}

// store returns the one that is followed, or why it cannot be used.
func (r *Reconciler) store(ctx context.Context, c *v1alpha1.GaleraCluster) (s *v1alpha1.GaleraBackupStore,
	problem string, err error) {
	from := c.Spec.ReplicaOf
	seeded := c.Status.Restore
	if seeded == nil || seeded.Replay == nil || seeded.Replay.Chain == 0 || status.ReplacedUnknown(c) != "" {
		return nil, unnamed(c), nil
	}
	s = &v1alpha1.GaleraBackupStore{}
	err = r.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: from.StoreRef.Name}, s)
	if apierrors.IsNotFound(err) {
		return nil, "there is no GaleraBackupStore " + from.StoreRef.Name + " in this namespace: create it", nil
	}
	if err != nil {
		return nil, "", err
	}
	if reason, message := status.StoreProblem(s); reason != "" {
		return nil, message, nil
	}
	missing, err := restoring.Identity(ctx, r.Live, c.Namespace, from.IdentitySecretRef,
		"spec.replicaOf.identitySecretRef")
	return s, missing.Message, err
}

// serve has the program there.
func (r *Reconciler) serve(ctx context.Context, c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore) error {
	seeded := c.Status.Restore
	t := task.Serve{Dir: seeded.Directory,
		Chain: uint64(seeded.Replay.Chain), //nolint:gosec // it was written from such
		To:    uint64(seeded.Replay.To),    //nolint:gosec // the same
		Sum:   seeded.Replay.Sum, Line: seeded.Replay.Line, Stream: job.Upstream(c)}
	if p := Promotion(c); p != nil && p.Number == 0 {
		t.Promotion, t.SingleWriter = p, s.Spec.SingleWriter
	}
	d, err := job.Source(c, s, c.Spec.ReplicaOf.IdentitySecretRef, t, r.Jobs)
	if err != nil {
		return err
	}
	return r.Objects.Apply(ctx, c.UID, d)
}

// unnamed is why an archive is not served whose chain is not known any more.
func unnamed(c *v1alpha1.GaleraCluster) string {
	const lost = "status.restore does not name the chain of the archive that the cluster began with"
	if why := status.ReplacedUnknown(c); why != "" {
		return lost + ", so that it cannot be served anew; and " + why
	}
	if c.Spec.Cutover == nil {
		return lost + ", so that it cannot be served anew. No application has written to this cluster: create it anew, or " +
			"have it take over with what it has, without a record (spec.cutover)"
	}
	return lost + ": it cannot be served, and not be recorded that the cluster takes over. If a node of it has ever " +
		"accepted writes, keep it: it has data of its own"
}

// end removes what a cluster does not need any more that has followed an archive.
func (r *Reconciler) end(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	if c.Status.Replication == nil || c.Status.Replication.Store == "" {
		return nil
	}
	var errs []error
	for _, o := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &networkingv1.NetworkPolicy{},
		&corev1.Secret{}} {
		errs = append(errs, r.remove(ctx, c, o))
	}
	return errors.Join(errs...)
}

// remove deletes the cluster's object of that kind, if there is one.
func (r *Reconciler) remove(ctx context.Context, c *v1alpha1.GaleraCluster, o client.Object) error {
	key := client.ObjectKey{Namespace: c.Namespace, Name: resources.SourceName(c)}
	if err := r.Get(ctx, key, o); err != nil {
		return client.IgnoreNotFound(err)
	}
	return ownership.Remove(ctx, r.Client, r.Live, c.UID, o)
}

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("galerasource").
		For(&v1alpha1.GaleraCluster{}).
		Owns(&appsv1.Deployment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: retry.Workers, RateLimiter: retry.BackOff()}).
		WatchesRawSource(r.Calls.Source()).
		Complete(r)
}
