package status

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/validate"
)

func imageRefused(in Input) *validate.Problem { return in.ImageRefused }

// imagePull speaks when kubelet cannot get an image or cannot start the container from it.
func imagePull(in Input) *validate.Problem {
	for _, p := range pods(in) {
		for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			w := s.State.Waiting
			if w == nil {
				continue
			}
			switch w.Reason {
			case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
				return blocking(v1alpha1.ReasonImagePullFailed, fmt.Sprintf(
					"%s cannot get the image %s: %s. Correct spec.image, or spec.imagePullSecrets", p.Name, s.Image, w.Message))
			case "CrashLoopBackOff":
				return blocking(v1alpha1.ReasonImageUnusable, fmt.Sprintf(
					"%s: the container %s from the image %s ends again and again%s. Correct spec.image", p.Name, s.Name, s.Image, lastEnd(s)))
			case "CreateContainerError", "RunContainerError", "CreateContainerConfigError":
				return blocking(v1alpha1.ReasonImageUnusable, fmt.Sprintf("%s cannot be started: %s", p.Name, w.Message))
			}
		}
	}
	return nil
}

// lastEnd tells how a container ended the last time.
func lastEnd(s corev1.ContainerStatus) string {
	t := s.LastTerminationState.Terminated
	if t == nil {
		return ""
	}
	return because(fmt.Sprintf("exit code %d, %s %s", t.ExitCode, t.Reason, t.Message))
}

// image speaks when an agent found that its image cannot run a Galera node.
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

// missingTools speaks before a node needs them: the next one to join would find out otherwise. Of a pod that is
// about to be replaced the next one tells.
func missingTools(in Input) *validate.Problem {
	for _, m := range in.Snapshot.Members {
		if r := in.report(m.Name); r != nil && len(r.Image.Missing) > 0 && (!m.Pod.Outdated || !turn(in, m)) {
			return blocking(v1alpha1.ReasonTransferToolsMissing, fmt.Sprintf(
				"%s: the image lacks %s, which a state transfer needs%s", m.Name, list(r.Image.Missing), toolAdvice))
		}
	}
	return nil
}
