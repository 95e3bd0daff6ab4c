package outcome

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/internal/backup/job"
)

func TestJudge(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	jobIs := func(kind batchv1.JobConditionType) *batchv1.Job {
		j := &batchv1.Job{}
		j.Name = "j"
		if kind != "" {
			j.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: "Why", Message: "because"}}
		}
		return j
	}
	ended := func(code int32, message string) corev1.Pod {
		p := corev1.Pod{}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: job.Container, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", Message: message}}}}
		return p
	}
	waiting := func(age time.Duration) corev1.Pod {
		p := corev1.Pod{}
		p.Name, p.CreationTimestamp, p.Status.Phase = "p", metav1.NewTime(now.Add(-age)), corev1.PodPending
		return p
	}
	for name, c := range map[string]struct {
		j           *batchv1.Job
		pods        []corev1.Pod
		done        bool
		says, waits string
	}{
		"runs":                         {jobIs(""), nil, false, "", ""},
		"its pod has ended, not it":    {jobIs(""), []corev1.Pod{ended(1, `{"error":"no"}`)}, false, "", ""},
		"ended well":                   {jobIs(batchv1.JobComplete), []corev1.Pod{ended(0, `{"backup":{"id":"x","dir":"d"}}`)}, true, "", ""},
		"failed, and says why":         {jobIs(batchv1.JobFailed), []corev1.Pod{ended(1, `{"error":"no bucket","reason":"StoreRefused"}`)}, true, "no bucket", ""},
		"was killed":                   {jobIs(batchv1.JobFailed), []corev1.Pod{ended(137, "last words")}, true, "exit code 137 (Error): last words", ""},
		"its pod is gone":              {jobIs(batchv1.JobFailed), nil, true, "Why: because", ""},
		"its pod has just been made":   {jobIs(""), []corev1.Pod{waiting(time.Second)}, false, "", ""},
		"its pod does not start":       {jobIs(""), []corev1.Pod{waiting(time.Hour)}, false, "", "the pod p does not start"},
		"given up before it was ended": {jobIs(batchv1.JobFailed), []corev1.Pod{waiting(time.Hour)}, true, "Why: because", ""},
	} {
		o := judge(c.j, c.pods, now)
		if o.Done != c.done || !strings.Contains(o.Result.Error, c.says) || (o.Result.Error != "") != (c.says != "") || !strings.HasPrefix(o.Waits, c.waits) || (o.Waits != "") != (c.waits != "") {
			t.Errorf("%s: %+v", name, o)
		}
	}
}
