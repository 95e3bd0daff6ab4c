package e2e

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// victim is what may be killed at a step of a flow.
type victim struct {
	name string
	kill func(ctx context.Context) error
}

// kills chooses one victim for each step of a flow, by a seed (GALERA_SEED). As many seeds in a row as a step has
// victims choose each of them once.
type kills struct{ seed, step uint64 }

func drawKills() *kills {
	seed, err := strconv.ParseUint(os.Getenv("GALERA_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano() % 1_000_000) //nolint:gosec // not negative
	}
	return &kills{seed: seed}
}

// at kills one of the victims once a step has come. A victim that does not run yet is waited for.
func (k *kills) at(ctx SpecContext, step string, comes func(ctx context.Context) (bool, error), of ...victim) {
	GinkgoHelper()
	Eventually(comes).WithContext(ctx).WithTimeout(4*time.Minute).WithPolling(50*time.Millisecond).Should(BeTrue(), step)
	v := of[(k.seed+k.step)%uint64(len(of))]
	k.step++
	progress("GALERA_SEED=%d: %s: killing %s", k.seed, step, v.name)
	AddReportEntry(step, fmt.Sprintf("GALERA_SEED=%d: %s", k.seed, v.name))
	Eventually(v.kill).WithContext(ctx).WithTimeout(2 * time.Minute).WithPolling(50 * time.Millisecond).Should(Succeed())
}

func theOperator() victim {
	return victim{"the operator", func(ctx context.Context) error { return kube.Operator().Replace(ctx) }}
}

// channelNode is the node with the channel of a cluster, or its primary if it follows nothing.
func channelNode(ctx context.Context, c *harness.Cluster) (string, error) {
	have, err := c.Get(ctx)
	if err != nil {
		return "", err
	}
	if r := have.Status.Replication; r != nil && r.Node != "" {
		return r.Node, nil
	}
	return c.Primary(ctx)
}

// theAgent is that of the node with the channel: the node ends with it.
func theAgent(c *harness.Cluster) victim {
	return victim{"the agent of " + c.Name, func(ctx context.Context) error {
		node, err := channelNode(ctx, c)
		if err != nil {
			return err
		}
		return c.Agents().Signal(ctx, node, syscall.SIGKILL)
	}}
}

// theNode is the one with the channel.
func theNode(c *harness.Cluster) victim {
	return victim{"the node of " + c.Name, func(ctx context.Context) error {
		node, err := channelNode(ctx, c)
		if err != nil {
			return err
		}
		p, err := c.Pod(ctx, node)
		if err != nil {
			return err
		}
		return kube.Delete(ctx, p, kubeclient.GracePeriodSeconds(0))
	}}
}

// runningPods are the pods of a component of a cluster that run.
func runningPods(ctx context.Context, c *harness.Cluster, labels kubeclient.ListOption) (out []corev1.Pod, err error) {
	var all corev1.PodList
	err = kube.List(ctx, &all, kubeclient.InNamespace(c.Namespace), labels)
	for _, p := range all.Items {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			out = append(out, p)
		}
	}
	return out, err
}

func thePods(name string, c *harness.Cluster, labels kubeclient.ListOption) victim {
	return victim{name + " of " + c.Name, func(ctx context.Context) error {
		pods, err := runningPods(ctx, c, labels)
		if err == nil && len(pods) == 0 {
			err = fmt.Errorf("%s of %s does not run", name, c.Name)
		}
		for i := range pods {
			if err == nil {
				err = kube.Delete(ctx, &pods[i], kubeclient.GracePeriodSeconds(0))
			}
		}
		return err
	}}
}

// theArchiver stores the binary log of a cluster.
func theArchiver(c *harness.Cluster) victim {
	return thePods("the archiver", c, kubeclient.MatchingLabels{v1alpha1.LabelCluster: c.Name,
		"app.kubernetes.io/component": "archiver"})
}

// theReader serves to a cluster the archive that it follows.
func theReader(c *harness.Cluster) victim {
	return thePods("the archive's source", c, kubeclient.MatchingLabels{v1alpha1.LabelCluster: c.Name,
		"app.kubernetes.io/component": "source"})
}

// copier are the labels of the pod that fills the first volume of a cluster.
var copier = kubeclient.HasLabels{v1alpha1.LabelMember, batchv1.JobNameLabel}

func theCopier(c *harness.Cluster) victim { return thePods("the Job's pod", c, copier) }

// copies reports whether a cluster's first volume is being filled.
func copies(c *harness.Cluster) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		pods, err := runningPods(ctx, c, copier)
		return len(pods) > 0, err
	}
}

// shows returns a condition of a cluster's status.
func shows(c *harness.Cluster, what func(c *v1alpha1.GaleraCluster) bool) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		have, err := c.Get(ctx)
		return err == nil && what(have), err
	}
}

// atOnce is a step that has come.
func atOnce(context.Context) (bool, error) { return true, nil }

// again runs a command as a person does, once more when it fails, until it succeeds.
func again(ctx SpecContext, namespace string, args ...string) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(ended)
		Eventually(func() error {
			out, notes, err := tryKubectlGalera(ctx, namespace, args...)
			progress("kubectl galera %s: %s%s%v", args[0], notes, out, err)
			return err
		}).WithContext(ctx).WithTimeout(5 * time.Minute).WithPolling(time.Second).Should(Succeed())
	}()
	return ended
}
