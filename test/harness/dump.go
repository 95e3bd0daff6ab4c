package harness

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Lines of each log in a dump.
const (
	dumpDatabaseLines = 400
	dumpOperatorLines = 120
)

// Dump writes what helps to understand a failure in a namespace: clusters with their status,
// pods, claims, events, and the ends of the logs.
func (k *Kube) Dump(ctx context.Context, namespace string, w io.Writer) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	d := dump{Kube: k, namespace: namespace, w: w}
	d.say("======== namespace %s at %s", namespace, time.Now().Format(time.TimeOnly))
	d.clusters(ctx)
	d.pods(ctx)
	d.claims(ctx)
	d.events(ctx)
	d.operator(ctx)
}

// dump is one that is being written.
type dump struct {
	*Kube
	namespace string
	w         io.Writer
}

func (d dump) say(format string, args ...any) { _, _ = fmt.Fprintf(d.w, format+"\n", args...) }

func (d dump) clusters(ctx context.Context) {
	var list v1alpha1.GaleraClusterList
	if err := d.List(ctx, &list, client.InNamespace(d.namespace)); err != nil {
		d.say("no clusters: %v", err)
	}
	for i := range list.Items {
		c := &list.Items[i]
		c.ManagedFields = nil
		text, err := yaml.Marshal(map[string]any{"annotations": c.Annotations, "spec": c.Spec, "status": c.Status})
		d.say("---- GaleraCluster %s (generation %d) %v\n%s", c.Name, c.Generation, err, text)
	}
}

func (d dump) pods(ctx context.Context) {
	var list corev1.PodList
	if err := d.List(ctx, &list, client.InNamespace(d.namespace)); err != nil {
		d.say("no pods: %v", err)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		d.say("---- Pod %s on %s: %s, ready %t, role %q, restarts %d, address %s, terminating %t", pod.Name,
			pod.Spec.NodeName, pod.Status.Phase,
			PodReady(pod), pod.Labels[v1alpha1.LabelRole], restarts(pod), pod.Status.PodIP, pod.DeletionTimestamp != nil)
		for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if s.State.Waiting != nil {
				d.say("container %s waits: %s %s", s.Name, s.State.Waiting.Reason, s.State.Waiting.Message)
			}
		}
		for _, c := range pod.Spec.Containers {
			if restarts(pod) > 0 {
				d.log(ctx, pod, c.Name, dumpDatabaseLines, true)
			}
			d.log(ctx, pod, c.Name, dumpDatabaseLines, false)
		}
	}
}

func (d dump) log(ctx context.Context, pod *corev1.Pod, container string, lines int64, previous bool) {
	text, err := d.podLogs(ctx, pod.Namespace, pod.Name, container, lines, previous)
	if err != nil {
		text = err.Error()
	}
	title := "log"
	if previous {
		title = "log before the restart"
	}
	d.say("-- %s of %s/%s\n%s", title, pod.Name, container, strings.TrimRight(text, "\n"))
}

func (d dump) claims(ctx context.Context) {
	var list corev1.PersistentVolumeClaimList
	if err := d.List(ctx, &list, client.InNamespace(d.namespace)); err != nil {
		d.say("no claims: %v", err)
	}
	for _, c := range list.Items {
		d.say("---- Claim %s: %s, volume %s", c.Name, c.Status.Phase, c.Spec.VolumeName)
	}
}

func (d dump) events(ctx context.Context) {
	var list corev1.EventList
	if err := d.List(ctx, &list, client.InNamespace(d.namespace)); err != nil {
		d.say("no events: %v", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return eventTime(&a).Compare(eventTime(&b)) })
	d.say("---- Events")
	for i := range list.Items {
		e := &list.Items[i]
		d.say("%s %s %s/%s %s: %s", eventTime(e).Format(time.TimeOnly), e.Type, e.InvolvedObject.Kind, e.InvolvedObject.Name,
			e.Reason, e.Message)
	}
}

func eventTime(e *corev1.Event) time.Time {
	if !e.EventTime.IsZero() {
		return e.EventTime.Time
	}
	return e.LastTimestamp.Time
}

func (d dump) operator(ctx context.Context) {
	pods, err := d.Operator().pods(ctx)
	if err != nil {
		d.say("no operator: %v", err)
	}
	for i := range pods {
		pod := &pods[i]
		d.say("---- Operator %s on %s: %s, ready %t, restarts %d", pod.Name, pod.Spec.NodeName, pod.Status.Phase,
			PodReady(pod), restarts(pod))
		d.log(ctx, pod, pod.Spec.Containers[0].Name, dumpOperatorLines, false)
	}
}

func restarts(p *corev1.Pod) int32 {
	var n int32
	for _, s := range p.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}
