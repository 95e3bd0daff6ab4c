package status

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const actionRequest = "Request"

// requestEvents reports what becomes of requests by annotation: PromoteRequested, RestartDone, PromoteExpired …
func requestEvents(before, after []v1alpha1.RequestStatus) (out []Event) {
	for _, r := range after {
		i := slices.IndexFunc(before, func(o v1alpha1.RequestStatus) bool {
			return o.Kind == r.Kind && o.Token == r.Token &&
				o.Node == r.Node
		})
		what := fmt.Sprintf("%s@%s", r.Node, r.Token)
		if i < 0 {
			out = append(out, Event{corev1.EventTypeNormal, r.Kind + "Requested", actionRequest, what})
		}
		if r.State == v1alpha1.RequestPending || i >= 0 && before[i].State == r.State {
			continue
		}
		kind := corev1.EventTypeNormal
		if r.State == v1alpha1.RequestExpired {
			kind = corev1.EventTypeWarning
		}
		out = append(out, Event{kind, r.Kind + r.State, actionRequest, what + ": " + r.Message})
	}
	return out
}
