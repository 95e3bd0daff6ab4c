package status

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// TestImages: what is reported in the middle of a change of the image.
func TestImages(t *testing.T) {
	waiting := func(reason string) func(*Input) {
		return func(in *Input) {
			p := &corev1.Pod{}
			p.Namespace, p.Name = "demo", "n-1"
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mariadb", Image: "acme/db:1",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 127,
					Reason: "Error"}}}}
			in.Facts.Pods = map[string]*corev1.Pod{"n-1": p}
		}
	}
	// sidecarIs has a sidecar next to a database that runs or waits for it.
	sidecarIs := func(sidecar, database corev1.ContainerState) func(*Input) {
		return func(in *Input) {
			always := corev1.ContainerRestartPolicyAlways
			p := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "log", RestartPolicy: &always}}}}
			p.Namespace, p.Name = "demo", "n-1"
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse,
				Reason: "ContainersNotReady"}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "log", Image: "acme/log:1", RestartCount: 3,
				State: sidecar,
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3,
					Reason: "Error"}}}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mariadb", Ready: database.Running != nil,
				State: database}}
			in.Facts.Pods = map[string]*corev1.Pod{"n-1": p}
		}
	}
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(healthy().Now)}}
	turnOf := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	lacks := func(in *Input) {
		s := in.Seen["n-1"]
		s.Report.Image.Missing = []string{"socat"}
		in.Seen["n-1"] = s
		in.Snapshot.Members[0].Pod.Outdated, in.Snapshot.Members[1].Pod.Outdated = true, true
	}
	turn := func(in *Input) {
		in.Snapshot.Operation = &galera.Operation{Type: galera.OpRestart, Target: "n-1"}
		in.Decision.Reason = plan.ReasonMemberFailed
	}
	for name, c := range map[string]struct {
		change      func(*Input)
		ready, says string
		stalled     bool
	}{
		"an older series, by its tag": {func(in *Input) {
			in.ImageRefused = &validate.Problem{Reason: v1alpha1.ReasonDowngradeRefused, Message: "put it back", Blocked: true}
		}, v1alpha1.ReasonDowngradeRefused, "put it back", true},
		"an older series, by facts": {func(in *Input) { fails(in, agentapi.FailureDowngrade) },
			v1alpha1.ReasonDowngradeRefused, "n-1: why", true},
		"mariadb-upgrade runs": {func(in *Input) { in.Snapshot.Members[1].Upgrading = true }, v1alpha1.ReasonUpgrading,
			"n-1 serves", false},
		"mariadb-upgrade failed": {func(in *Input) {
			in.Snapshot.Members[1].Upgrading = true
			in.Snapshot.Members[1].Failure = &galera.Failure{Reason: agentapi.FailureUpgrade, Message: "why"}
		}, v1alpha1.ReasonUpgradeFailed, "n-1: why. Set spec.image to another image", true},
		"the server ends, in its turn": {both(func(in *Input) { fails(in, agentapi.FailureStart) },
			turn), v1alpha1.ReasonMemberFailed, "The rolling restart is halted", false},
		"a program is missing, and another image is wanted": {lacks, v1alpha1.ReasonTransferToolsMissing,
			"n-1: the image lacks socat", true},
		"the same, in its turn": {both(lacks, turn), v1alpha1.ReasonMemberFailed, "", false},
		"the other image is as bad": {both(lacks, turn, func(in *Input) { in.Snapshot.Members[1].Pod.Outdated = false }),
			v1alpha1.ReasonTransferToolsMissing, "n-1: the image lacks socat", true},
		"no such image": {waiting("ImagePullBackOff"), v1alpha1.ReasonImagePullFailed,
			"acme/db:1: . Correct spec.image, or spec.imagePullSecrets|kubectl describe pod n-1 -n demo", true},
		"its container ends at once": {waiting("CrashLoopBackOff"), v1alpha1.ReasonImageUnusable,
			"kubectl logs n-1 -c mariadb -n demo --previous", true},
		"a sidecar of a database that runs": {sidecarIs(waits, runs), v1alpha1.ReasonSidecarFailing,
			"the container log has restarted 3 times: exit code 3", true},
		"it runs between two failures": {sidecarIs(runs, runs), v1alpha1.ReasonSidecarFailing,
			"Correct spec.podTemplate.sidecars|kubectl logs n-1 -c log -n demo --previous", true},
		"the database waits for it": {sidecarIs(waits, turnOf), v1alpha1.ReasonImageUnusable,
			"the container log of the image acme/log:1 crashes repeatedly: exit code 3, Error. Correct " +
				"spec.podTemplate.sidecars", true},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy()
			in.Decision.Reason = plan.ReasonHealthy
			c.change(&in)
			problem := firstProblem(in)
			v := ready(in, problem, proved(in))
			reported := v.message
			if problem != nil {
				reported += "|" + problem.Message + "|" + problem.Command
			}
			if v.reason != c.ready || !strings.Contains(reported, c.says) {
				t.Errorf("%s: %s", v.reason, reported)
			}
			if got := stalled(requiredActions(in, false)).status == "True"; got != c.stalled {
				t.Errorf("stalled: %t", got)
			}
		})
	}
}
