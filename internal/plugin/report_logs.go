package plugin

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Bounds of what is read of one container, or one agent.
const (
	logLines  = 20000
	logBytes  = 2 << 20
	readBytes = 32 << 20
	proxyTime = 10 * time.Second
)

// sources are what a report has that is no object.
type sources struct {
	logs func(ctx context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error)
	// agent answers a question to the probe port of a pod's agent.
	agent func(ctx context.Context, namespace, pod, path string) ([]byte, error)
	// version is that of Kubernetes.
	version func() (string, error)
}

func sourcesOf(set kubernetes.Interface) sources {
	return sources{
		logs: func(ctx context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
			return set.CoreV1().Pods(namespace).GetLogs(pod, o).Stream(ctx)
		},
		agent: func(ctx context.Context, namespace, pod, path string) ([]byte, error) {
			return set.CoreV1().Pods(namespace).ProxyGet("http", pod, strconv.Itoa(agentapi.ProbePort), path, nil).DoRaw(ctx)
		},
		version: func() (string, error) {
			v, err := set.Discovery().ServerVersion()
			if err != nil {
				return "", err
			}
			return v.GitVersion, nil
		},
	}
}

// nodes has the logs of the cluster's pods, and what their agents report without a secret.
func (r *reporter) nodes(ctx context.Context) {
	var pods corev1.PodList
	if err := r.env.kube.List(ctx, &pods, client.InNamespace(r.env.namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: r.cluster.Name}); err != nil {
		r.bundle.Miss("logs of nodes", err)
		return
	}
	for _, p := range pods.Items {
		r.podLogs(ctx, p, "logs/"+p.Name, func(text string) string { return text })
		if p.Labels[v1alpha1.LabelRole] != "" {
			r.agent(ctx, p.Name)
		}
	}
}

func (r *reporter) podLogs(ctx context.Context, p corev1.Pod, dir string, keep func(string) string) {
	restarted := map[string]bool{}
	for _, s := range append(p.Status.ContainerStatuses, p.Status.InitContainerStatuses...) {
		restarted[s.Name] = s.RestartCount > 0
	}
	for _, c := range append(p.Spec.InitContainers, p.Spec.Containers...) {
		r.containerLog(ctx, p, c.Name, dir+"/"+c.Name+".log", false, keep)
		if restarted[c.Name] {
			r.containerLog(ctx, p, c.Name, dir+"/"+c.Name+".previous.log", true, keep)
		}
	}
}

func (r *reporter) containerLog(ctx context.Context, p corev1.Pod, container, path string, previous bool,
	keep func(string) string) {
	o := &corev1.PodLogOptions{Container: container, Timestamps: true, Previous: previous,
		SinceSeconds: new(int64(max(1, r.since/time.Second))), TailLines: new(int64(logLines))}
	stream, err := r.from.logs(ctx, p.Namespace, p.Name, o)
	if err != nil {
		r.bundle.Miss("the log of "+p.Name+"/"+container, err)
		return
	}
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, readBytes))
	if err != nil {
		r.bundle.Miss("a part of the log of "+p.Name+"/"+container, err)
	}
	r.bundle.Add(path, last(keep(string(text)), logBytes))
}

// last is the end of a text, from the beginning of a line on.
func last(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := text[len(text)-most:]
	if at := strings.IndexByte(cut, '\n'); at >= 0 {
		cut = cut[at+1:]
	}
	return fmt.Sprintf("[the first %d bytes are left out]\n", len(text)-len(cut)) + cut
}

// agent has the metrics of a node's agent, through the API server.
func (r *reporter) agent(ctx context.Context, pod string) {
	ctx, cancel := context.WithTimeout(ctx, proxyTime)
	defer cancel()
	text, err := r.from.agent(ctx, r.env.namespace, pod, strings.TrimPrefix(agentapi.PathMetrics, "/"))
	if err != nil {
		r.bundle.Miss("the metrics of the agent of "+pod, err)
		return
	}
	r.bundle.Add("agents/"+pod+"/metrics.txt", last(string(text), logBytes))
}

// operator has the operator's Deployment and logs: lines about other namespaces are left out.
func (r *reporter) operator(ctx context.Context) {
	var pods corev1.PodList
	if err := r.env.kube.List(ctx, &pods, client.MatchingLabels{"app.kubernetes.io/name": "galera-operator",
		"app.kubernetes.io/component": "manager"}); err != nil {
		r.bundle.Miss("the operator", err)
		return
	}
	if len(pods.Items) == 0 {
		r.bundle.Miss("the operator", fmt.Errorf("no pod has the labels app.kubernetes.io/name=galera-operator and "+
			"app.kubernetes.io/component=manager"))
	}
	for _, p := range pods.Items {
		r.podLogs(ctx, p, "operator/"+p.Name, func(text string) string { return about(text, r.env.namespace) })
		for _, u := range r.list(ctx, corev1.SchemeGroupVersion.WithKind("Pod"), client.InNamespace(p.Namespace),
			client.MatchingFields{"metadata.name": p.Name}) {
			r.add("operator/"+p.Name+"/pod.yaml", &u)
		}
	}
}

var inNamespace = regexp.MustCompile(`"namespace":\s*"([^"]*)"`)

// about keeps the lines of an operator's log that are about a namespace, or about none.
func about(text, namespace string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		other := false
		for _, m := range inNamespace.FindAllStringSubmatch(line, -1) {
			if other = m[1] != namespace; !other {
				break
			}
		}
		if !other {
			b.WriteString(line)
		}
	}
	return b.String()
}
