package galerabackup

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// nodes are the agents of every cluster: all of them serve.
type nodes struct{}

func (nodes) Seen(types.NamespacedName) map[string]observe.Seen {
	return map[string]observe.Seen{"shop-0": syncedNode(), "shop-1": syncedNode(), "shop-2": syncedNode()}
}

func (nodes) Target(_ types.NamespacedName, pod string) (observe.Target, bool) {
	return observe.Target{Pod: pod}, true
}

var testTime = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func syncedNode() observe.Seen {
	return observe.Seen{Live: true, Report: agentapi.Report{Server: &agentapi.Server{State: galera.NodeSynced,
		Ready: true}, DataBytes: 1000}}
}

// healthyCluster returns the facts of a backup that has just been made.
func healthyCluster() taking.Facts {
	f := taking.Facts{Backup: &v1alpha1.GaleraBackup{}, Cluster: &v1alpha1.GaleraCluster{},
		Store: &v1alpha1.GaleraBackupStore{}}
	f.Backup.Name, f.Backup.Namespace, f.Backup.UID, f.Backup.CreationTimestamp = "b", "demo", "0123-45",
		metav1.NewTime(testTime.Add(-time.Minute))
	f.Cluster.Name, f.Cluster.UID = "shop", "abcd-ef"
	f.Cluster.Status.Primary, f.Cluster.Status.Replicas = "shop-0", 3
	meta.SetStatusCondition(&f.Cluster.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAvailable,
		Status: metav1.ConditionTrue})
	meta.SetStatusCondition(&f.Store.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReachable,
		Status: metav1.ConditionTrue})
	f.Store.Spec.Encryption.Recipients = []string{"age1x"}
	return f
}

// attemptInProgress is the status of a backup whose first attempt runs.
func attemptInProgress() v1alpha1.GaleraBackupStatus {
	return v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupRunning, Node: "shop-1", Attempts: 1, ID: "b1",
		AttemptedAt: new(metav1.NewTime(testTime.Add(-time.Minute)))}
}

// several makes backups of one healthy cluster, and a reconciler of them.
func several(t *testing.T, count int, change func(*v1alpha1.GaleraBackup)) (*Reconciler, []*v1alpha1.GaleraBackup) {
	t.Helper()
	scheme, f := runtime.NewScheme(), healthyCluster()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	f.Cluster.Namespace, f.Store.Namespace, f.Store.Name = "demo", "demo", "s3"
	all := []client.Object{f.Cluster, f.Store, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo",
		Name: "shop-tls"}, Data: map[string][]byte{"ca.crt": []byte("the CA")}}}
	var backups []*v1alpha1.GaleraBackup
	for i := range count {
		b := f.Backup.DeepCopy()
		b.Name, b.UID = fmt.Sprint("b", i), types.UID(fmt.Sprintf("%d-0", i))
		b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name = "shop", "s3"
		change(b)
		backups, all = append(backups, b), append(all, b)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithStatusSubresource(backups[0]).Build()
	return &Reconciler{Client: kube, Live: kube, Agents: nodes{}, Sources: clone.Sources{Reader: kube},
		Calls: &calls.Calls[observe.Target, agentapi.BackupAdmission, struct{}]{Do: calls.One(
			func(context.Context, observe.Target, agentapi.BackupAdmission) (none struct{}, err error) {
				return none, nil
			})},
		Jobs: job.Options{Image: "operator"}, Events: events.NewFakeRecorder(1000),
		Now: func() time.Time { return testTime }}, backups
}

func passOf(t *testing.T, r *Reconciler, b *v1alpha1.GaleraBackup) *v1alpha1.GaleraBackup {
	t.Helper()
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b)}); err != nil {
		t.Fatal(err)
	}
	now := &v1alpha1.GaleraBackup{}
	if err := r.Live.Get(t.Context(), client.ObjectKeyFromObject(b), now); err != nil {
		t.Fatal(err)
	}
	return now
}

// TestOneBackupOfAClusterBegins: while the cache does not show that another one has begun, too.
func TestOneBackupOfAClusterBegins(t *testing.T) {
	r, b := several(t, 2, func(*v1alpha1.GaleraBackup) {})
	fresh := r.Client
	stale := &v1alpha1.GaleraBackupList{}
	if err := fresh.List(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	r.Client = interceptor.NewClient(fresh.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, o ...client.ListOption) error {
			if to, is := into.(*v1alpha1.GaleraBackupList); is {
				stale.DeepCopyInto(to)
				return nil
			}
			return c.List(ctx, into, o...)
		}})
	if got := passOf(t, r, b[0]); got.Status.Phase != v1alpha1.BackupRunning {
		t.Fatalf("%+v", got.Status)
	}
	if got := passOf(t, r, b[1]); got.Status.Phase != "" {
		t.Fatalf("two have begun: %+v", got.Status)
	}
	r.Client = fresh
	passOf(t, r, b[0]) // the cache has caught up
	if got := passOf(t, r, b[1]); got.Status.Phase != v1alpha1.BackupPending {
		t.Errorf("%+v", got.Status)
	}
	if len(r.starts.of) != 0 {
		t.Errorf("left: %v", r.starts.of)
	}
	// One that is deleted before the cache has shown its attempt holds up no other one.
	r.starts.claim(types.NamespacedName{Namespace: "demo", Name: "shop"}, &v1alpha1.GaleraBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "deleted", UID: "9"}})
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "demo",
		Name: "deleted"}}); err != nil || len(r.starts.of) != 0 {
		t.Errorf("left: %v, %v", r.starts.of, err)
	}
}

// TestASilentAgentHoldsNoWorker: the passes of all backups that wait for silent agents of one cluster take no more of
// the workers' time than the cluster's budget, and their Jobs are made meanwhile.
func TestASilentAgentHoldsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 20
		r, all := several(t, count, func(b *v1alpha1.GaleraBackup) {
			b.Status = attemptInProgress()
			b.Status.ID = taking.ID(b)
		})
		r.Calls.Do = func(ctx context.Context, _ observe.Target, _ []agentapi.BackupAdmission) ([]struct{}, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		began := time.Now()
		for _, b := range all {
			passOf(t, r, b) // writes down the progress, if there is any
			passOf(t, r, b)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%d backups took %s", count, took)
		}
		var jobs batchv1.JobList
		if err := r.Live.List(t.Context(), &jobs); err != nil || len(jobs.Items) != count {
			t.Errorf("%d Jobs, %v", len(jobs.Items), err)
		}
		time.Sleep(time.Hour) // all of them are asked and given up
	})
}

// TestRefusalIsForgotten: a finished backup whose clean-up was refused for a while is described by how it has ended
// afterwards.
func TestRefusalIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		phase string
		by    string // the condition that describes it
		why   string
		stall metav1.ConditionStatus
	}{
		"a failed one":        {v1alpha1.BackupFailed, v1alpha1.ConditionComplete, "StoreRefused", metav1.ConditionTrue},
		"a complete one":      {v1alpha1.BackupCompleted, v1alpha1.ConditionComplete, "Completed", metav1.ConditionFalse},
		"one that is damaged": {v1alpha1.BackupCompleted, v1alpha1.ConditionVerified, "BackupDamaged", metav1.ConditionTrue},
	} {
		r, all := several(t, 1, func(b *v1alpha1.GaleraBackup) {
			b.Status.Phase, b.Status.Attempts, b.Status.ID = c.phase, 1, taking.ID(b)
			b.Spec.Verify = v1alpha1.VerifyChecksum
			b.Status.Verification = &v1alpha1.BackupVerification{Method: v1alpha1.VerifyChecksum, Phase: v1alpha1.VerifyFailed}
			meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: c.by, Status: metav1.ConditionFalse,
				Reason: c.why, Message: "as it was"})
		})
		works := r.Client
		key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: job.KeyName(all[0]),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(all[0],
				v1alpha1.GroupVersion.WithKind("GaleraBackup"))}}}
		if err := works.Create(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		r.Client = interceptor.NewClient(works.(client.WithWatch), interceptor.Funcs{
			Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New("a policy"))
			}})
		now := passOf(t, r, all[0])
		if s := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionStalled); s == nil ||
			s.Reason != v1alpha1.ReasonAdmissionRefused {
			t.Fatalf("%s: %+v", name, s)
		}
		r.Client = works
		for range 3 {
			now = passOf(t, r, all[0])
		}
		if s := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionStalled); s == nil ||
			s.Reason != c.why || s.Message != "As it was." || s.Status != c.stall {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
