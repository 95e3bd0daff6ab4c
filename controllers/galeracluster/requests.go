package galeracluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// How long a request may wait. A primary that moves an hour later surprises; a rolling restart of large nodes takes
// hours.
const (
	promoteTimeout = 10 * time.Minute
	restartTimeout = 24 * time.Hour
)

// maxToken bounds a token, in bytes.
const maxToken = 100

// requests returns the record of requests brought up to date, and what is wrong with an annotation. It is pure. What is
// recorded is acted upon in the next pass: each token takes effect once, whenever the operator is killed.
func requests(f observe.Facts, seen map[string]observe.Seen, s galera.Snapshot, now time.Time) (
	record []v1alpha1.RequestStatus, refused *validate.Problem) {
	record = slices.Clone(f.Cluster.Status.Requests)
	for i := range record {
		record[i].Pending = slices.Clone(record[i].Pending)
	}
	annotations := f.Cluster.Annotations
	for _, kind := range []struct {
		name, annotation, value string
		time                    time.Duration
	}{
		{v1alpha1.RequestPromote, v1alpha1.AnnotationPrimary, annotations[v1alpha1.AnnotationPrimary], promoteTimeout},
		{v1alpha1.RequestRestart, v1alpha1.AnnotationRestart, annotations[v1alpha1.AnnotationRestart], restartTimeout},
		{v1alpha1.RequestRollout, rolloutAnnotation, rollout(f), restartTimeout},
	} {
		value := strings.TrimSpace(kind.value)
		node, token, _ := strings.Cut(value, "@")
		why := ""
		if value != "" {
			why = wrongTarget(kind.name, node, token)
		}
		if why != "" {
			refused = &validate.Problem{Reason: v1alpha1.ReasonRequestRefused, Blocked: true,
				Message: fmt.Sprintf("the annotation %s is %q: %s; correct or remove it", kind.annotation, value, why)}
			token = ""
		}
		record = follow(record, v1alpha1.RequestStatus{Kind: kind.name, Node: node, Token: token,
			State:       v1alpha1.RequestPending,
			RequestedAt: metav1.NewTime(now), ExpiresAt: metav1.NewTime(now.Add(kind.time))}, f, now)
	}
	for i := range record {
		if r := &record[i]; r.State == v1alpha1.RequestPending {
			advance(r, f, seen, s, now)
		}
	}
	return record, refused
}

// rolloutAnnotation is what kubectl rollout restart sets in a template of pods.
const rolloutAnnotation = "kubectl.kubernetes.io/restartedAt"

// rollout is the request that kubectl rollout restart of the StatefulSet stands for, "" for none. The annotation stays
// in the template: its time is the token.
func rollout(f observe.Facts) string {
	if f.StatefulSet == nil {
		return ""
	}
	at := strings.TrimSpace(f.StatefulSet.Spec.Template.Annotations[rolloutAnnotation])
	if at == "" {
		return ""
	}
	return v1alpha1.AllNodes + "@" + at[:min(len(at), maxToken)]
}

func wrongTarget(kind, node, token string) string {
	form := map[string]string{v1alpha1.RequestPromote: "NODE@TOKEN",
		v1alpha1.RequestRestart: "all@TOKEN or NODE@TOKEN"}[kind]
	switch {
	case len(content.IsDNS1123Label(node)) > 0, kind == v1alpha1.RequestPromote && node == v1alpha1.AllNodes:
		return "write " + form
	case token == "" || len(token) > maxToken:
		return "a token of 1 to 100 characters must follow the @; each token takes effect once"
	}
	return ""
}

// follow makes the record follow the annotation: a new token is a new request, and ends one before; without a token a
// pending one is cancelled.
func follow(record []v1alpha1.RequestStatus, asked v1alpha1.RequestStatus, f observe.Facts,
	now time.Time) []v1alpha1.RequestStatus {
	i := slices.IndexFunc(record, func(r v1alpha1.RequestStatus) bool { return r.Kind == asked.Kind })
	switch {
	case i >= 0 && record[i].Token == asked.Token && record[i].Node == asked.Node:
		return record
	case asked.Token == "":
		if i >= 0 && record[i].State == v1alpha1.RequestPending {
			end(&record[i], v1alpha1.RequestCancelled, "the annotation was removed", now)
		}
		return record
	}
	if f.Cluster.Status.ClusterUUID == "" {
		// Its nodes start anyway; and a status that was lost does not know which tokens took effect.
		end(&asked, v1alpha1.RequestCancelled, "the cluster had not been started", now)
	}
	if asked.Kind != v1alpha1.RequestPromote && asked.State == v1alpha1.RequestPending {
		asked.Pending = toRestart(f, asked.Node)
	}
	if i < 0 {
		return append(record, asked)
	}
	record[i] = asked
	return record
}

func toRestart(f observe.Facts, node string) (out []v1alpha1.PendingRestart) {
	if node != v1alpha1.AllNodes {
		return []v1alpha1.PendingRestart{{Name: node}}
	}
	for i := range observe.Size(f) {
		out = append(out, v1alpha1.PendingRestart{Name: resources.PodName(f.Cluster, i)})
	}
	return out
}

func end(r *v1alpha1.RequestStatus, state, message string, now time.Time) {
	at := metav1.NewTime(now)
	r.State, r.Message, r.EndedAt, r.Pending = state, message, &at, nil
}

// advance compares a pending request with what is observed.
func advance(r *v1alpha1.RequestStatus, f observe.Facts, seen map[string]observe.Seen, s galera.Snapshot,
	now time.Time) {
	var waits string
	if r.Kind != v1alpha1.RequestPromote {
		waits = restartWaits(r, f, seen, s)
	} else {
		s.Promote = r.Node
		waits = plan.PromotionWaits(s)
		if m, ok := s.Member(r.Node); waits == "" && (!ok || m.Pod.Role != v1alpha1.RolePrimary || f.PrimaryService == nil) {
			waits = "the primary is being moved to " + r.Node
		}
	}
	switch {
	case waits == "":
		met := "restarted"
		if r.Kind == v1alpha1.RequestPromote {
			met = r.Node + " is the primary"
		}
		end(r, v1alpha1.RequestDone, met, now)
	case !now.Before(r.ExpiresAt.Time):
		end(r, v1alpha1.RequestExpired, "it could not be met in "+r.ExpiresAt.Sub(r.RequestedAt.Time).String()+": "+waits,
			now)
	default:
		r.Message = waits
	}
}

// restartWaits forgets the nodes that were restarted, and returns what the others wait for, "" when there are none.
func restartWaits(r *v1alpha1.RequestStatus, f observe.Facts, seen map[string]observe.Seen, s galera.Snapshot) string {
	r.Pending = slices.DeleteFunc(r.Pending, func(p v1alpha1.PendingRestart) bool {
		_, member := s.Member(p.Name)
		run := observe.RunOf(serverOf(seen, p.Name))
		return !member && (r.Node == v1alpha1.AllNodes || p.StartedAt != nil) || p.StartedAt != nil && run != nil &&
			!run.Equal(p.StartedAt)
	})
	if _, member := s.Member(r.Node); r.Node != v1alpha1.AllNodes && !member && len(r.Pending) > 0 {
		return r.Node + " is not a node of this cluster"
	}
	var names []string
	for i := range r.Pending {
		p := &r.Pending[i]
		if p.StartedAt == nil {
			p.StartedAt = observe.RunOf(serverOf(seen, p.Name))
		}
		names = append(names, p.Name)
	}
	switch {
	case len(names) == 0:
		return ""
	case f.Cluster.Spec.Hibernate:
		return "the cluster is to hibernate"
	}
	return "to be restarted: " + strings.Join(names, ", ")
}

// serverOf is the state that the node's mariadbd reports now, nil while it does not answer.
func serverOf(seen map[string]observe.Seen, name string) *agentapi.Server {
	if s := seen[name]; s.Live {
		return s.Report.Server
	}
	return nil
}
