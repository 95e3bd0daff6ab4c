package api

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/galerabackup"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/restoring"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// donors are the agents of every cluster that is asked about: three nodes that serve.
type donors struct{ asked []types.NamespacedName }

func (d *donors) Seen(key types.NamespacedName) map[string]observe.Seen {
	d.asked = append(d.asked, key)
	node := observe.Seen{Live: true, Report: agentapi.Report{Server: &agentapi.Server{State: galera.NodeSynced,
		Ready: true}}}
	return map[string]observe.Seen{"shop-0": node, "shop-1": node, "shop-2": node}
}

func (d *donors) Target(_ types.NamespacedName, pod string) (observe.Target, bool) {
	return observe.Target{Pod: pod}, true
}

// cloning is a namespace with a cluster, prod's shop, and one with what a clone of it needs.
type cloning struct {
	*testing.T
	prod, dev string
	source    *v1alpha1.GaleraCluster
	clone     *v1alpha1.GaleraCluster
	agents    *donors
	admitted  []agentapi.BackupAdmission
	restores  restoring.Reconciler
	backups   galerabackup.Reconciler
	// stop ends the operator of dev.
	stop func()
}

func newCloning(t *testing.T, name string) *cloning {
	t.Helper()
	ctx := context.Background()
	w := &cloning{T: t, prod: name + "-prod", dev: name + "-dev", agents: &donors{}}
	for _, ns := range []string{w.prod, w.dev} {
		must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	}
	w.stop = startOperator(t, w.dev, newFakeAgents()) // it sets the conditions of a cluster that is held back
	sources, jobs, options := clone.Sources{Reader: kube}, job.Options{Image: "operator"},
		resources.Options{DefaultImage: "mariadb:11.8", OperatorImage: "operator"}
	w.restores = restoring.Reconciler{Client: kube, Live: kube, Late: time.Now,
		Sources: sources, Jobs: jobs, Options: options,
		Calls: &calls.Calls[string, string, task.Copied]{}, Now: time.Now}
	w.backups = galerabackup.Reconciler{Client: kube, Live: kube, Sources: sources, Agents: w.agents, Jobs: jobs,
		Options: options, Events: events.NewFakeRecorder(100), Now: time.Now, Today: time.Now,
		Calls: &calls.Calls[observe.Target, agentapi.BackupAdmission, struct{}]{Do: calls.One(
			func(_ context.Context, _ observe.Target, a agentapi.BackupAdmission) (none struct{}, err error) {
				w.admitted = append(w.admitted, a)
				return none, nil
			})}}
	return w
}

// makeSource has the source there, in a namespace, and serving.
func (w *cloning) makeSource(ns string, allowed ...string) {
	w.Helper()
	ctx := context.Background()
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Spec: spec()}
	c.Spec.AllowedCloneNamespaces = allowed
	must(w.T, kube.Create(ctx, c))
	must(w.T, kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop-tls"},
		Data: map[string][]byte{"ca.crt": []byte("the CA"), "tls.key": []byte("the nodes' key")}}))
	w.source = c
	w.serves(true)
}

func (w *cloning) serves(is bool) {
	w.Helper()
	w.edit(w.source, func(c *v1alpha1.GaleraCluster) {
		c.Status.Replicas, c.Status.Primary = 3, "shop-0"
		c.Status.Members = []v1alpha1.MemberStatus{{Name: "shop-0", Version: "11.8.9-MariaDB"}}
		status.SetCondition(&c.Status.Conditions, c.Generation, v1alpha1.ConditionAvailable, is, "Test", "")
	})
}

// edit changes a cluster, its status or its spec.
func (w *cloning) edit(c *v1alpha1.GaleraCluster, change func(*v1alpha1.GaleraCluster)) {
	w.Helper()
	ctx := context.Background()
	for {
		must(w.T, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		change(c)
		want := c.DeepCopy()
		err := kube.Update(ctx, c)
		if err == nil {
			c.Status = want.Status
			err = kube.Status().Update(ctx, c)
		}
		if !apierrors.IsConflict(err) {
			must(w.T, err)
			return
		}
	}
}

// makeStore has the clone's store there, checked.
func (w *cloning) makeStore() {
	w.Helper()
	ctx := context.Background()
	u := backupKind(w.T, "GaleraBackupStore", "own", `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`)
	u.SetNamespace(w.dev)
	must(w.T, kube.Create(ctx, u))
	w.storeIs(true, v1alpha1.ReasonReachable, "")
}

func (w *cloning) storeIs(well bool, reason, message string) {
	w.Helper()
	s := &v1alpha1.GaleraBackupStore{}
	must(w.T, kube.Get(context.Background(), client.ObjectKey{Namespace: w.dev, Name: "own"}, s))
	status.SetCondition(&s.Status.Conditions, s.Generation, v1alpha1.ConditionReachable, well, reason, message)
	must(w.T, kube.Status().Update(context.Background(), s))
}

func (w *cloning) makeKey() {
	must(w.T, kube.Create(context.Background(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.dev, Name: "key"}}))
}

// ask creates the clone of a cluster in a namespace.
func (w *cloning) ask(ns string, changes ...func(*v1alpha1.GaleraCluster)) {
	w.Helper()
	w.clone = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.dev, Name: "copy"}, Spec: spec()}
	w.clone.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "key"},
		Cluster: &v1alpha1.BootstrapCluster{Name: "shop", Namespace: ns, StoreRef: v1alpha1.LocalName{Name: "own"}}}
	for _, change := range changes {
		change(w.clone)
	}
	must(w.T, kube.Create(context.Background(), w.clone))
}

// passes lets the controllers of restores and backups do what they do in a while.
func (w *cloning) passes() {
	w.Helper()
	ctx := context.Background()
	for range 6 {
		_, err := w.restores.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.clone)})
		if !apierrors.IsConflict(err) {
			must(w.T, err)
		}
		_, err = w.backups.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: w.dev,
			Name: clone.BackupName(w.clone)}})
		if !apierrors.IsConflict(err) {
			must(w.T, err)
		}
	}
}

// eventually makes passes until something holds.
func (w *cloning) eventually(what string, holds func() bool) {
	w.Helper()
	for start := time.Now(); !holds(); w.passes() {
		if time.Since(start) > time.Minute {
			c := &v1alpha1.GaleraCluster{}
			_ = kube.Get(context.Background(), client.ObjectKeyFromObject(w.clone), c)
			w.Fatalf("%s: %+v, %+v", what, c.Status.Restore, c.Status.Conditions)
		}
	}
}

// stalled requires that the clone is Stalled for a reason, that its message contains something, and that it has no
// pods.
func (w *cloning) stalled(reason, contains string) {
	w.Helper()
	w.eventually("Stalled "+reason, func() bool {
		c := &v1alpha1.GaleraCluster{}
		must(w.T, kube.Get(context.Background(), client.ObjectKeyFromObject(w.clone), c))
		s := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionStalled)
		return s != nil && s.Status == metav1.ConditionTrue && s.Reason == reason && strings.Contains(s.Message, contains)
	})
	if b := w.backup(); b != nil && b.Status.Phase == v1alpha1.BackupRunning {
		w.Error("it is copied nevertheless")
	}
	w.empty()
}

// empty requires that the clone has neither volumes nor pods.
func (w *cloning) empty() {
	w.Helper()
	var claims corev1.PersistentVolumeClaimList
	must(w.T, kube.List(context.Background(), &claims, client.InNamespace(w.dev)))
	if err := kube.Get(context.Background(), client.ObjectKeyFromObject(w.clone), w.clone.DeepCopy()); err != nil ||
		len(claims.Items) > 0 {
		w.Errorf("it comes up empty: %d volumes, %v", len(claims.Items), err)
	}
}

// backup is the temporary one, nil for none.
func (w *cloning) backup() *v1alpha1.GaleraBackup {
	w.Helper()
	b := &v1alpha1.GaleraBackup{}
	err := kube.Get(context.Background(), client.ObjectKey{Namespace: w.dev, Name: "copy-clone"}, b)
	if apierrors.IsNotFound(err) {
		return nil
	}
	must(w.T, err)
	return b
}

func (w *cloning) jobs() (out []batchv1.Job) {
	w.Helper()
	var all batchv1.JobList
	must(w.T, kube.List(context.Background(), &all, client.InNamespace(w.dev)))
	return all.Items
}

// copies requires that the clone's copy is in progress.
func (w *cloning) copies() {
	w.Helper()
	w.eventually("a copy in progress", func() bool {
		b := w.backup()
		return b != nil && b.Status.Phase == v1alpha1.BackupRunning && len(w.jobs()) > 0
	})
}

func (w *cloning) find(name string) (*batchv1.Job, bool) {
	w.Helper()
	j := &batchv1.Job{}
	err := kube.Get(context.Background(), client.ObjectKey{Namespace: w.dev, Name: name}, j)
	if !apierrors.IsNotFound(err) {
		must(w.T, err)
	}
	return j, err == nil
}

// gone plays the garbage collector, which deletes a Job after its pods.
func (w *cloning) gone(name string) {
	w.Helper()
	j, found := w.find(name)
	if !found {
		return
	}
	if j.DeletionTimestamp == nil {
		w.Fatalf("%s was not deleted", name)
	}
	j.Finalizers = nil
	must(w.T, kube.Update(context.Background(), j))
}

// end plays a Job that has ended well, and what its pod reports.
func (w *cloning) end(name, reported string) {
	w.Helper()
	ctx := context.Background()
	j, found := w.find(name)
	if !found {
		w.Fatalf("no Job %s", name)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.dev, Name: name,
		Labels: map[string]string{batchv1.JobNameLabel: name}}, Spec: j.Spec.Template.Spec}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
	must(w.T, kube.Create(ctx, pod))
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: job.Container,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: reported}}}}
	must(w.T, kube.Status().Update(ctx, pod))
	now := metav1.Now()
	j.Status.StartTime, j.Status.CompletionTime, j.Status.Succeeded = &now, &now, 1
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue},
		{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	must(w.T, kube.Status().Update(ctx, j))
}
