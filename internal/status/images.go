package status

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

func imageRefused(in Input) *validate.Problem { return in.ImageRefused }

// imagePull reports that kubelet cannot pull an image or start its container. A sidecar of a server that runs is
// reported later: see sidecar.
func imagePull(in Input) *validate.Problem {
	for _, p := range pods(in) {
		for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			w := s.State.Waiting
			if w == nil || !ours(s) && observe.ServerRuns(p) {
				continue
			}
			switch w.Reason {
			case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
				return blockingWith(v1alpha1.ReasonImagePullFailed, describePod(p),
					"%s cannot pull the image %s: %s. Correct %s, or spec.imagePullSecrets", p.Name, s.Image, w.Message, field(s))
			case "CrashLoopBackOff":
				return blockingWith(v1alpha1.ReasonImageUnusable, previousLog(p, s),
					"%s: the container %s of the image %s crashes repeatedly%s. Correct %s", p.Name, s.Name, s.Image, lastEnd(s),
					field(s))
			case "CreateContainerError", "RunContainerError", "CreateContainerConfigError":
				return blockingWith(v1alpha1.ReasonImageUnusable, describePod(p), "%s cannot be started: %s", p.Name, w.Message)
			}
		}
	}
	return nil
}

// sidecar reports a container that fails alongside a server that runs. It stays reported while the container runs
// between two failures.
func sidecar(in Input) *validate.Problem {
	for _, p := range pods(in) {
		if s := observe.Failing(p, in.Now); s != nil {
			return blockingWith(v1alpha1.ReasonSidecarFailing, previousLog(p, *s),
				"%s: the container %s has restarted %s%s. The database alongside it serves; no other pod is replaced. "+
					"Correct %s",
				p.Name, s.Name, galera.Count(s.RestartCount, "time"), lastEnd(*s), field(*s))
		}
	}
	return nil
}

// previousLog is the command that shows why a container ended.
func previousLog(p *corev1.Pod, s corev1.ContainerStatus) string {
	return kubectl("logs", p.Name, "-c", s.Name, "-n", p.Namespace, "--previous")
}

func ours(s corev1.ContainerStatus) bool {
	return resources.OwnContainer(s.Name) || s.Name == resources.ArbitratorContainer
}

// field is what a person corrects when a container fails.
func field(s corev1.ContainerStatus) string {
	if ours(s) {
		return "spec.image"
	}
	return "spec.podTemplate.sidecars"
}

// describePod is the command that shows why a pod does not start.
func describePod(p *corev1.Pod) string { return kubectl("describe", "pod", p.Name, "-n", p.Namespace) }

// lastEnd describes how a container last ended.
func lastEnd(s corev1.ContainerStatus) string {
	t := s.LastTerminationState.Terminated
	if t == nil {
		return ""
	}
	return because(strings.TrimSpace(fmt.Sprintf("exit code %d, %s %s", t.ExitCode, t.Reason, t.Message)))
}

// image reports an agent's finding that its image cannot run a Galera node.
func image(in Input) *validate.Problem {
	for _, m := range in.Snapshot.Members {
		if m.Failure == nil {
			continue
		}
		switch m.Failure.Reason {
		case agentapi.FailureNoProvider, agentapi.FailureNoServer:
			return blocking(v1alpha1.ReasonImageUnusable, m.Name+": "+m.Failure.Message)
		case agentapi.FailureToolMissing:
			return blocking(v1alpha1.ReasonTransferToolsMissing, m.Name+": "+m.Failure.Message+toolAdvice)
		}
	}
	return missingTools(in)
}

const toolAdvice = "; use another image, or change spec.stateTransfer"

// missingTools reports missing programs before a joiner needs them. A pod that is about to be replaced is left out: the
// next pod reports for itself.
func missingTools(in Input) *validate.Problem {
	for _, m := range in.Snapshot.Members {
		if r := in.report(m.Name); r != nil && len(r.Image.Missing) > 0 && (!m.Pod.Outdated || !beingRestarted(in, m)) {
			return blocking(v1alpha1.ReasonTransferToolsMissing, fmt.Sprintf(
				"%s: the image lacks %s, which state transfers need%s", m.Name, list(r.Image.Missing), toolAdvice))
		}
	}
	return nil
}
