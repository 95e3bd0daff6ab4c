package experiment

import (
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// transfers is a world in which a run of a state transfer has just begun.
func transfers(t *testing.T) *world {
	t.Helper()
	w := newWorld(func(s *v1alpha1.GaleraBenchmarkSpec) {
		s.Cluster.Template.Replicas = 3
		s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "sst", StateTransfer: &v1alpha1.StateTransferWorkload{
			Tables: 1, TableSize: 10, Methods: []string{"MariaBackup"}, Parallel: []int32{4},
			CPUAcceleration: []string{"On"}}}}
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
	if d.Action != (TakePod{"x-db-2", w.Job.RunningSince, true}) || d.Run.Step != StepTransfer {
		t.Errorf("got %+v", d)
	}
	w.Cluster.Status.Primary = "x-db-2"
	// Another operator asks again, as long as the Job is there: and never for another node.
	if got := Next(w.State).Action; got != (TakePod{"x-db-2", w.Job.RunningSince, true}) {
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
			Tables: 1, TableSize: 10, Methods: []string{"MariaBackup"}, Parallel: []int32{4},
			CPUAcceleration: []string{"Off"}}}}
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

// TestAccelerationOfAnArm: every kind of workload has it, and a cipher, which is measured alongside the nodes, changes
// nothing of it.
func TestAccelerationOfAnArm(t *testing.T) {
	for name, tc := range map[string]struct {
		workload              v1alpha1.BenchmarkWorkload
		arm                   string
		annotated, has, waits bool
	}{
		"hidden and wanted":          {oltpWorkload(), "Off", true, true, false},
		"not hidden yet":             {oltpWorkload(), "Off", false, false, false},
		"hidden, and not wanted":     {oltpWorkload(), "On", true, false, true},
		"not hidden":                 {oltpWorkload(), "On", false, true, true},
		"a cipher alongside hidden":  {cipherWorkload(), "On", true, true, false},
		"a cipher alongside another": {cipherWorkload(), "On", false, true, false},
	} {
		w := newWorld(func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Workloads = []v1alpha1.BenchmarkWorkload{tc.workload}
			for i := range s.Arms {
				s.Arms[i].CPUAcceleration = tc.arm
			}
		})
		w.step()
		run := Runs(&w.Benchmark.Spec)[0]
		w.Cluster.Annotations = map[string]string{}
		if tc.annotated {
			w.Cluster.Annotations[v1alpha1.AnnotationCPUAcceleration] = "Off"
		}
		if got := Has(w.Benchmark, w.Cluster, run); got != tc.has {
			t.Errorf("%s: the cluster has it: %v", name, got)
		}
		w.Acceleration = "Off"
		if got := acceleration(w.State, run) != ""; got != tc.waits {
			t.Errorf("%s: waits for pods without it: %v", name, got)
		}
	}
}

func oltpWorkload() v1alpha1.BenchmarkWorkload {
	return v1alpha1.BenchmarkWorkload{Name: "w", OLTP: &v1alpha1.OLTPWorkload{Threads: []int32{1}}}
}

func cipherWorkload() v1alpha1.BenchmarkWorkload {
	return v1alpha1.BenchmarkWorkload{Name: "c", Cipher: &v1alpha1.CipherWorkload{Ciphers: []string{"AES-128-CTR"},
		CPUAcceleration: []string{"On"}}}
}

// TestTransferIsProvedAgain: the node that got its data is another server, which was not observed yet.
func TestTransferIsProvedAgain(t *testing.T) {
	ended := func(t *testing.T) *world {
		w := transfers(t)
		w.Job.Finished = true
		w.Records[len(w.Records)-1].Output = &result.Output{Transfer: &result.TransferFacts{Kind: "SST"}, EndedAt: w.Now}
		w.Cluster.Status.Members[2].TLS = nil
		return w
	}
	judged := func(d Decision) bool { _, is := d.Action.(Judge); return is }

	w := ended(t)
	w.Now = w.Now.Add(9 * time.Minute)
	if d := w.step(); d.Action != nil || d.Again == 0 || !strings.Contains(d.Message,
		"proved again after what was done: x-db-2: nothing was observed yet") {
		t.Errorf("judged before the new server was observed: %+v", d)
	}
	w.observed()
	if d := w.step(); !judged(d) {
		t.Errorf("observed: %+v", d)
	}

	w = ended(t)
	w.Now = w.Now.Add(10 * time.Minute)
	if d := w.step(); !judged(d) {
		t.Errorf("never observed: %+v", d)
	}
	w = ended(t)
	w.Records[len(w.Records)-1].Output.Error = "x-db-2 did not come back in time"
	if d := w.step(); !judged(d) {
		t.Errorf("failed anyway: %+v", d)
	}
	w = ended(t)
	w.Records[len(w.Records)-1].Kind, w.Job.Name = result.KindOLTP, Name("x", w.Records[len(w.Records)-1].Run)
	if d := w.step(); !judged(d) {
		t.Errorf("transactions change no server: %+v", d)
	}
}

// TestAVictimThatNeverComesBack: its volume, or its pod, may be refused for ever. Not being Ready is what a transfer
// does to its cluster, and one that fails is tried again; only what waits for a person ends the attempt.
func TestAVictimThatNeverComesBack(t *testing.T) {
	for name, tc := range map[string]struct {
		stalled bool
		reason  string
		after   time.Duration
		ends    bool
	}{
		"no space for a while": {true, v1alpha1.ReasonUnschedulable, 19 * time.Minute, false},
		"no space at all":      {true, v1alpha1.ReasonUnschedulable, 20 * time.Minute, true},
		"a glimpse of wrong":   {true, v1alpha1.ReasonSettingsRefused, 59 * time.Second, false},
		"wrong for good":       {true, v1alpha1.ReasonSettingsRefused, time.Minute, true},
		"a long transfer":      {false, v1alpha1.ReasonJoining, 12 * time.Hour, false},
		"tried again":          {false, v1alpha1.ReasonTransferFailed, 12 * time.Hour, false},
		"an old pair, serving": {true, v1alpha1.ReasonRenewalRefused, 12 * time.Hour, false},
	} {
		w := transfers(t)
		w.Job.RunningSince = w.Now
		w.Records[len(w.Records)-1].Output = nil
		w.Now = w.Now.Add(BaseSeconds * time.Second)
		w.step()
		w.stall(tc.reason)
		if !tc.stalled {
			w.Cluster.Status.Conditions = w.Cluster.Status.Conditions[:1]
		}
		w.Now = w.Now.Add(tc.after)
		d := w.step()
		a, judged := d.Action.(Judge)
		if judged != tc.ends {
			t.Errorf("%s: %+v", name, d)
		}
		if reported := strings.Contains(d.Message, tc.reason+": says the cluster"); !judged && reported != tc.stalled {
			t.Errorf("%s: %s", name, d.Message)
		}
		if !tc.ends || !judged {
			continue
		}
		if !strings.Contains(a.Record.Reason, "the cluster has been stalled for") || !strings.Contains(a.Record.Reason,
			tc.reason+": says the cluster") {
			t.Errorf("%s: %s", name, a.Record.Reason)
		}
		w.observed() // in the very moment: the verdict stands
		if d := w.step(); d.Action != (RemoveJob{"x-run-001-1"}) {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestStalledBeforeTheTransfer: how long the cluster has been stalled says nothing of a transfer that has just begun.
func TestStalledBeforeTheTransfer(t *testing.T) {
	w := transfers(t)
	w.stall(v1alpha1.ReasonUnschedulable)
	w.Now = w.Now.Add(time.Hour)
	w.Job.RunningSince = w.Now
	w.Now = w.Now.Add(19 * time.Minute)
	if _, judged := w.step().Action.(Judge); judged {
		t.Error("the attempt ends at once")
	}
}
