package galerabenchmark

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

func TestVerdicts(t *testing.T) {
	window := func(view float64) result.Window {
		at := func(view float64) result.Sample {
			return result.Sample{result.MetricStarted: 1, result.MetricSynced: 1, result.MetricView: view}
		}
		return result.Window{Before: at(1), After: at(view)}
	}
	for name, tc := range map[string]struct {
		kind   string
		reason string
		out    *result.Output
		want   string
	}{
		"no result": {result.KindOLTP, "the Job left no result: OOMKilled", nil, "the Job left no result: OOMKilled"},
		"quiet": {result.KindOLTP, "", &result.Output{OLTP: &result.OLTPResult{Transactions: 1},
			Members: map[string]result.Window{"x-0": window(1)}}, ""},
		"sysbench fails": {result.KindOLTP, "",
			&result.Output{Error: "exit status 1", LastLines: []string{"FATAL: 1047", "bye"}},
			"exit status 1; the last lines were: FATAL: 1047 / bye"},
		"no data": {result.KindPrepare, "", &result.Output{Error: "sysbench prepare: exit status 1",
			LastLines: []string{"FATAL"}}, "sysbench prepare: exit status 1; the last lines were: FATAL"},
		"a node is lost": {result.KindOLTP, "", &result.Output{Error: "exit status 1", LastLines: []string{"FATAL: 2013"},
			Members: map[string]result.Window{"x-0": window(2)}},
			"left or joined during the run (seen by x-0); exit status 1; the last lines were: FATAL: 2013"},
		"data": {result.KindPrepare, "", &result.Output{Data: &result.DataSet{}}, ""},
	} {
		v := verdictOf(&v1alpha1.GaleraBenchmark{}, benchmarkFacts{}, result.Record{Run: result.Run{Kind: tc.kind},
			Verdict: result.Verdict{Reason: tc.reason}, Output: tc.out})
		if v.Valid != (tc.want == "") || !strings.HasSuffix(v.Reason, tc.want) {
			t.Errorf("%s: %+v, want %q", name, v, tc.want)
		}
	}
}

// TestDisturbedMemberIsReadFromTheJob: it is read from the Job itself, and its program's state from the pod.
func TestDisturbedMemberIsReadFromTheJob(t *testing.T) {
	b := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default"}}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "x-db", Namespace: "default"}}
	run := result.Run{Index: 1, Attempt: 1, Kind: result.KindTransfer}
	j, err := objects.Job(b, c, run, result.Plan{Kind: run.Kind, Transfer: &result.Transfer{Victim: "x-db-1"}},
		objects.Images{})
	if err != nil {
		t.Fatal(err)
	}
	since := metav1.NewTime(time.Unix(1e9, 0))
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1.JobNameLabel: j.Name}}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "bench",
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}}}
	f := benchmarkFacts{Pods: []corev1.Pod{pod}}
	if got := f.describe(j); got.Victim != "x-db-1" || !got.RunningSince.Equal(since.Time) || !got.GoingSince.IsZero() ||
		got.Finished {
		t.Errorf("got %+v", got)
	}
	j.DeletionTimestamp = &since
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: "True", Message: "deadline"}}
	if got := f.describe(j); got.GoingSince.IsZero() || !got.Finished || got.Message != "deadline" {
		t.Errorf("got %+v", got)
	}
	f.Pods[0].DeletionTimestamp = &since // and its kubelet is silent
	if got := f.describe(j); !got.WaitingSince.Equal(since.Time) || got.Message == "deadline" {
		t.Errorf("got %+v", got)
	}
}

// TestOperationIsReadFromTheJob: it is read from the Job, too.
func TestOperationIsReadFromTheJob(t *testing.T) {
	b := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default"}}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "x-db", Namespace: "default"}}
	run := result.Run{Index: 1, Attempt: 1, Kind: result.KindOperation}
	j, err := objects.Job(b, c, run, result.Plan{Kind: run.Kind, Operation: &result.Operation{Name: "Restart",
		Node: "x-db-1"}}, objects.Images{})
	if err != nil {
		t.Fatal(err)
	}
	f := benchmarkFacts{}
	if got := f.describe(j); got.Operation == nil || got.Operation.Node != "x-db-1" || got.Victim != "" {
		t.Errorf("got %+v", got)
	}
}

// TestOnlyAPrivateClusterIsDisturbed: whatever was decided.
func TestOnlyAPrivateClusterIsDisturbed(t *testing.T) {
	seen := benchmarkFacts{}
	seen.Benchmark, seen.Cluster = &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "1"}},
		&v1alpha1.GaleraCluster{}
	for _, a := range []experiment.Action{experiment.Request{Annotation: v1alpha1.AnnotationRestart, Value: "all@x"},
		experiment.TakePod{Member: "x-0", Data: true}, experiment.TakePod{Member: "x-0"},
		experiment.SwitchReplication{}, experiment.MakeBackup{}} {
		if err := (&Reconciler{}).actBenchmark(t.Context(), seen.Benchmark, seen, a); !errors.Is(err, errNotPrivate) {
			t.Errorf("%T of a user's cluster: %v", a, err)
		}
	}
}

// TestTheNewerJobIsObserved: one that is deleted may stay for long, and so may several of them. The order of the list
// is the cache's, which is none.
func TestTheNewerJobIsObserved(t *testing.T) {
	b := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "1"}}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "x-db"}}
	job := func(of *v1alpha1.GaleraBenchmark, attempt int, made int64, going bool) batchv1.Job {
		j, err := objects.Job(of, c, result.Run{Index: 1, Attempt: attempt, Kind: result.KindOLTP}, result.Plan{},
			objects.Images{})
		if err != nil {
			t.Fatal(err)
		}
		j.CreationTimestamp = metav1.Unix(made, 0)
		if going {
			j.DeletionTimestamp = &metav1.Time{Time: time.Unix(made+100, 0)}
		}
		return *j
	}
	lost, older := job(b, 2, 200, true), job(b, 1, 100, true)
	now, earlier := job(b, 3, 300, false), job(b, 9, 150, false)
	namesake := job(&v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "2"}}, 8, 900, false)
	for name, tc := range map[string]struct {
		all  []batchv1.Job
		want string
	}{
		"one":                     {[]batchv1.Job{now}, now.Name},
		"one that goes":           {[]batchv1.Job{lost}, lost.Name},
		"the one that stays":      {[]batchv1.Job{lost, earlier}, earlier.Name},
		"the newer that goes":     {[]batchv1.Job{older, lost}, lost.Name},
		"the newer that stays":    {[]batchv1.Job{earlier, now}, now.Name},
		"all of them":             {[]batchv1.Job{older, earlier, lost, now}, now.Name},
		"of an earlier benchmark": {[]batchv1.Job{namesake, older}, older.Name},
	} {
		for range 2 {
			if got := current(b, tc.all); got == nil || got.Name != tc.want {
				t.Errorf("%s: got %v, want %s", name, got, tc.want)
			}
			slices.Reverse(tc.all)
		}
	}
	if got := current(b, []batchv1.Job{namesake}); got != nil {
		t.Errorf("another owner's: %s", got.Name)
	}
}

// TestRecordsAreInOrder of their runs, also of more than 999 and of more than nine attempts: the last invalid ones are
// reported.
func TestRecordsAreInOrder(t *testing.T) {
	var f benchmarkFacts
	for _, r := range []result.Run{{Index: 1000, Attempt: 1}, {Kind: result.KindPrepare, Attempt: 10},
		{Index: 999, Attempt: 10}, {Index: 999, Attempt: 2}, {Kind: result.KindPrepare, Attempt: 9}} {
		f.Records = append(f.Records, result.Record{Run: r})
	}
	f.sortRecords()
	var got []string
	for _, r := range f.Records {
		got = append(got, experiment.Name("x", r.Run))
	}
	if want := []string{"x-prepare-9", "x-prepare-10", "x-run-999-2", "x-run-999-10",
		"x-run-1000-1"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestTroubleOfTheSSHServer: a Job that waits for it reports why, and no other Job does.
func TestTroubleOfTheSSHServer(t *testing.T) {
	waiting := func(tunnel string) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelTunnel: tunnel}}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "sshd",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff",
				Message: "no such image"}}}}
		return p
	}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "x-run-001-1"}}
	for tunnel, want := range map[string]string{"x-run-001-1-tunnel": "ImagePullBackOff: no such image",
		"x-run-002-1-tunnel": "", "": ""} {
		f := benchmarkFacts{Pods: []corev1.Pod{waiting(tunnel)}}
		if got := f.describe(j); got.Message != want || !got.RunningSince.IsZero() {
			t.Errorf("%q: got %+v", tunnel, got)
		}
	}
}

// TestTroubleOfTheProxy: a client that waits for its image is known since when, and what a proxy that crashed said
// last.
func TestTroubleOfTheProxy(t *testing.T) {
	since := metav1.NewTime(time.Unix(1e9, 0))
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code,
			Message: "[INFO] hello\n[ERROR] no disk\nbye\n"}}
	}
	waiting := func(message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "X", Message: message}}
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, tc := range map[string]struct {
		proxy, before, client corev1.ContainerState
		words                 string
		waits                 bool
	}{
		"at work":           {running, corev1.ContainerState{}, running, "", false},
		"starting":          {waiting(""), corev1.ContainerState{}, waiting(""), "", false},
		"no image":          {waiting("no such image"), corev1.ContainerState{}, waiting(""), "", true},
		"no client's image": {running, corev1.ContainerState{}, waiting("no such image"), "", true},
		"crashed":           {ended(1), corev1.ContainerState{}, running, "[ERROR] no disk / bye", false},
		"crashing":          {waiting("back-off"), ended(1), running, "[ERROR] no disk / bye", false},
		"ended":             {ended(0), corev1.ContainerState{}, ended(0), "", false},
	} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1.JobNameLabel: "x-run-001-1"}}}
		pod.Status.StartTime = &since
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: objects.ProxyContainer, State: tc.proxy,
			LastTerminationState: tc.before}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: objects.ClientContainer, State: tc.client}}
		f := benchmarkFacts{Pods: []corev1.Pod{pod}}
		got := f.describe(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "x-run-001-1"}})
		if f.ProxyWords != tc.words || got.WaitingSince.Equal(since.Time) != tc.waits {
			t.Errorf("%s: %q, %+v", name, f.ProxyWords, got)
		}
	}
	failed := result.Record{Run: result.Run{Kind: result.KindConnect},
		Output: &result.Output{Error: "connecting to x: no such file"}}
	if v := verdictOf(&v1alpha1.GaleraBenchmark{}, benchmarkFacts{ProxyWords: "no disk"},
		failed); v.Reason != "connecting to x: no such file; the proxy crashed: no disk" {
		t.Errorf("got %q", v.Reason)
	}
}

func TestAccelerationOfAllPods(t *testing.T) {
	pod := func(name string, env ...corev1.EnvVar) corev1.Pod {
		return corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name, Env: env}}}}
	}
	on, job := pod(cluster.Container), pod("bench")
	x86 := corev1.EnvVar{Name: "OPENSSL_ia32cap", Value: "~0x200000200000000"}
	off := pod(cluster.Container, corev1.EnvVar{Name: "OPENSSL_armcap", Value: "0x1"}, x86)
	before := pod(cluster.Container, x86) // made by an operator that knew of no other processors
	for _, tc := range []struct {
		want string
		pods []corev1.Pod
	}{{"On", []corev1.Pod{on, job, on}}, {"Off", []corev1.Pod{job, off}}, {"", []corev1.Pod{on, off, on}},
		{"", []corev1.Pod{off, before}}, {"", []corev1.Pod{before}}} {
		if got := acceleration(tc.pods); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}
