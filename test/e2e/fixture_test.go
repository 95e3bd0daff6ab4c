package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/test/harness"
)

// How long things may take at most. They usually take a fraction of it; two processors are shared
// by everything here.
const (
	firstReady  = 4 * time.Minute
	joinTime    = 2 * time.Minute
	recoverTime = 3 * time.Minute
	shortly     = time.Minute
)

// liveNamespaces are those in which something may be worth an inspection after a failure.
var liveNamespaces []string

// makeNamespace makes a namespace that is removed after the spec, or after the ordered container,
// that asked for it.
func makeNamespace(ctx context.Context, prefix string) string {
	GinkgoHelper()
	ns, err := kube.Namespaces().Create(ctx, prefix)
	Expect(err).NotTo(HaveOccurred())
	liveNamespaces = append(liveNamespaces, ns)
	return ns
}

// newNamespace is makeNamespace with removal at the end.
func newNamespace(ctx context.Context, prefix string) string {
	GinkgoHelper()
	ns := makeNamespace(ctx, prefix)
	DeferCleanup(func(ctx SpecContext) { removeNamespace(ctx, ns) }, NodeTimeout(4*time.Minute))
	return ns
}

// leavingNamespaces are those whose removal has begun. The suite waits for them at its end: one that stays is a defect.
var leavingNamespaces []string

func removeNamespace(ctx context.Context, ns string) {
	liveNamespaces = slices.DeleteFunc(liveNamespaces, func(n string) bool { return n == ns })
	if os.Getenv("GALERA_E2E_KEEP") != "" {
		return
	}
	expectSpecsUntouched(ctx, ns)
	found, err := secretsInLogs(ctx, ns)
	Expect(kube.Namespaces().BeginDelete(ctx, ns)).To(Succeed())
	leavingNamespaces = append(leavingNamespaces, ns)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(BeEmpty(), "secrets in logs")
}

// expectSpecsUntouched: whatever the operator has done to a cluster, it has not written to its spec: kubectl diff, Flux
// and Argo CD see no difference. Every namespace is checked before it is removed. A benchmark makes and changes a
// cluster of its own.
func expectSpecsUntouched(ctx context.Context, ns string) {
	GinkgoHelper()
	expectSpecsUntouchedIn(ctx, kube, ns)
}

func expectSpecsUntouchedIn(ctx context.Context, kube *harness.Kube, ns string) {
	GinkgoHelper()
	var all v1alpha1.GaleraClusterList
	Expect(kube.List(ctx, &all, kubeclient.InNamespace(ns))).To(Succeed())
	for _, c := range all.Items {
		if len(c.OwnerReferences) > 0 {
			continue
		}
		for _, m := range c.ManagedFields {
			if m.Subresource == "" && m.FieldsV1 != nil && strings.Contains(string(m.FieldsV1.GetRawBytes()), `"f:spec"`) {
				Expect(m.Manager).NotTo(BeElementOf(ownership.FieldOwner, "manager"),
					"%s/%s: the operator has written to the spec", ns, c.Name)
			}
		}
	}
}

// secretsInLogs checks everything the pods of a namespace have said. Every namespace is checked before it is
// removed, the operator's at the end: no secret is ever in a log.
func secretsInLogs(ctx context.Context, ns string) ([]string, error) {
	if secrets == nil {
		return nil, nil // the suite has not begun
	}
	return secrets.InLogs(ctx, ns)
}

// create makes a cluster and does not wait for it.
func create(ctx context.Context, c *v1alpha1.GaleraCluster) *harness.Cluster {
	GinkgoHelper()
	out, err := kube.CreateCluster(ctx, c)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// shared is the cluster most specs use. Making one costs three quarters of a minute.
var shared *harness.Cluster

// sharedCluster returns a healthy cluster of three encrypted nodes. A spec may do to it what it
// likes; one that does not get well again is thrown away, so that one failure does not become many.
func sharedCluster(ctx context.Context) *harness.Cluster {
	GinkgoHelper()
	if shared != nil {
		if err := shared.WaitHealthy(ctx, shortly); err == nil {
			return shared
		}
		progress("the shared cluster is not well: making another one")
		dropShared(ctx)
	}
	shared = create(ctx, sampleCluster(makeNamespace(ctx, "e2e")))
	Expect(shared.WaitReady(ctx, firstReady)).To(Succeed())
	return shared
}

func dropShared(ctx context.Context) {
	if shared != nil {
		ns := shared.Namespace
		shared = nil
		removeNamespace(ctx, ns)
	}
}

// sampleCluster is what the documentation asks people to apply, in a namespace of its own.
func sampleCluster(namespace string) *v1alpha1.GaleraCluster {
	GinkgoHelper()
	return sample(namespace, "galera.yaml")
}

// sample is one of config/samples.
func sample(namespace, file string) *v1alpha1.GaleraCluster {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", file))
	Expect(err).NotTo(HaveOccurred())
	c := &v1alpha1.GaleraCluster{}
	Expect(yaml.UnmarshalStrict(text, c)).To(Succeed())
	c.Namespace = namespace
	return c
}

// startWriter writes until the spec ends, at the latest.
func startWriter(ctx context.Context, c *harness.Cluster, opts harness.WriterOptions) *harness.Writer {
	GinkgoHelper()
	w, err := harness.StartWriter(ctx, c, opts)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	Expect(w.WaitForMore(ctx, 20, shortly)).To(Succeed())
	// The other nodes create the writer's table a moment later. A fault during that would cost them a full copy.
	Expect(harness.WaitApplied(ctx, c, shortly)).To(Succeed())
	return w
}

// stopAndCheck ends the writing and checks that nothing that was acknowledged is lost.
func stopAndCheck(ctx context.Context, w *harness.Writer, since time.Time) {
	GinkgoHelper()
	Expect(w.WaitForMore(ctx, 20, shortly)).To(Succeed(), "the cluster must take writes again")
	w.Stop()
	gap := w.LongestGap(since)
	progress("longest interval without an acknowledged write: %s; errors of clients: %v",
		gap.Length.Round(time.Millisecond), w.Errors())
	AddReportEntry("longest write gap", gap.Length.Round(time.Millisecond).String())
	Expect(w.Check(ctx)).To(Succeed())
}

// eventually asks until the answer is right: what the operator, an agent, Kubernetes or another node reports comes by a
// way of its own, a moment after what was awaited. It is not for what must never be seen.
func eventually(ctx context.Context, check func(o Gomega)) {
	GinkgoHelper()
	Eventually(check).WithContext(ctx).WithTimeout(shortly).WithPolling(200 * time.Millisecond).Should(Succeed())
}

// client returns what a database client needs.
func client(ctx context.Context, c *harness.Cluster) *harness.Client {
	GinkgoHelper()
	cl, err := c.Client(ctx)
	Expect(err).NotTo(HaveOccurred())
	return cl
}

// podNames returns the names of all nodes.
func podNames(ctx context.Context, c *harness.Cluster) []string {
	GinkgoHelper()
	names, err := c.PodNames(ctx)
	Expect(err).NotTo(HaveOccurred())
	return names
}

// status reads the cluster's status.
func status(ctx context.Context, c *harness.Cluster) v1alpha1.GaleraClusterStatus {
	GinkgoHelper()
	have, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	return have.Status
}

// change edits a cluster's spec.
func change(ctx context.Context, c *harness.Cluster, edit func(*v1alpha1.GaleraClusterSpec)) {
	GinkgoHelper()
	Expect(c.Change(ctx, func(g *v1alpha1.GaleraCluster) { edit(&g.Spec) })).To(Succeed())
}
