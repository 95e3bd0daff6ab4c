package harness

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const (
	// factWidth is the length of a line of facts, and mostFacts how many there are of each kind.
	factWidth = 200
	mostFacts = 5
)

// decisive matches what a node's log has on how it came into the cluster, and why it left.
var decisive = regexp.MustCompile(`msg=(joining|examined|bootstrapping) |msg="mariadbd (is down|has ended)"|` +
	`Recovered position|State transfer required|Selected .* as donor|Proceeding with SST|IST receiver addr|` +
	`GCache history reset|no longer in the group|Quorum results|bootstrap option: 1`)

// Facts summarises a namespace in a few lines: a failed spec's message says them, where the whole Dump is not read.
func (k *Kube) Facts(ctx context.Context, namespace string, since time.Time) []string {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out := k.clusterFacts(ctx, namespace)
	var pods corev1.PodList
	if err := k.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		out = append(out, "no pods: "+err.Error())
	}
	for i := range pods.Items {
		out = append(out, k.podFacts(ctx, &pods.Items[i], since)...)
	}
	out = append(out, k.warnings(ctx, namespace)...)
	for i, line := range out {
		out[i] = brief(line)
	}
	return out
}

func (k *Kube) clusterFacts(ctx context.Context, namespace string) (out []string) {
	var list v1alpha1.GaleraClusterList
	if err := k.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return []string{"no clusters: " + err.Error()}
	}
	for i := range list.Items {
		c := &list.Items[i]
		out = append(out, fmt.Sprintf("%s/%s (generation %d, observed %d, primary %s): %s", namespace, c.Name, c.Generation,
			c.Status.ObservedGeneration, c.Status.Primary, Summary(c)), "  "+conditions(c.Status.Conditions))
		for _, m := range c.Status.Members {
			out = append(out, "  "+memberFact(m))
		}
	}
	return out
}

// conditions has all of them in a line.
func conditions(all []metav1.Condition) string {
	words := make([]string, 0, len(all))
	for _, c := range all {
		words = append(words, fmt.Sprintf("%s=%s/%s@%s", c.Type, c.Status, c.Reason,
			c.LastTransitionTime.Format(time.TimeOnly)))
	}
	return strings.Join(words, " ")
}

func memberFact(m v1alpha1.MemberStatus) string {
	out := fmt.Sprintf("%s: %s %s/%s at %s", m.Name, m.Phase, m.ComponentState, m.NodeState, m.Position)
	if j := m.Join; j != nil {
		out += fmt.Sprintf("; join %s %s from %q, %s to %s, %d write-sets %s", j.Kind, j.Phase, j.Donor, clock(j.StartedAt),
			clock(j.EndedAt), j.WriteSets, j.Message)
	}
	return out + " " + m.Message
}

func clock(t *metav1.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format(time.TimeOnly)
}

// podFacts is a pod, with the decisive lines of a database pod's log.
func (k *Kube) podFacts(ctx context.Context, p *corev1.Pod, since time.Time) []string {
	out := []string{fmt.Sprintf("%s on %s: %s, ready %t, restarts %d, since %s, terminating %t", p.Name, p.Spec.NodeName,
		p.Status.Phase, PodReady(p), restarts(p), p.CreationTimestamp.Format(time.TimeOnly), p.DeletionTimestamp != nil)}
	if p.Labels["app.kubernetes.io/component"] != "database" {
		return out
	}
	from := metav1.NewTime(since)
	text, err := k.readLog(ctx, p.Namespace, p.Name, &corev1.PodLogOptions{Container: DatabaseContainer, SinceTime: &from})
	if err != nil {
		return append(out, "  "+err.Error())
	}
	return append(out, decisiveLines(text)...)
}

// decisiveLines returns the last lines of a log that decide how a node joins.
func decisiveLines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if decisive.MatchString(line) {
			out = append(out, "  | "+strings.TrimSpace(line))
		}
	}
	return out[max(0, len(out)-mostFacts):]
}

// warnings are the last events that are no normal ones.
func (k *Kube) warnings(ctx context.Context, namespace string) (out []string) {
	var list corev1.EventList
	if err := k.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return []string{"no events: " + err.Error()}
	}
	list.Items = slices.DeleteFunc(list.Items, func(e corev1.Event) bool { return e.Type != corev1.EventTypeWarning })
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return eventTime(&a).Compare(eventTime(&b)) })
	for i := range list.Items[max(0, len(list.Items)-mostFacts):] {
		e := &list.Items[max(0, len(list.Items)-mostFacts)+i]
		out = append(out, fmt.Sprintf("%s %s/%s %s: %s", eventTime(e).Format(time.TimeOnly), e.InvolvedObject.Kind,
			e.InvolvedObject.Name, e.Reason, e.Message))
	}
	return out
}

// brief is a text as one line that is not too long.
func brief(text string) string {
	text = strings.TrimRight(strings.ReplaceAll(text, "\n", " "), " ")
	if len(text) > factWidth {
		text = text[:factWidth] + "..."
	}
	return text
}
