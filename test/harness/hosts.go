package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const labelControlPlane = "node-role.kubernetes.io/control-plane"

// Hosts are the nodes of Kubernetes, which are containers of this machine. What clusters call their nodes are pods.
type Hosts struct{ kube *Kube }

// Hosts returns the handle of the nodes of Kubernetes.
func (k *Kube) Hosts() Hosts { return Hosts{k} }

// Workers returns the names of the nodes that take workloads; each is a container of that name.
func (k Hosts) Workers(ctx context.Context) ([]string, error) {
	var list corev1.NodeList
	if err := k.kube.List(ctx, &list); err != nil {
		return nil, err
	}
	var out, all []string
	for _, n := range list.Items {
		all = append(all, n.Name)
		if _, control := n.Labels[labelControlPlane]; !control {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		return all, nil // a cluster of one node, which does everything
	}
	return out, nil
}

// Kill ends a node as a power cut does.
func (k Hosts) Kill(ctx context.Context, node string) error {
	_, err := Docker(ctx, "kill", node)
	return err
}

// Pause stops all that runs on a node, for as long as it is to be paused: it does not answer, and nothing of it ends.
func (k Hosts) Pause(ctx context.Context, node string, paused bool) error {
	action := "unpause"
	if paused {
		action = "pause"
	}
	_, err := Docker(ctx, action, node)
	return err
}

// Limit gives a node so many processors, and returns how many it had. A pod with a higher limit does not start there.
func (k Hosts) Limit(ctx context.Context, node string, processors float64) (before float64, err error) {
	out, err := Docker(ctx, "inspect", "--format", "{{.HostConfig.NanoCpus}}", node)
	if err != nil {
		return 0, err
	}
	nanos, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
	if err != nil {
		return 0, err
	}
	_, err = Docker(ctx, "update", "--cpus", strconv.FormatFloat(processors, 'f', 2, 64), node)
	return nanos / 1e9, err
}

// Start starts stopped nodes one after another, and connects their pods again: routes are
// lost with a container, and addresses depend on the order.
func (k Hosts) Start(ctx context.Context, nodes ...string) error {
	for _, n := range nodes {
		if _, err := Docker(ctx, "start", n); err != nil {
			return err
		}
	}
	root, err := repository()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	_, err = run(ctx, "", filepath.Join(root, "hack", "cluster.sh"), "up")
	return err
}

// Cordon reports whether a node takes new pods.
func (k Hosts) Cordon(ctx context.Context, node string, cordoned bool) error {
	n := &corev1.Node{}
	if err := k.kube.Get(ctx, client.ObjectKey{Name: node}, n); err != nil {
		return err
	}
	want := n.DeepCopy()
	want.Spec.Unschedulable = cordoned
	return k.kube.Patch(ctx, want, client.MergeFrom(n))
}

// onNode runs a shell script on a node.
func onNode(ctx context.Context, node, script string, args ...string) (string, error) {
	return Docker(ctx, append([]string{"exec", node, "sh", "-euc", script, "sh"}, args...)...)
}

// onNodeNft gives a node commands for nftables.
func onNodeNft(ctx context.Context, node, commands string) error {
	_, err := DockerWithInput(ctx, commands, "exec", "-i", node, "nft", "-f", "-")
	return err
}

// repository finds the root of this repository from where the tests run.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; d != "/"; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "hack", "cluster.sh")); err == nil {
			return d, nil
		}
	}
	return "", errors.New("hack/cluster.sh is in no folder above " + dir + ": run this inside the repository")
}
