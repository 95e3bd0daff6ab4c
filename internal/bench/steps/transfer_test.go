package steps

import (
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// transfers is a world in which a run of a state transfer has just begun.
func transfers(t *testing.T) *world {
	t.Helper()
	w := newWorld(func(s *v1alpha1.GaleraBenchmarkSpec) {
		s.Cluster.Template.Replicas = 3
		s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "sst", StateTransfer: &v1alpha1.StateTransferWorkload{
			Tables: 1, TableSize: 10, Methods: []string{"MariaBackup"}, Parallel: []int32{4}, Ciphers: []string{"Arm"}, CPUAcceleration: []string{"On"}}}}
	})
	for w.Job == nil || w.Job.Name != "x-run-001-1" {
		w.step()
	}
	w.Job.Finished, w.Job.Victim = false, Victim(w.Cluster)
	return w
}

func TestDataIsTakenOnceTheLoadHasRun(t *testing.T) {
	w := transfers(t)
	if d := w.step(); d.Action != nil {
		t.Errorf("before the runner runs: %+v", d)
	}
	w.Job.RunningSince = w.Now
	if d := w.step(); d.Action != nil || d.Again != BaseSeconds*time.Second {
		t.Errorf("before the load is known: %+v", d)
	}
	w.Now = w.Now.Add(BaseSeconds * time.Second)
	d := w.step()
	if a, ok := d.Action.(TakeData); !ok || a.Member != "x-db-2" || d.Run.Step != StepTransfer {
		t.Errorf("got %+v", d)
	}
	w.Cluster.Status.Primary = "x-db-2"
	// Another operator asks again, as long as the Job is there: and never for another node.
	if a, ok := Next(w.State).Action.(TakeData); !ok || a.Member != "x-db-2" {
		t.Error("the journal was forgotten")
	}
	w.Job.Finished = true
	if d := w.step(); d.Action == nil {
		t.Errorf("the transfer is over: %+v", d)
	}
}

func TestTheWriterKeepsItsData(t *testing.T) {
	w := transfers(t)
	if got := Victim(w.Cluster); got != "x-db-2" {
		t.Errorf("got %s", got)
	}
	w.Cluster.Status.Primary = "x-db-2"
	if got := Victim(w.Cluster); got != "x-db-1" {
		t.Errorf("got %s", got)
	}
}

// TestAccelerationIsSeen: the cluster's spec has not changed, so its status says nothing of what its nodes run with.
func TestAccelerationIsSeen(t *testing.T) {
	w := newWorld(func(s *v1alpha1.GaleraBenchmarkSpec) {
		s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "sst", StateTransfer: &v1alpha1.StateTransferWorkload{
			Tables: 1, TableSize: 10, Methods: []string{"MariaBackup"}, Parallel: []int32{4}, Ciphers: []string{"Arm"}, CPUAcceleration: []string{"Off"}}}}
	})
	w.step()
	w.Cluster.Annotations = map[string]string{v1alpha1.AnnotationCPUAcceleration: "Off"}
	for _, seen := range []string{"On", ""} {
		w.Acceleration = seen
		if d := w.step(); d.Action != nil || !strings.Contains(d.Message, "cpuAcceleration Off") {
			t.Errorf("%q: %+v", seen, d)
		}
	}
	w.Acceleration = "Off"
	if d := w.step(); d.Action == nil {
		t.Errorf("got %+v", d)
	}
}
