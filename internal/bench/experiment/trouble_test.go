package experiment

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// stall lets the cluster complain from now on.
func (w *world) stall(reason string) {
	w.Cluster.Status.Conditions = []metav1.Condition{
		{Type: "Ready", Status: "False", Reason: reason},
		{Type: "Stalled", Status: "True", Reason: reason, Message: "says the cluster",
			LastTransitionTime: metav1.Time{Time: w.Now}},
	}
}

// TestRefusedRebootstrap: a private cluster is switched the quick way, and the other way when it refuses that one,
// once.
func TestRefusedRebootstrap(t *testing.T) {
	w := newWorld(nil)
	w.step()
	if got := w.Cluster.Spec.TLS.SwitchStrategy; got != v1alpha1.SwitchRebootstrap {
		t.Errorf("made to be switched by %s", got)
	}
	w.stall(v1alpha1.ReasonSwitchRefused)
	if d := w.step(); d.Action != nil {
		t.Errorf("at once: %+v", d)
	}
	w.Now = w.Now.Add(time.Minute)
	if a, ok := w.step().Action.(ChangeCluster); !ok || !a.Rolling ||
		w.Cluster.Spec.TLS.SwitchStrategy != v1alpha1.SwitchRolling {
		t.Errorf("%+v, %s", a, w.Cluster.Spec.TLS.SwitchStrategy)
	}
	w.stall(v1alpha1.ReasonSwitchRefused)
	w.Now = w.Now.Add(time.Minute)
	if d := w.step(); d.Action != nil {
		t.Errorf("again: %+v", d)
	}
}

func TestStalledClusters(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		after  time.Duration
		ends   bool
	}{
		"just now":           {v1alpha1.ReasonMemberFailed, 0, false},
		"a while":            {v1alpha1.ReasonTwoPrimaryComponents, 10 * time.Minute, false},
		"too long":           {v1alpha1.ReasonTwoPrimaryComponents, 21 * time.Minute, true},
		"a glimpse of wrong": {v1alpha1.ReasonSettingsRefused, 10 * time.Second, false},
		"wrong for good":     {v1alpha1.ReasonSettingsRefused, 2 * time.Minute, true},
	} {
		w := newWorld(nil)
		w.step()
		w.stall(tc.reason)
		w.step()
		w.Now = w.Now.Add(tc.after)
		d := w.step()
		if !tc.ends {
			if d.Failed || d.Stalled || d.Action != nil || !strings.Contains(d.Message, tc.reason+": says the cluster") {
				t.Errorf("%s: %+v", name, d)
			}
			w.observed()
			if got := w.run(t); !strings.HasSuffix(got, "finish Measured") {
				t.Errorf("%s, and well again: %s", name, got)
			}
			continue
		}
		got := w.run(t)
		if got != "make plain, remove, finish ClusterNotReady" && got != "make encrypted, remove, finish ClusterNotReady" {
			t.Errorf("%s: %s", name, got)
		}
		if f := w.Benchmark.Status.Failure; f == nil || !strings.Contains(f.Message, tc.reason+": says the cluster") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestNeverProved: nothing is wrong with the cluster, and it is not what the arm needs.
func TestNeverProved(t *testing.T) {
	w := newWorld(nil)
	w.step()
	w.Cluster.Status.Members[0].TLS.Clients = &v1alpha1.ChannelStatus{Observed: "Unknown"}
	w.step()
	w.Now = w.Now.Add(time.Hour)
	if d := w.step(); d.Failed {
		t.Errorf("after an hour: %+v", d)
	}
	w.Now = w.Now.Add(time.Hour)
	if got := w.run(t); !strings.HasSuffix(got, "remove, finish ClusterNotReady") {
		t.Errorf("got %s", got)
	}
}

// TestRefusedByTheAPI: an admission policy admits no cluster, or no change of it; or its operator restarts no node. No
// message reports.
func TestRefusedByTheAPI(t *testing.T) {
	for name, tc := range map[string]struct {
		begin func() *world
		want  string
	}{
		"no cluster": {func() *world { return newWorld(nil) }, "the private cluster was not made in 2h0m0s"},
		"no change": {func() *world {
			w := newWorld(nil)
			w.step()
			w.Cluster.Spec.TLS.Replication = "Disabled"
			w.Benchmark.Spec.Arms = []v1alpha1.BenchmarkArm{{Name: "encrypted",
				TLS: v1alpha1.BenchmarkTLS{Replication: "Required"}}}
			return w
		}, "its spec was not changed"},
		"no restart": {func() *world {
			w := newWorld(nil)
			w.step()
			w.Acceleration = "Off"
			return w
		}, "not every node runs with cpuAcceleration On yet"},
	} {
		w := tc.begin()
		for _, later := range []time.Duration{0, time.Hour, time.Hour} { // what is decided is not done
			w.Now = w.Now.Add(later)
			d := Next(w.State)
			w.Benchmark.Status.Run = d.Run
			if over := later > 0 && d.Failed; over && (d.Reason != v1alpha1.ReasonClusterNotReady || !strings.Contains(d.Message,
				tc.want)) {
				t.Errorf("%s: %+v", name, d)
			}
			if d.Failed != (w.Now.Sub(newWorld(nil).Now) >= 2*time.Hour) {
				t.Errorf("%s, after %s: %+v", name, w.Now.Sub(newWorld(nil).Now), d)
			}
		}
	}
}

// existing is a benchmark of a cluster that is there already.
func existing() *world {
	w := newWorld(func(s *v1alpha1.GaleraBenchmarkSpec) {
		s.Cluster = v1alpha1.BenchmarkCluster{Ref: &v1alpha1.BenchmarkClusterRef{Name: "shop"}}
		s.Arms = []v1alpha1.BenchmarkArm{{Name: "own"}}
	})
	w.Cluster = &v1alpha1.GaleraCluster{Spec: v1alpha1.GaleraClusterSpec{Replicas: 1,
		TLS: v1alpha1.TLSSpec{Replication: "Required"}}}
	w.observed()
	return w
}

// TestOneBenchmarkAtATime: two loads at once would be measured as one.
func TestOneBenchmarkAtATime(t *testing.T) {
	w := existing()
	w.Cluster.Annotations = map[string]string{v1alpha1.AnnotationBenchmark: "first"}
	if d := w.step(); d.Action != nil || d.Reason != v1alpha1.ReasonClusterBusy || !strings.Contains(d.Message, "first") {
		t.Errorf("got %+v", d)
	}
	w.HolderGone = true
	if got := w.run(t); !strings.HasSuffix(got, "finish Measured") || len(w.Cluster.Annotations) != 0 {
		t.Errorf("got %s, %v", got, w.Cluster.Annotations)
	}
}

// TestDeletedWhileMakingData: the half-made database is removed, too, and only after its Job is gone.
func TestDeletedWhileMakingData(t *testing.T) {
	w := existing()
	for w.Job == nil {
		w.step()
	}
	w.Records[len(w.Records)-1].Output = nil
	w.Job.Finished, w.Job.GoingSince, w.Benchmark.DeletionTimestamp = false, w.Now, &metav1.Time{Time: w.Now}
	if d := w.step(); d.Action != nil {
		t.Errorf("while the Job goes: %+v", d)
	}
	w.Job = nil
	if got := w.run(t); !strings.HasSuffix(got, "drop, finish CleaningUp") || len(w.Cluster.Annotations) != 0 {
		t.Errorf("got %s: %+v", got, w.Cluster)
	}
}

// TestLostHosts: a Job whose pod can never end keeps no cluster from being let go.
func TestLostHosts(t *testing.T) {
	w := existing()
	for w.Job == nil {
		w.step()
	}
	w.Job.Finished, w.Job.GoingSince, w.Benchmark.DeletionTimestamp = false, w.Now, &metav1.Time{Time: w.Now}
	w.Now = w.Now.Add(lostTime - time.Second)
	if d := w.step(); d.Action != nil {
		t.Errorf("too soon: %+v", d)
	}
	w.Now = w.Now.Add(2 * time.Second)
	if d := w.step(); d.Action != (Release{}) { // the accounts have had their ten minutes
		t.Errorf("got %+v", d)
	}
}

// TestFailuresPutEverythingBack: sysbench fails again and again.
func TestFailuresPutEverythingBack(t *testing.T) {
	w := existing()
	for _, name := range []string{"x-run-002-1", "x-run-002-2", "x-run-002-3"} {
		w.spoil[name] = "sysbench gave up; the last lines were: FATAL: error 1047"
	}
	if got := w.run(t); !strings.HasSuffix(got, "drop, finish TooManyInvalidRuns") || len(w.Cluster.Annotations) != 0 {
		t.Errorf("got %s: %+v", got, w.Cluster)
	}
	if f := w.Benchmark.Status.Failure; f == nil || !strings.Contains(f.Message, "FATAL: error 1047") {
		t.Errorf("got %+v", f)
	}
}

// TestMissingThings are waited for before anything is made.
func TestMissingThings(t *testing.T) {
	w := newWorld(nil)
	w.Missing = "there is no ConfigMap"
	if d := w.step(); d.Action != nil || !d.Stalled || d.Message != w.Missing {
		t.Errorf("got %+v", d)
	}
	w.Missing = ""
	if got := w.run(t); !strings.HasSuffix(got, "finish Measured") {
		t.Errorf("got %s", got)
	}
}

func TestTemplateEditedInTheMiddle(t *testing.T) {
	w := newWorld(nil)
	w.step()
	w.Cluster.Annotations = map[string]string{v1alpha1.AnnotationTemplate: TemplateSum(w.Benchmark.Spec.Cluster.Template)}
	made := w.Benchmark.Spec.Cluster.Template.DeepCopy()
	w.Benchmark.Spec.Cluster.Template.TLS.MinVersion = "1.2"
	if d := w.step(); !d.Stalled || d.Reason != v1alpha1.ReasonTemplateChanged || d.Action != nil {
		t.Errorf("another template: %+v", d)
	}
	w.Benchmark.Spec.Cluster.Template = made
	if got := w.run(t); !strings.HasSuffix(got, "finish Measured") {
		t.Errorf("set back: %s", got)
	}
}

// TestJobThatDoesNotStart: an image may be there at the next try, and is not waited for for ever.
func TestJobThatDoesNotStart(t *testing.T) {
	for name, tc := range map[string]struct {
		waited time.Duration
		want   string
	}{
		"a while":       {4 * time.Minute, ""},
		"long":          {5 * time.Minute, "the Job left no result: ImagePullBackOff: no such image"},
		"nothing amiss": {0, ""},
	} {
		w := newWorld(nil)
		r := result.Record{Run: result.Run{Index: 1, Attempt: 1, Kind: result.KindOLTP}}
		w.Records = []result.Record{r}
		w.Job = &Job{Name: Name("x", r.Run), Message: "ImagePullBackOff: no such image"}
		if tc.waited > 0 {
			w.Job.WaitingSince = w.Now.Add(-tc.waited)
		}
		d := Next(w.State)
		judge, judged := d.Action.(Judge)
		if judged != (tc.want != "") || judge.Record.Reason != tc.want {
			t.Errorf("%s: got %+v", name, d)
		}
		if !judged {
			continue
		}
		w.Judged[w.Job.Name] = true
		if _, removed := Next(w.State).Action.(RemoveJob); !removed {
			t.Errorf("%s: the Job stays", name)
		}
	}
}
