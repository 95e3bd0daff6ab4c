package api

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// eventually waits for something to become true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatal("it never happened: " + what)
}

// TestBenchmarkRuns plays the cluster's operator and the Job controller up to the first measured run.
func TestBenchmarkRuns(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	must(t, err)
	must(t, (&controllers.GaleraBenchmarkReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Image: "sysbench",
		Options: resources.Options{OperatorImage: "operator"}, Now: time.Now}).SetupWithManager(mgr))
	go func() { _ = mgr.Start(ctx) }()

	u := benchmark(t, "runs", map[string]string{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`, "rounds": "1",
		"workloads": `[{name: write, oltp: {profile: WriteOnly, tables: 1, tableSize: 10}}]`})
	must(t, kube.Create(ctx, u))
	t.Cleanup(func() { _ = kube.Delete(context.Background(), u) })

	c := &v1alpha1.GaleraCluster{}
	eventually(t, "the private cluster", func() bool { return kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "runs-db"}, c) == nil })
	if *c.Spec.Storage.Retain || !metav1.IsControlledBy(c, u) {
		t.Errorf("the private cluster outlives the benchmark: %+v", c.Spec.Storage)
	}
	prove := func() {
		t.Helper()
		fact := func(is bool) *v1alpha1.ChannelStatus {
			if is {
				return &v1alpha1.ChannelStatus{Observed: "TLS", PlaintextRefused: true}
			}
			return &v1alpha1.ChannelStatus{Observed: "Plaintext"}
		}
		encrypted := c.Spec.TLS.Replication == v1alpha1.TLSRequired
		c.Status.ObservedGeneration, c.Status.ClusterUUID = c.Generation, history
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"})
		c.Status.Members = []v1alpha1.MemberStatus{{Name: "runs-db-0", TLS: &v1alpha1.MemberTLSStatus{Replication: fact(encrypted), StateTransfer: fact(encrypted), Clients: fact(true)}}}
		must(t, kube.Status().Update(ctx, c))
	}
	job := func(name string) *batchv1.Job {
		j := &batchv1.Job{}
		eventually(t, "the Job "+name, func() bool { return kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, j) == nil })
		return j
	}
	finish := func(j *batchv1.Job, output string) {
		t.Helper()
		cm := &corev1.ConfigMap{}
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(j), cm))
		cm.Data["output.json"] = output
		must(t, kube.Update(ctx, cm))
		now := metav1.Now()
		j.Status.StartTime, j.Status.CompletionTime, j.Status.Succeeded = &now, &now, 1
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuccessCriteriaMet, Status: "True"}, {Type: batchv1.JobComplete, Status: "True"}}
		must(t, kube.Status().Update(ctx, j))
	}
	prove()
	finish(job("runs-prepare-1"), `{"kind": "prepare", "data": {"database": "bench_1x10", "tables": 1, "rows": 10, "checksum": "abc"}}`)
	run := job("runs-run-001-1")
	for _, env := range run.Spec.Template.Spec.Containers[0].Env {
		if env.Name == "BENCH_PASSWORD" && (env.Value != "" || env.ValueFrom.SecretKeyRef.Name != "runs-db-root") {
			t.Errorf("the password: %+v", env)
		}
	}
	window := `{"galera_server_started_seconds": 1, "galera_view": 1, "galera_synced": 1}`
	finish(run, `{"kind": "oltp", "oltp": {"tps": 100, "transactions": 1000}, "members": {"runs-db-0": {"before": `+window+`, "after": `+window+`}}}`)

	b := &v1alpha1.GaleraBenchmark{}
	eventually(t, "a run that counts", func() bool {
		return kube.Get(ctx, client.ObjectKeyFromObject(u), b) == nil && len(b.Status.Results) == 1 && b.Status.Results[0].Samples == 1
	})
	if len(b.Status.DataSets) != 1 || b.Status.DataSets[0].Checksum != "abc" || b.Status.Arms != "plain, encrypted" {
		t.Errorf("status: %+v", b.Status)
	}
	eventually(t, "the switch to the other arm", func() bool {
		return kube.Get(ctx, client.ObjectKeyFromObject(c), c) == nil && b.Status.Run != nil && c.Generation > 1
	})
}
