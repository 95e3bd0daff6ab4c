package objects

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// podOf is the pod of a benchmark's first run.
func podOf(t *testing.T, arm v1alpha1.BenchmarkArm, w v1alpha1.BenchmarkWorkload) corev1.PodSpec {
	t.Helper()
	b, c, _ := overSSH()
	b.Spec.Arms, b.Spec.Workloads = []v1alpha1.BenchmarkArm{arm}, []v1alpha1.BenchmarkWorkload{w}
	run := experiment.Runs(&b.Spec)[0]
	job, err := Job(b, c, run.Wire(1), Plan(b, c, experiment.StartJob{Wire: run.Wire(1), Run: run}, "cluster.local"),
		Images{Client: "db:1"})
	if err != nil {
		t.Fatal(err)
	}
	return job.Spec.Template.Spec
}

// TestCipherSpeaksWithNobody: its Job has no password, stands on a database's host, and has the AES instructions hidden
// where it is to.
func TestCipherSpeaksWithNobody(t *testing.T) {
	for _, acceleration := range []string{"On", "Off"} {
		pod := podOf(t, v1alpha1.BenchmarkArm{Name: "a"},
			v1alpha1.BenchmarkWorkload{Name: "c", Cipher: &v1alpha1.CipherWorkload{
				Ciphers: []string{"AES-128-CTR"}, CPUAcceleration: []string{acceleration}}})
		client := pod.Containers[0]
		if slices.ContainsFunc(client.Env, func(e corev1.EnvVar) bool { return e.Name == result.EnvPassword }) {
			t.Error("a password that is not needed")
		}
		if pod.Affinity.PodAffinity == nil || pod.Affinity.PodAntiAffinity != nil {
			t.Errorf("got %+v", pod.Affinity)
		}
		if got := slices.Contains(client.Env, cluster.WithoutAcceleration()[0]); got != (acceleration == "Off") {
			t.Errorf("%s: hidden: %v", acceleration, got)
		}
	}
}

// TestClientsOfAnArmWithoutAcceleration: both ends of a connection encrypt.
func TestClientsOfAnArmWithoutAcceleration(t *testing.T) {
	for _, acceleration := range []string{"On", "Off"} {
		pod := podOf(t, v1alpha1.BenchmarkArm{Name: "a", CPUAcceleration: acceleration},
			v1alpha1.BenchmarkWorkload{Name: "w", OLTP: &v1alpha1.OLTPWorkload{Threads: []int32{1}}})
		env := pod.Containers[0].Env
		for _, want := range append(cluster.WithoutAcceleration(), corev1.EnvVar{Name: "GODEBUG", Value: "cpu.aes=off"}) {
			if got := slices.Contains(env, want); got != (acceleration == "Off") {
				t.Errorf("%s: %s: %v", acceleration, want.Name, got)
			}
		}
		if pod.Affinity.PodAntiAffinity == nil {
			t.Error("a client prefers a host without a database")
		}
	}
}

// TestAccelerate: a cipher leaves the nodes as they are.
func TestAccelerate(t *testing.T) {
	of := func(arm, kind string, cell bool) experiment.Run {
		return experiment.Run{Arm: &v1alpha1.BenchmarkArm{CPUAcceleration: arm},
			Cell: experiment.Cell{Kind: kind, WithoutAccelerator: cell}}
	}
	c := &v1alpha1.GaleraCluster{}
	for _, tc := range []struct {
		run  experiment.Run
		want string
	}{
		{of("On", result.KindOLTP, false), ""}, {of("Off", result.KindOLTP, false), "Off"},
		{of("On", result.KindCipher, false), "Off"},
		{of("On", result.KindTransfer, false), ""}, {of("On", result.KindCipher, true), ""},
		{of("On", result.KindTransfer, true), "Off"},
	} {
		Accelerate(c, tc.run)
		if got := c.Annotations[v1alpha1.AnnotationCPUAcceleration]; got != tc.want {
			t.Errorf("%s, %+v: %q", tc.run.Arm.CPUAcceleration, tc.run.Cell, got)
		}
	}
}
