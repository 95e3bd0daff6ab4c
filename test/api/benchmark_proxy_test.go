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
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	benchobjects "github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

const throughProxy = `[{name: pool, connect: {via: PoolingProxy, proxy: {image: "proxysql:2"}}}]`

// onProxy lets a benchmark of one run through a proxy begin.
func onProxy(t *testing.T, name string) *stage {
	t.Helper()
	s := perform(t, benchmark(t, name, map[string]string{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
		"rounds": "1",
		"arms":   `[{name: encrypted}]`, "workloads": throughProxy}))
	s.prove(name + "-db")
	return s
}

// TestBenchmarkThroughProxy: its configuration is there before the Job and gone with it; the next attempt has another
// one.
func TestBenchmarkThroughProxy(t *testing.T) {
	t.Parallel()
	const first, second = "pool-run-001-1", "pool-run-001-2"
	s := onProxy(t, "pool")
	job := s.job(first)
	config := func(job string) string {
		o := &corev1.Secret{}
		must(t, kube.Get(context.Background(), client.ObjectKey{Namespace: home(t), Name: benchobjects.ProxyName(job)}, o))
		if !metav1.IsControlledBy(o, s.get()) {
			t.Errorf("%s outlives the benchmark", o.Name)
		}
		return string(o.Data[transport.ProxyConfigFile])
	}
	before := config(first)
	b := s.get()
	if !strings.Contains(before, agentapi.NativeHash("secret")) ||
		!strings.Contains(before, `"bench_`+benchobjects.Suffix(b)+`"`) || !strings.Contains(before, "use_ssl=1") ||
		!strings.Contains(before, `address="pool-db-0.`) {
		t.Errorf("got\n%s", before)
	}
	sidecar := job.Spec.Template.Spec.InitContainers[1]
	if sidecar.Name != benchobjects.ProxyContainer || sidecar.Image != "proxysql:2" {
		t.Errorf("got %+v", sidecar)
	}
	s.restart()
	s.finish(job, `{"kind": "connect", "error": "the proxy did not answer within 1m0s", "lastLines": []}`)
	next := s.job(second)
	gone := &corev1.Secret{}
	if err := kube.Get(context.Background(), client.ObjectKey{Namespace: home(t), Name: benchobjects.ProxyName(first)},
		gone); !apierrors.IsNotFound(err) {
		t.Errorf("the configuration is left: %v", err)
	}
	if config(second) == before {
		t.Error("the proxy's own password is that of the attempt before")
	}
	b = s.waitFor("the reason", func(b *v1alpha1.GaleraBenchmark) bool { return len(b.Status.InvalidRuns) == 1 })
	if reason := b.Status.InvalidRuns[0].Reason; reason != "the proxy did not answer within 1m0s" {
		t.Errorf("got %q", reason)
	}
	must(t, kube.Delete(context.Background(), next, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// TestBenchmarkThroughAMissingGaleraProxy: it is stalled, and names what to create; created, the benchmark goes on.
func TestBenchmarkThroughAMissingGaleraProxy(t *testing.T) {
	t.Parallel()
	s := perform(t, benchmark(t, "missing", map[string]string{
		"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`, "rounds": "1", "arms": `[{name: encrypted}]`,
		"workloads": `[{name: pool, connect: {via: GaleraProxy, proxyRef: {name: later}, tlsVersions: ["1.3"]}}]`}))
	s.prove("missing-db")
	stalled := func(b *v1alpha1.GaleraBenchmark) *metav1.Condition {
		return meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
	}
	b := s.waitFor("the proxy to be missed", func(b *v1alpha1.GaleraBenchmark) bool {
		s.collect() // the accounts are applied meanwhile
		c := stalled(b)
		return c != nil && c.Status == metav1.ConditionTrue
	})
	if c := stalled(b); c.Reason != v1alpha1.ReasonProxyNotFound || !strings.Contains(c.Message, `with clusterRef "missing-db"`) {
		t.Errorf("got %+v", c)
	}
	must(t, kube.Create(context.Background(), &v1alpha1.GaleraProxy{
		ObjectMeta: metav1.ObjectMeta{Namespace: home(t), Name: "later"},
		Spec:       v1alpha1.GaleraProxySpec{ClusterRef: v1alpha1.ProxyClusterRef{Name: "missing-db"}}}))
	s.waitFor("the proxy to be awaited", func(b *v1alpha1.GaleraBenchmark) bool {
		c, r := stalled(b), meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReconciling)
		return c != nil && c.Status == metav1.ConditionFalse && r != nil && r.Reason == v1alpha1.ReasonPreparingAccess
	})
}

// TestProxyImageThatCannotBePulled: the attempt is over in the end, and reports why.
func TestProxyImageThatCannotBePulled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := onProxy(t, "nopull")
	job := s.job("nopull-run-001-1")
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: home(t), Name: "nopull-pod",
		Labels: job.Spec.Template.Labels}, Spec: job.Spec.Template.Spec}
	p.Labels[batchv1.JobNameLabel] = job.Name
	p.Spec.ServiceAccountName = ""
	must(t, kube.Create(ctx, p))
	t.Cleanup(func() { _ = kube.Delete(ctx, p, client.GracePeriodSeconds(0)) })
	waiting := func(name, reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	long := metav1.NewTime(time.Now().Add(-time.Hour))
	p.Status.StartTime = &long
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{waiting(benchobjects.ProxyContainer, "ImagePullBackOff",
		`Back-off pulling image "proxysql:2"`)}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{waiting(benchobjects.ClientContainer, "PodInitializing", "")}
	must(t, kube.Status().Update(ctx, p))
	s.job("nopull-run-001-2")
	b := s.waitFor("the reason", func(b *v1alpha1.GaleraBenchmark) bool { return len(b.Status.InvalidRuns) == 1 })
	if reason := b.Status.InvalidRuns[0].Reason; reason != `the Job left no result: ImagePullBackOff: Back-off pulling image "proxysql:2"` {
		t.Errorf("got %q", reason)
	}
}
