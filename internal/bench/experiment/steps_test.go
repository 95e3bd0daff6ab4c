package experiment

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// world carries out what is decided, as the real one does in time.
type world struct {
	State
	acts []string
	// spoil makes attempts invalid, by name of the record.
	spoil map[string]string
	// undroppable is why accounts that are deleted stay; "": they do not.
	undroppable string
}

func newWorld(edit func(*v1alpha1.GaleraBenchmarkSpec)) *world {
	b := &v1alpha1.GaleraBenchmark{Spec: v1alpha1.GaleraBenchmarkSpec{
		Cluster: v1alpha1.BenchmarkCluster{Template: &v1alpha1.GaleraClusterSpec{Replicas: 1,
			Storage: v1alpha1.StorageSpec{Size: resource.MustParse("1Gi")}}},
		Arms: []v1alpha1.BenchmarkArm{{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Replication: "Disabled"}},
			{Name: "encrypted", TLS: v1alpha1.BenchmarkTLS{Replication: "Required"}}},
		Rounds: 2, Seed: 1,
		Workloads: []v1alpha1.BenchmarkWorkload{{Name: "write", OLTP: &v1alpha1.OLTPWorkload{Profile: "WriteOnly", Tables: 1,
			TableSize: 10, Threads: []int32{1}}}},
	}}
	b.Name = "x"
	if edit != nil {
		edit(&b.Spec)
	}
	return &world{State: State{Benchmark: b, Judged: map[string]bool{}, Now: time.Unix(1e9, 0), Acceleration: "On"},
		spoil: map[string]string{}}
}

// observed makes the cluster what its spec asks for, and its operator see it.
func (w *world) observed() {
	c := w.Cluster
	c.Generation++
	c.Status.ObservedGeneration, c.Status.ClusterUUID = c.Generation, "u"
	c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True"}}
	fact := func(policy string) *v1alpha1.ChannelStatus {
		if policy == v1alpha1.TLSDisabled {
			return &v1alpha1.ChannelStatus{Observed: "Plaintext"}
		}
		return &v1alpha1.ChannelStatus{Observed: "TLS", PlaintextRefused: true, Protocol: "TLSv1.3",
			Cipher: "TLS_AES_128_GCM_SHA256"}
	}
	c.Status.Members = nil
	policy := c.Spec.TLS
	for i := range c.Spec.Replicas {
		c.Status.Members = append(c.Status.Members, v1alpha1.MemberStatus{Name: fmt.Sprintf("x-db-%d", i),
			TLS: &v1alpha1.MemberTLSStatus{
				Replication: fact(string(policy.Replication)), StateTransfer: fact(string(policy.Replication)),
				Clients: fact(string(policy.Clients))}})
	}
}

func (w *world) step() Decision {
	d := Next(w.State)
	b := w.Benchmark
	b.Status.Run = d.Run
	if d.Ending && b.Status.EndingSince == nil {
		b.Status.EndingSince = &metav1.Time{Time: w.Now}
	}
	switch a := d.Action.(type) {
	case MakeCluster:
		w.note("make " + a.Run.Arm.Name)
		w.Cluster = &v1alpha1.GaleraCluster{Spec: Spec(*b.Spec.Cluster.Template, a.Run)}
		w.Cluster.Name = "x-db"
		w.observed()
	case ChangeCluster:
		w.note("switch " + a.Run.Arm.Name)
		w.Cluster.Spec = Spec(*b.Spec.Cluster.Template, a.Run)
		if a.Rolling {
			w.Cluster.Spec.TLS.SwitchStrategy = v1alpha1.SwitchRolling
		}
		w.observed()
	case StartJob:
		name := Name("x", a.Wire)
		w.note("start " + name)
		w.Accounts = []Account{{Name: "GaleraUser bench-x"}}
		w.Job = &Job{Name: name, Finished: true}
		r := result.Record{Run: a.Wire, Output: &result.Output{OLTP: &result.OLTPResult{Transactions: 1},
			Data: &result.DataSet{Database: a.Data.Database}}}
		w.Records = append(w.Records, r)
	case Judge:
		name := Name("x", a.Record.Run)
		for i := range w.Records {
			if Name("x", w.Records[i].Run) == name {
				w.Records[i].Verdict = result.Verdict{Valid: w.spoil[name] == "", Reason: w.spoil[name]}
				if w.Records[i].Kind == result.KindPrepare && w.Records[i].Valid {
					b.Status.DataSets = append(b.Status.DataSets, v1alpha1.BenchmarkDataSet{Name: a.Record.Workload, ClusterUUID: "u"})
				}
			}
		}
		w.Judged[name] = true
	case Request:
		if token, all := strings.CutPrefix(a.Value, "all@"); all {
			w.note("restart " + token)
			w.Cluster.Annotations = map[string]string{a.Annotation: a.Value}
			w.Cluster.Status.Requests = []v1alpha1.RequestStatus{{Kind: v1alpha1.RequestRestart, Node: v1alpha1.AllNodes,
				Token: token, State: v1alpha1.RequestDone}}
		}
	case RemoveJob:
		w.Job = nil
	case DropAccounts:
		if b.Spec.Cluster.Ref != nil {
			w.note("drop")
		}
		w.Accounts = nil
		if w.undroppable != "" {
			w.Accounts = []Account{{Name: "GaleraUser bench-x", Going: true, Message: w.undroppable}}
		}
	case RemoveCluster:
		w.note("remove")
		w.Cluster = nil
	case Claim:
		w.Cluster.Annotations = map[string]string{v1alpha1.AnnotationBenchmark: b.Name}
	case Release:
		w.Cluster.Annotations = nil
	case GiveUp:
		b.Status.Failure = &v1alpha1.BenchmarkFailure{Reason: d.Reason, Message: d.Message}
	case Finish:
		w.note("finish " + d.Reason)
		b.Status.CompletedAt = &metav1.Time{Time: w.Now}
	}
	return d
}

func (w *world) note(s string) { w.acts = append(w.acts, s) }

// run goes on until the benchmark has ended, or nothing is left to do.
func (w *world) run(t *testing.T) string {
	t.Helper()
	for range 200 {
		if d := w.step(); d.Action == nil || w.Benchmark.Status.CompletedAt != nil {
			return strings.Join(w.acts, ", ")
		}
	}
	t.Fatalf("it never ends: %v", w.acts)
	return ""
}

func TestWholeMatrix(t *testing.T) {
	got := newWorld(nil).run(t)
	for _, want := range []string{"start x-prepare-1, restart x-round-1-plain, start x-run-001-1, switch encrypted, " +
		"restart x-round-1-encrypted, start x-run-002-1", "x-run-002-1", "x-run-003-1",
		"x-run-004-1, remove, finish Measured"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in: %s", want, got)
		}
	}
	if strings.Count(got, "prepare") != 1 || strings.Count(got, "restart") != 4 {
		t.Errorf("data once, and a restart before each arm: %s", got)
	}
}

// TestNextIsPure: asked again with what can be read from the objects, it decides the same, and it changes nothing. What
// an operator that is killed anywhere does is tested with the controller.
func TestNextIsPure(t *testing.T) {
	w := newWorld(nil)
	w.spoil["x-run-002-1"] = "x-0 was restarted during the run"
	for w.Benchmark.Status.CompletedAt == nil {
		before := text(t, w.State)
		var read State
		if err := json.Unmarshal([]byte(before), &read); err != nil {
			t.Fatal(err)
		}
		again, d := Next(read), Next(w.State)
		if a, b := fmt.Sprintf("%T %s", again.Action, text(t, again)), fmt.Sprintf("%T %s", d.Action, text(t, d)); a != b {
			t.Fatalf("got  %s\nwant %s", a, b)
		}
		if after := text(t, w.State); after != before {
			t.Fatalf("changed to %s\nfrom %s", after, before)
		}
		if w.step().Action == nil {
			t.Fatalf("it never ends: %v", w.acts)
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestInterruptedStart: the ConfigMap was made, and the operator was killed before it made the Job.
func TestInterruptedStart(t *testing.T) {
	w := newWorld(nil)
	for w.Job == nil {
		w.step()
	}
	w.Job = nil
	if d := w.step(); w.Job == nil || w.Job.Name != "x-prepare-1" {
		t.Errorf("got %+v", d)
	}
}

func TestDisturbedRunsAreRepeated(t *testing.T) {
	w := newWorld(nil)
	w.spoil["x-run-002-1"] = "x-0 was restarted during the run"
	if got := w.run(t); !strings.Contains(got, "x-run-002-1, start x-run-002-2, ") ||
		!strings.HasSuffix(got, "finish Measured") {
		t.Errorf("got %s", got)
	}
	w = newWorld(nil)
	for i := 1; i < 5; i++ {
		w.spoil[fmt.Sprintf("x-run-001-%d", i)] = "always"
	}
	got := w.run(t)
	if !strings.HasSuffix(got, "x-run-001-3, remove, finish TooManyInvalidRuns") {
		t.Errorf("got %s", got)
	}
}

func TestRefusals(t *testing.T) {
	w := existing()
	w.Cluster = nil
	if d := w.step(); d.Reason != v1alpha1.ReasonClusterNotFound || !d.Stalled {
		t.Errorf("no such cluster: %+v", d)
	}
	w = newWorld(func(s *v1alpha1.GaleraBenchmarkSpec) { s.Workloads[0].OLTP.TableSize = 100e6 })
	if got := w.run(t); got != "finish NotEnoughDisk" {
		t.Errorf("got %s", got)
	}
	w = newWorld(nil)
	w.spoil["x-prepare-1"] = result.NotEnoughDisk + "x-db-0 has 3 MB free"
	if got := w.run(t); !strings.HasSuffix(got, "start x-prepare-1, remove, finish NotEnoughDisk") {
		t.Errorf("got %s", got)
	}
}

// TestClientsAnArmRefuses: what the arm leaves open is the cluster's own, also of one that is there already.
func TestClientsAnArmRefuses(t *testing.T) {
	own := v1alpha1.TLSSpec{Replication: "Required"}
	for name, tc := range map[string]struct {
		minVersion, arms, clients string
		private                   bool
		refused                   bool
	}{
		"private, new":       {"1.3", "", "Required", true, true},
		"private, old":       {"1.2", "", "Required", true, false},
		"existing, default":  {"", "", "Required", false, true},
		"existing, new":      {"1.3", "", "Required", false, true},
		"existing, old":      {"1.2", "", "Required", false, false},
		"the arm is old":     {"1.3", "1.2", "Required", true, false},
		"the arm is new":     {"1.2", "1.3", "Required", true, true},
		"without any of TLS": {"1.3", "", "Disabled", false, false},
	} {
		own.MinVersion, own.Clients = tc.minVersion, v1alpha1.ClientTLS(tc.clients)
		w := newWorld(func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Cluster.Template.TLS = own
			if !tc.private {
				s.Cluster = v1alpha1.BenchmarkCluster{Ref: &v1alpha1.BenchmarkClusterRef{Name: "shop"}}
			}
			s.Arms = []v1alpha1.BenchmarkArm{{Name: "one", TLS: v1alpha1.BenchmarkTLS{MinVersion: tc.arms}}}
			s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "c", Connect: &v1alpha1.ConnectWorkload{Threads: []int32{1},
				TLSVersions: []string{"1.2"}, SessionResumption: []string{"Off"}, Latency: []string{"0s"}}}}
		})
		if !tc.private {
			w.Cluster = &v1alpha1.GaleraCluster{Spec: v1alpha1.GaleraClusterSpec{Replicas: 1, TLS: own}}
			w.observed()
		}
		got := w.run(t)
		if refused := got == "finish WorkloadFailed"; refused != tc.refused {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestDeletedInTheMiddle: the accounts and the data go, and the mark of the cluster.
func TestDeletedInTheMiddle(t *testing.T) {
	w := existing()
	own := w.Cluster.Spec.TLS
	for w.Job == nil || w.Job.Name != "x-run-002-1" {
		w.step()
	}
	w.Job.Finished, w.Benchmark.DeletionTimestamp, w.acts = false, &metav1.Time{Time: w.Now}, nil
	if got := w.run(t); got != "drop, finish CleaningUp" || !SamePolicy(w.Cluster.Spec.TLS, own) ||
		len(w.Cluster.Annotations) != 0 {
		t.Errorf("got %s: %+v", got, w.Cluster)
	}
}

func TestSuspendWaitsForTheRun(t *testing.T) {
	w := newWorld(nil)
	for w.Job == nil {
		w.step()
	}
	w.Benchmark.Spec.Suspend = true
	got := w.run(t)
	if d := Next(w.State); d.Reason != v1alpha1.ReasonPaused || strings.Contains(got, "run-001") {
		t.Errorf("got %+v after %s", d, got)
	}
}

// TestPausedClusterIsNotMeasured: no run begins while the operator does nothing for the cluster.
func TestPausedClusterIsNotMeasured(t *testing.T) {
	w := newWorld(nil)
	for w.Cluster == nil {
		w.step()
	}
	if w.Cluster.Annotations == nil {
		w.Cluster.Annotations = map[string]string{}
	}
	w.Cluster.Annotations[v1alpha1.AnnotationPause] = "true"
	for range 3 {
		if d := w.step(); d.Action != nil || d.Reason != v1alpha1.ReasonClusterPaused || !d.Stalled {
			t.Fatalf("got %+v", d)
		}
	}
	delete(w.Cluster.Annotations, v1alpha1.AnnotationPause)
	if d := w.step(); d.Reason == v1alpha1.ReasonClusterPaused {
		t.Errorf("it still waits: %+v", d)
	}
}

// TestNotProvedIsNotMeasured: nothing is started while a node was not observed to do what the arm wants.
func TestNotProvedIsNotMeasured(t *testing.T) {
	w := newWorld(nil)
	w.step()
	w.Cluster.Status.Members[0].TLS.Clients = &v1alpha1.ChannelStatus{Observed: "Unknown"}
	for range 5 {
		if d := w.step(); d.Action != nil || d.Reason != v1alpha1.ReasonPreparingCluster &&
			d.Reason != v1alpha1.ReasonSwitchingArm {
			t.Errorf("got %+v", d)
		}
	}
}
