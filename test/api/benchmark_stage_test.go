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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/galerabenchmark"
	benchobjects "github.com/galera-operator/galera-operator/internal/bench/objects"
)

// stage has one benchmark on it, and plays all but the benchmark's controller: the cluster's
// operator, the Job controller, the Jobs' programs and the garbage collector.
type stage struct {
	*testing.T
	benchmark client.ObjectKey
	// refusal is why no account is applied; "": they are.
	refusal string
	stop    func()
	// ahead is by how much the clock of the next controller is.
	ahead time.Duration
}

// home is the test's own namespace. Tests of benchmarks run side by side, each with a controller that sees nothing
// else.
func home(t *testing.T) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	must(t, client.IgnoreAlreadyExists(kube.Create(context.Background(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	return name
}

// perform makes a benchmark in the test's namespace, and lets a controller at it.
func perform(t *testing.T, u *unstructured.Unstructured) *stage {
	t.Helper()
	u.SetNamespace(home(t))
	s := &stage{T: t, benchmark: client.ObjectKeyFromObject(u)}
	must(t, kube.Create(context.Background(), u))
	t.Cleanup(func() { _ = kube.Delete(context.Background(), u) })
	s.begin()
	t.Cleanup(func() { s.stop() })
	return s
}

// begin starts a controller that knows only the API server's answers.
func (s *stage) begin() {
	s.Helper()
	ahead := s.ahead
	mgr, err := ctrl.NewManager(asBenchmarks(config), ctrl.Options{Scheme: scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cacheOf(s.benchmark.Namespace),
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)}})
	must(s.T, err)
	must(s.T, (&galerabenchmark.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(),
		Images: benchobjects.Images{Operator: "operator", Client: "sysbench"}, Domain: "cluster.local",
		Now: func() time.Time { return time.Now().Add(ahead) }}).
		SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = mgr.Start(ctx)
	}()
	s.stop = func() { cancel(); <-ended }
}

// restart kills the controller and starts another one.
func (s *stage) restart() { s.stop(); s.begin() }

// get reads the benchmark; nil when it is gone.
func (s *stage) get() *v1alpha1.GaleraBenchmark {
	b := &v1alpha1.GaleraBenchmark{}
	if kube.Get(context.Background(), s.benchmark, b) != nil {
		return nil
	}
	return b
}

// waitFor waits until the benchmark is as it should be.
func (s *stage) waitFor(what string, is func(*v1alpha1.GaleraBenchmark) bool) *v1alpha1.GaleraBenchmark {
	s.Helper()
	var b *v1alpha1.GaleraBenchmark
	eventually(s.T, what, func() bool { b = s.get(); return b != nil && is(b) })
	return b
}

// cluster waits for a cluster.
func (s *stage) cluster(name string) *v1alpha1.GaleraCluster {
	s.Helper()
	c := &v1alpha1.GaleraCluster{}
	eventually(s.T, "the cluster "+name, func() bool {
		return kube.Get(context.Background(), client.ObjectKey{Namespace: s.benchmark.Namespace, Name: name}, c) == nil
	})
	return c
}

// prove makes a cluster what its spec asks for.
func (s *stage) prove(name string) {
	s.Helper()
	c := s.cluster(name)
	fact := func(is bool) *v1alpha1.ChannelStatus {
		if is {
			return &v1alpha1.ChannelStatus{Observed: "TLS", PlaintextRefused: true, Protocol: "TLSv1.3",
				Cipher: "TLS_AES_128_GCM_SHA256"}
		}
		return &v1alpha1.ChannelStatus{Observed: "Plaintext"}
	}
	encrypted := c.Spec.TLS.Replication != v1alpha1.TLSDisabled
	c.Status.ObservedGeneration, c.Status.ClusterUUID = c.Generation, history
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue,
		Reason: "Ready"})
	c.Status.Members = []v1alpha1.MemberStatus{{Name: name + "-0",
		TLS: &v1alpha1.MemberTLSStatus{Replication: fact(encrypted), StateTransfer: fact(encrypted), Clients: fact(true)}}}
	must(s.T, kube.Status().Update(context.Background(), c))
}

// job waits for a Job; those before it are gone by then.
func (s *stage) job(name string) *batchv1.Job {
	s.Helper()
	j := &batchv1.Job{}
	eventually(s.T, "the Job "+name, func() bool {
		s.collect()
		return kube.Get(context.Background(), client.ObjectKey{Namespace: s.benchmark.Namespace, Name: name}, j) == nil
	})
	return j
}

// applied has the benchmark's users and databases in the cluster, as its operator does.
func (s *stage) applied() {
	ctx := context.Background()
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady}
	if s.refusal != "" {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, v1alpha1.ReasonClusterNotReady, s.refusal
	}
	of := []client.ListOption{client.InNamespace(s.benchmark.Namespace),
		client.MatchingLabels{v1alpha1.LabelBenchmark: s.benchmark.Name}}
	var users v1alpha1.GaleraUserList
	var databases v1alpha1.GaleraDatabaseList
	must(s.T, kube.List(ctx, &users, of...))
	must(s.T, kube.List(ctx, &databases, of...))
	for i := range users.Items {
		u := &users.Items[i]
		u.Status.ObservedGeneration = u.Generation
		if meta.SetStatusCondition(&u.Status.Conditions, ready) {
			s.written(kube.Status().Update(ctx, u))
		}
		binding := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: u.BindingName()},
			Data: map[string][]byte{"password": []byte("secret")}}
		must(s.T, client.IgnoreAlreadyExists(kube.Create(ctx, binding)))
	}
	for i := range databases.Items {
		d := &databases.Items[i]
		d.Status.ObservedGeneration = d.Generation
		if meta.SetStatusCondition(&d.Status.Conditions, ready) {
			s.written(kube.Status().Update(ctx, d))
		}
	}
}

// written fails the test unless a write was carried out, or is made again at the next check.
func (s *stage) written(err error) {
	if !apierrors.IsConflict(err) {
		must(s.T, client.IgnoreNotFound(err))
	}
}

// collect does what the garbage collector does for a Job without pods, and what the cluster's operator does for users
// and databases.
func (s *stage) collect() {
	s.applied()
	var all batchv1.JobList
	must(s.T, kube.List(context.Background(), &all, client.InNamespace(s.benchmark.Namespace),
		client.MatchingLabels{v1alpha1.LabelBenchmark: s.benchmark.Name}))
	for i := range all.Items {
		if j := &all.Items[i]; j.DeletionTimestamp != nil {
			j.Finalizers = nil
			_ = kube.Update(context.Background(), j)
		}
	}
}

// finish ends a Job that leaves a result; "" for none.
func (s *stage) finish(j *batchv1.Job, output string) {
	s.Helper()
	ctx := context.Background()
	cm := &corev1.ConfigMap{}
	must(s.T, kube.Get(ctx, client.ObjectKeyFromObject(j), cm))
	if output != "" {
		cm.Data["output.json"] = output
		must(s.T, kube.Update(ctx, cm))
	}
	now := metav1.Now()
	j.Status.StartTime, j.Status.CompletionTime, j.Status.Succeeded = &now, &now, 1
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuccessCriteriaMet, Status: "True"},
		{Type: batchv1.JobComplete, Status: "True"}}
	must(s.T, kube.Status().Update(ctx, j))
}

// Results of Jobs.
const (
	prepared = `{"kind": "prepare", "data": {"database": "bench_1x10", "tables": 1, "rows": 10, "checksum": "abc"}}`
	failing  = `{"kind": "oltp", "error": "sysbench: exit status 1", "lastLines": ["FATAL: mysql_drv_query() returned error 1047", "no more"]}`
)

// measured is the result of a run on one node.
func measured(member, kind string) string {
	window := `{"galera_server_start_time_seconds": 1, "galera_view": 1, "galera_synced": 1}`
	return `{"kind": "` + kind + `", "oltp": {"tps": 100, "transactions": 1000}, "members": {"` + member +
		`": {"before": ` + window + `, "after": ` + window + `}}}`
}

// oneWrite is the smallest workload.
const oneWrite = `[{name: write, oltp: {profile: WriteOnly, tables: 1, tableSize: 10}}]`

var oneGi = resource.MustParse("1Gi")
