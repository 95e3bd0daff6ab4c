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
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	p("======== namespace %s at %s", namespace, time.Now().Format(time.TimeOnly))
	k.dumpClusters(ctx, namespace, p)
	k.dumpPods(ctx, namespace, p)
	k.dumpClaims(ctx, namespace, p)
	k.dumpEvents(ctx, namespace, p)
	k.dumpOperator(ctx, p)
}

func (k *Kube) dumpClusters(ctx context.Context, namespace string, p func(string, ...any)) {
	var list v1alpha1.GaleraClusterList
	if err := k.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		p("no clusters: %v", err)
	}
	for i := range list.Items {
		c := &list.Items[i]
		c.ManagedFields = nil
		text, err := yaml.Marshal(map[string]any{"annotations": c.Annotations, "spec": c.Spec, "status": c.Status})
		p("---- GaleraCluster %s (generation %d) %v\n%s", c.Name, c.Generation, err, text)
	}
}

func (k *Kube) dumpPods(ctx context.Context, namespace string, p func(string, ...any)) {
	var list corev1.PodList
	if err := k.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		p("no pods: %v", err)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		p("---- Pod %s on %s: %s, ready %t, role %q, restarts %d, address %s, terminating %t", pod.Name, pod.Spec.NodeName, pod.Status.Phase,
			PodReady(pod), pod.Labels[v1alpha1.LabelRole], restarts(pod), pod.Status.PodIP, pod.DeletionTimestamp != nil)
		for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if s.State.Waiting != nil {
				p("container %s waits: %s %s", s.Name, s.State.Waiting.Reason, s.State.Waiting.Message)
			}
		}
		for _, c := range pod.Spec.Containers {
			if restarts(pod) > 0 {
				k.dumpLog(ctx, pod, c.Name, dumpDatabaseLines, true, p)
			}
			k.dumpLog(ctx, pod, c.Name, dumpDatabaseLines, false, p)
		}
	}
}

func (k *Kube) dumpLog(ctx context.Context, pod *corev1.Pod, container string, lines int64, previous bool, p func(string, ...any)) {
	text, err := k.podLogs(ctx, pod.Namespace, pod.Name, container, lines, previous)
	if err != nil {
		text = err.Error()
	}
	title := "log"
	if previous {
		title = "log before the restart"
	}
	p("-- %s of %s/%s\n%s", title, pod.Name, container, strings.TrimRight(text, "\n"))
}

func (k *Kube) dumpClaims(ctx context.Context, namespace string, p func(string, ...any)) {
	var list corev1.PersistentVolumeClaimList
	if err := k.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		p("no claims: %v", err)
	}
	for _, c := range list.Items {
		p("---- Claim %s: %s, volume %s", c.Name, c.Status.Phase, c.Spec.VolumeName)
	}
}

func (k *Kube) dumpEvents(ctx context.Context, namespace string, p func(string, ...any)) {
	var list corev1.EventList
	if err := k.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		p("no events: %v", err)
	}
	at := func(e *corev1.Event) time.Time {
		if !e.EventTime.IsZero() {
			return e.EventTime.Time
		}
		return e.LastTimestamp.Time
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return at(&a).Compare(at(&b)) })
	p("---- Events")
	for i := range list.Items {
		e := &list.Items[i]
		p("%s %s %s/%s %s: %s", at(e).Format(time.TimeOnly), e.Type, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
	}
}

func (k *Kube) dumpOperator(ctx context.Context, p func(string, ...any)) {
	pods, err := k.operatorPods(ctx)
	if err != nil {
		p("no operator: %v", err)
	}
	for i := range pods {
		pod := &pods[i]
		p("---- Operator %s on %s: %s, ready %t, restarts %d", pod.Name, pod.Spec.NodeName, pod.Status.Phase, PodReady(pod), restarts(pod))
		k.dumpLog(ctx, pod, pod.Spec.Containers[0].Name, dumpOperatorLines, false, p)
	}
}

func restarts(p *corev1.Pod) int32 {
	var n int32
	for _, s := range p.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}
