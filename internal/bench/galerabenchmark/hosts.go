package galerabenchmark

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// tookPart returns the pods that took part in a Job's run: the cluster's nodes, the Job's own and its tunnel's server.
func tookPart(jobName string, pods []corev1.Pod) (out []result.Pod) {
	for _, p := range pods {
		images := map[string]string{}
		for _, st := range append(slices.Clone(p.Status.InitContainerStatuses), p.Status.ContainerStatuses...) {
			if st.ImageID != "" { // it has started
				images[st.Name] = digest(p, st)
			}
		}
		ours := p.Labels[batchv1.JobNameLabel] == jobName || p.Labels[v1alpha1.LabelTunnel] == objects.TunnelName(jobName)
		if ours || images[cluster.Container] != "" {
			out = append(out, result.Pod{Name: p.Name, Host: p.Spec.NodeName, Images: images})
		}
	}
	slices.SortFunc(out, func(a, b result.Pod) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// digest is the image that runs, as exactly as it is known.
func digest(p corev1.Pod, st corev1.ContainerStatus) string {
	for _, c := range append(slices.Clone(p.Spec.InitContainers), p.Spec.Containers...) {
		if c.Name == st.Name {
			return c.Image + " (" + st.ImageID + ")"
		}
	}
	return st.ImageID
}

// role is what a pod is called in the environment, "" when it has no part in it; machine is what is known of its host.
func role(p result.Pod, reported result.Environment) (name string, machine result.Machine) {
	switch {
	case p.Images[cluster.Container] != "":
		return p.Name, reported.Members[p.Name]
	case p.Images[objects.ClientContainer] != "":
		return "client", reported.Machine
	case p.Images[objects.TunnelContainer] != "":
		return "ssh", result.Machine{}
	case p.Images[objects.VPNContainer] != "":
		return "vpn", result.Machine{}
	}
	return "", result.Machine{}
}

// host is one that was measured on.
type host struct {
	name    string
	machine result.Machine
	pods    []string
}

// placed records which pods ran where, and what these hosts are.
func placed(e *v1alpha1.BenchmarkEnvironment, measured []result.Record) {
	var hosts []host
	for _, r := range measured {
		for _, p := range r.Pods {
			if name, m := role(p, r.Output.Environment); name != "" && p.Host != "" {
				hosts = withPod(hosts, p.Host, name, m)
			}
		}
	}
	if len(hosts) == 0 {
		return // an operator that noted no pods has judged these runs
	}
	e.Hosts = nil
	for _, h := range hosts[:min(len(hosts), maxHosts)] {
		e.Hosts = append(e.Hosts, v1alpha1.BenchmarkHost{Name: h.name, Pods: h.pods, Kernel: clipped(h.machine.Kernel, 96),
			CPU:  clipped(h.machine.CPU, 96),
			CPUs: int32(h.machine.CPUs), CPUFlags: flags(h.machine.CPUFlags)}) //nolint:gosec // no host has more
	}
}

// maxHosts and maxImages are what the API admits.
const (
	maxHosts  = 10
	maxImages = 4
)

// withPod adds a pod to its host. A machine nothing is known of is any that has this name.
func withPod(hosts []host, name, pod string, m result.Machine) []host {
	var unknown result.Machine
	for i := range hosts {
		h := &hosts[i]
		if h.name != name || h.machine != m && h.machine != unknown && m != unknown {
			continue
		}
		h.machine = cmp.Or(h.machine, m)
		h.pods = once(h.pods, pod) // at most seven nodes, the client and its SSH server
		return hosts
	}
	return append(hosts, host{name, m, []string{pod}})
}

// pulled records which images ran.
func pulled(e *v1alpha1.BenchmarkEnvironment, measured []result.Record) {
	found := map[string][]string{}
	for _, r := range measured {
		for _, p := range r.Pods {
			for _, container := range slices.Sorted(maps.Keys(p.Images)) {
				found[container] = once(found[container], p.Images[container])
			}
		}
	}
	note := func(into *[]string, containers ...string) {
		var images []string
		for _, c := range containers {
			for _, image := range found[c] {
				images = once(images, clipped(image, 512))
			}
		}
		if len(images) > 0 {
			*into = truncate(images, maxImages)
		}
	}
	note(&e.DatabaseImages, cluster.Container)
	note(&e.ClientImages, objects.ClientContainer, objects.TunnelContainer)
	note(&e.OperatorImages, objects.RunnerContainer, cluster.AgentContainer, objects.VPNContainer)
	note(&e.ProxyImages, objects.ProxyContainer)
}

// once adds what is not there yet, and is something.
func once(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// truncate is as much of a list as the API admits.
func truncate(list []string, limit int) []string { return list[:min(len(list), limit)] }

// flags of a processor, as the API admits them.
func flags(text string) (out []string) {
	for f := range strings.FieldsSeq(text) {
		out = once(out, clipped(f, 32))
	}
	return truncate(out, 16)
}
