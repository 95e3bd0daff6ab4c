package api

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	benchobjects "github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

// databasePod makes the pod of a node, with an address: there is no kubelet here.
func databasePod(t *testing.T, cluster, name string) {
	t.Helper()
	ctx := context.Background()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: home(t), Name: name,
		Labels: map[string]string{v1alpha1.LabelCluster: cluster}}}
	p.Spec.Containers = []corev1.Container{{Name: "mariadb", Image: "mariadb"}}
	must(t, kube.Create(ctx, p))
	t.Cleanup(func() { _ = kube.Delete(ctx, p, client.GracePeriodSeconds(0)) })
	p.Status.PodIP, p.Status.PodIPs = "10.0.0.9", []corev1.PodIP{{IP: "10.0.0.9"}}
	must(t, kube.Status().Update(ctx, p))
}

// there returns which parts of a Job's tunnel are there, and ours.
func (s *stage) there(job string) (n int) {
	s.Helper()
	for _, o := range benchobjects.TunnelParts(s.get(), job) {
		err := kube.Get(context.Background(), client.ObjectKeyFromObject(o), o)
		switch {
		case err == nil && metav1.IsControlledBy(o, s.get()):
			n++
		case err != nil && !apierrors.IsNotFound(err):
			s.Fatal(err)
		}
	}
	return n
}

const connected = `{"kind": "connect", "error": "the SSH tunnel broke: Connection to 10.0.0.9 closed by remote host.", "lastLines": []}`

// TestBenchmarkThroughSSH: a tunnel is there before its Job, and gone with it; the next attempt has another one, with
// other keys.
func TestBenchmarkThroughSSH(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const first, second = "tunnel-run-001-1", "tunnel-run-001-2"
	s := perform(t, benchmark(t, "tunnel", map[string]string{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
		"rounds": "1",
		"arms":   `[{name: encrypted}]`, "workloads": `[{name: ssh, connect: {via: SSHTunnel}}]`}))
	databasePod(t, "tunnel-db", "tunnel-db-0")
	s.prove("tunnel-db")
	job := s.job(first)
	if n := s.there(first); n != 4 {
		t.Errorf("%d parts of the tunnel are there", n)
	}
	secret := func(job string) map[string][]byte {
		o := &corev1.Secret{}
		must(t, kube.Get(ctx, client.ObjectKey{Namespace: home(t), Name: benchobjects.TunnelName(job)}, o))
		return o.Data
	}
	keys := secret(first)
	for _, env := range job.Spec.Template.Spec.Containers[0].Env {
		if env.Name == "BENCH_PLAN" && !strings.Contains(env.Value, `"tunnel":{"server":"tunnel-run-001-1-tunnel.`+home(t)+
			`.svc:2222","target":"10.0.0.9:3306","cipher":"chacha20-poly1305@openssh.com"}`) {
			t.Errorf("the plan: %s", env.Value)
		}
	}
	s.restart()
	s.finish(job, connected)
	next := s.job(second)
	if n := s.there(first); n != 0 {
		t.Errorf("%d parts of the tunnel are left", n)
	}
	if again := secret(second); string(again[transport.Identity]) == string(keys[transport.Identity]) ||
		string(again[transport.HostKey]) == string(keys[transport.HostKey]) {
		t.Error("the keys of the attempt before")
	}
	b := s.waitFor("the reason", func(b *v1alpha1.GaleraBenchmark) bool { return len(b.Status.InvalidRuns) == 1 })
	if reason := b.Status.InvalidRuns[0].Reason; !strings.HasPrefix(reason,
		"the SSH tunnel broke: Connection to 10.0.0.9 closed") {
		t.Errorf("got %q", reason)
	}
	must(t, kube.Delete(ctx, next, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}
