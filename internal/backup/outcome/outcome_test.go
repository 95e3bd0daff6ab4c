package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

func TestJudge(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	jobIs := func(kind batchv1.JobConditionType) *batchv1.Job {
		j := &batchv1.Job{}
		j.Name, j.CreationTimestamp = "j", metav1.NewTime(now.Add(-time.Hour))
		if kind != "" {
			j.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: "Why",
				Message: "because"}}
		}
		return j
	}
	ended := func(code int32, message string) corev1.Pod {
		p := corev1.Pod{}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: job.Container, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", Message: message}}}}
		return p
	}
	initial := func(name string, code int32, message string) corev1.Pod {
		p := corev1.Pod{}
		end := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "OOMKilled", Message: message}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: job.ContainerInstall, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{}}}, {Name: name, State: corev1.ContainerState{Terminated: end},
			LastTerminationState: corev1.ContainerState{Terminated: end}}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: job.Container,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}
		return p
	}
	fetched := func(code int32, message string) corev1.Pod {
		p := initial(job.ContainerFetch, code, "")
		p.Status.ContainerStatuses = ended(1, message).Status.ContainerStatuses
		return p
	}
	opening := func() corev1.Pod {
		p := corev1.Pod{}
		p.Name, p.Status.Phase = "p", corev1.PodPending
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: job.ContainerOpen,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		return p
	}
	added := func() corev1.Pod { // by an admission webhook, before the Job's own
		p := ended(1, `{"error":"another's"}`)
		p.Status.ContainerStatuses[0].Name = "injected"
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, ended(1, `{"error":"its own"}`).Status.
			ContainerStatuses...)
		return p
	}
	waiting := func(age time.Duration) corev1.Pod {
		p := corev1.Pod{}
		p.Name, p.CreationTimestamp, p.Status.Phase = "p", metav1.NewTime(now.Add(-age)), corev1.PodPending
		return p
	}
	ending := jobIs(batchv1.JobFailureTarget) // its pods have not ended yet
	ending.Status.Conditions = append(ending.Status.Conditions,
		batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionFalse})
	working := waiting(time.Hour)
	working.Status.Phase = corev1.PodRunning
	homeless, imageless := waiting(time.Hour), waiting(time.Hour)
	homeless.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: "not ready"},
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no host has the memory"}}
	imageless.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	imageless.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}}}
	starting := *imageless.DeepCopy()
	starting.Status.ContainerStatuses[0].State.Waiting.Reason = "ContainerCreating"
	justMade := jobIs("")
	justMade.CreationTimestamp = metav1.NewTime(now.Add(-time.Second))
	for name, c := range map[string]struct {
		j           *batchv1.Job
		pods        []corev1.Pod
		done        bool
		says, waits string
	}{
		"has just been made": {justMade, nil, false, "", ""},
		"its pod is refused": {jobIs(""), nil, false, "", "the Job j has no pod: a ResourceQuota"},
		"it is being ended":  {ending, []corev1.Pod{ended(1, `{"error":"no"}`)}, false, "", ""},
		"it is at work":      {jobIs(""), []corev1.Pod{working}, false, "", ""},
		"no host takes its pod": {jobIs(""), []corev1.Pod{homeless}, false, "",
			"the pod p does not start: no host has the memory"},
		"its image is missing": {jobIs(""), []corev1.Pod{imageless}, false, "",
			"the pod p does not start: ImagePullBackOff: no such image"},
		"a Secret is missing": {jobIs(""), []corev1.Pod{starting}, false, "",
			"the pod p does not start: a Secret, a ConfigMap"},
		"its pod has ended, not it": {jobIs(""), []corev1.Pod{ended(1, `{"error":"no"}`)}, false, "", ""},
		"ended well": {jobIs(batchv1.JobComplete),
			[]corev1.Pod{ended(0, `{"backup":{"id":"x","dir":"d"}}`)}, true, "", ""},
		"failed, and explains why": {jobIs(batchv1.JobFailed),
			[]corev1.Pod{ended(1, `{"error":"no bucket","reason":"StoreRefused"}`)}, true, "no bucket", ""},
		"was killed": {jobIs(batchv1.JobFailed), []corev1.Pod{ended(137, "last words")}, true,
			"exit code 137 (Error): last words", ""},
		"refused before the image ran": {jobIs(batchv1.JobFailed),
			[]corev1.Pod{initial(job.ContainerOpen, 1, `{"error":"no key","reason":"WrongKey","fatal":true}`)}, true, "no key",
			""},
		"killed before the image ran": {jobIs(batchv1.JobFailed),
			[]corev1.Pod{initial(job.ContainerOpen, 137, "")}, true, "exit code 137 (OOMKilled)", ""},
		"its sidecar was killed": {jobIs(batchv1.JobFailed),
			[]corev1.Pod{fetched(137, `{"error":"no end","reason":"ToolFailed"}`)}, true,
			"no end (its container fetch ended with exit code 137: OOMKilled)", ""},
		"its sidecar was, and it has ended well": {jobIs(batchv1.JobComplete),
			[]corev1.Pod{fetched(137, `{"restored":{"id":"x"}}`)}, true, "", ""},
		"its key is being tried": {jobIs(""), []corev1.Pod{opening()}, false, "",
			"the pod p does not start: its container open is at work"},
		"its pod is gone":            {jobIs(batchv1.JobFailed), nil, true, "Why: because", ""},
		"its pod has just been made": {jobIs(""), []corev1.Pod{waiting(time.Second)}, false, "", ""},
		"its pod does not start": {jobIs(""), []corev1.Pod{waiting(time.Hour)}, false, "",
			"the pod p does not start"},
		"a container that was added to its pod has ended": {jobIs(batchv1.JobFailed), []corev1.Pod{added()}, true,
			"its own", ""},
		"given up before it was ended": {jobIs(batchv1.JobFailed), []corev1.Pod{waiting(time.Hour)}, true,
			"Why: because", ""},
	} {
		o := judge(c.j, c.pods, now)
		if o.Done != c.done || !strings.Contains(o.Result.Error, c.says) || (o.Result.Error != "") != (c.says != "") ||
			!strings.HasPrefix(o.Waits, c.waits) || (o.Waits != "") != (c.waits != "") {
			t.Errorf("%s: %+v", name, o)
		}
		silent := strings.Contains(o.Result.Error, "exit code") || strings.Contains(o.Result.Error, "because")
		if !o.Exists || silent != (o.Result.Reason == task.ReasonToolFailed) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestAddress: only a pod that runs is asked.
func TestAddress(t *testing.T) {
	pod := func(phase corev1.PodPhase, ip string, deleted bool) corev1.Pod {
		p := corev1.Pod{Status: corev1.PodStatus{Phase: phase, PodIP: ip}}
		if deleted {
			p.DeletionTimestamp = new(metav1.Now())
		}
		return p
	}
	for name, c := range map[string]struct {
		pods []corev1.Pod
		want string
	}{
		"it runs":             {[]corev1.Pod{pod(corev1.PodRunning, "10.0.0.7", false)}, "10.0.0.7"},
		"it is starting":      {[]corev1.Pod{pod(corev1.PodPending, "10.0.0.7", false)}, ""},
		"it has ended":        {[]corev1.Pod{pod(corev1.PodFailed, "10.0.0.7", false)}, ""},
		"it is being deleted": {[]corev1.Pod{pod(corev1.PodRunning, "10.0.0.7", true)}, ""},
	} {
		if o := judge(&batchv1.Job{}, c.pods, time.Now()); o.Address != c.want {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestOf: a Job of an object of the same name that was there before counts for nothing, and neither does a pod of a Job
// before.
func TestOf(t *testing.T) {
	backup := func(uid types.UID) *v1alpha1.GaleraBackup {
		return &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "nightly", UID: uid}}
	}
	store := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "s"}}
	store.Spec.Volume = &v1alpha1.VolumeStore{ClaimName: "c"}
	j, err := job.Backup(backup("old"), nil, store, task.Backup{}, 1, job.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j.UID, j.Status.Conditions = "job-2", []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	pod := func(name, of, id string) *corev1.Pod {
		by := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: j.Name, UID: types.UID(of)}}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
		p.Labels = map[string]string{batchv1.JobNameLabel: j.Name}
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(by, batchv1.SchemeGroupVersion.WithKind("Job"))}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: job.Container, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Message: `{"backup":{"id":"` + id + `","dir":"d"}}`}}}}
		return p
	}
	at := &v1alpha1.GaleraBackupStore{}
	at.Spec.Volume = &v1alpha1.VolumeStore{ClaimName: "here"}
	j.Annotations = map[string]string{v1alpha1.AnnotationStoreLocation: location.Annotation(at)}
	c := fake.NewClientBuilder().WithObjects(j, pod("p-2", "job-2", "b2"), pod("z-1", "job-1", "b1")).Build()
	o, err := Of(t.Context(), c, backup("old"), j.Name, time.Now())
	if err != nil || !o.Exists || !o.Done || o.Result.Backup == nil || o.Result.Backup.ID != "b2" ||
		o.Location == nil || o.Location.Claim != "here" {
		t.Errorf("its own: %+v %v", o, err)
	}
	o, err = Of(t.Context(), c, backup("new"), j.Name, time.Now())
	if err != nil || !o.Exists || !o.Foreign || o.Done || o.Location != nil || o.Result.Backup != nil ||
		!strings.Contains(o.Waits, j.Name) {
		t.Errorf("of the object before: %+v %v", o, err)
	}
	if o, err = Of(t.Context(), c, backup("old"), "another", time.Now()); err != nil || o != (Outcome{}) {
		t.Errorf("of no Job: %+v %v", o, err)
	}
	away := errors.New("the API server is away")
	for name, f := range map[string]interceptor.Funcs{
		"the Job": {Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object,
			...client.GetOption) error {
			return away
		}},
		"its pods": {List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return away
		}},
	} {
		if o, err := Of(t.Context(), interceptor.NewClient(c, f), backup("old"), j.Name, time.Now()); !errors.Is(err, away) {
			t.Errorf("%s cannot be read: %+v %v", name, o, err)
		}
	}
}

// TestReasonsOfResults: the cluster's image may write any reason, and the API refuses conditions with one that is no
// word.
func TestReasonsOfResults(t *testing.T) {
	for reason, want := range map[string]string{
		"": "", task.ReasonWrongKey: task.ReasonWrongKey, "two words": task.ReasonToolFailed,
		strings.Repeat("a", 2000): task.ReasonToolFailed, "a\\nb": task.ReasonToolFailed, "9": task.ReasonToolFailed,
	} {
		end := &corev1.ContainerStateTerminated{ExitCode: 1, Message: `{"error":"no","reason":"` + reason + `"}`}
		if r := read(end, ""); r.Error != "no" || r.Reason != want {
			t.Errorf("%.20q: %+v", reason, r)
		}
	}
}

// TestControlsOfResults: what a Job's program quotes, of another server for instance, controls no terminal.
func TestControlsOfResults(t *testing.T) {
	const evil = "a\x1b[2J\u202eb"
	said := task.Result{Error: evil, Source: &task.Source{Version: evil, GTID: evil, Skipped: []string{evil},
		Findings: []task.Finding{{Name: evil, Objects: []string{evil}}}}}
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{string(text), evil} {
		got, err := json.Marshal(read(&corev1.ContainerStateTerminated{Message: message}, ""))
		if err != nil || strings.Contains(string(got), `\u001b`) || strings.Contains(string(got), "\u202e") ||
			!strings.Contains(string(got), "a[2Jb") {
			t.Errorf("%q became %s, %v", message, got, err)
		}
	}
}
