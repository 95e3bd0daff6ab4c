package e2e

import (
	"bytes"
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin"
)

var _ = Describe("kubectl galera", Label(Core), func() {
	It("shows a cluster on one screen, and acts on it", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		screen := kubectlGalera(ctx, shop.Namespace, "status", shop.Name)
		for _, want := range []string{"✓ Ready", "✓ Available", "✓ Encrypted", "3 of 3 nodes Synced", shop.Name + "-0", shop.Name + "-2", "(primary)", "✓ 1.3 AES_128_GCM ="} {
			Expect(screen).To(ContainSubstring(want))
		}
		Expect(screen).NotTo(ContainSubstring("DO THIS"))
		Expect(kubectlGalera(ctx, shop.Namespace, "recover", shop.Name)).To(ContainSubstring("nothing is asked of you"))
		Expect(kubectlGalera(ctx, shop.Namespace, "tls", shop.Name)).To(ContainSubstring("CA, current"))

		kubectlGalera(ctx, shop.Namespace, "pause", shop.Name)
		eventually(ctx, func(o Gomega) {
			o.Expect(kubectlGalera(ctx, shop.Namespace, "status", shop.Name)).To(ContainSubstring("PAUSED"))
		})
		kubectlGalera(ctx, shop.Namespace, "unpause", shop.Name)
		eventually(ctx, func(o Gomega) {
			o.Expect(kubectlGalera(ctx, shop.Namespace, "status", shop.Name)).NotTo(ContainSubstring("PAUSED"))
		})

		lines := strings.Split(strings.TrimSpace(kubectlGalera(ctx, shop.Namespace, "logs", shop.Name, "--since", "1h")), "\n")
		Expect(slices.IsSorted(times(lines))).To(BeTrue(), "the lines are in order of time")
		for _, pod := range podNames(ctx, shop) {
			Expect(slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "  "+pod+"  ") })).To(BeTrue(), pod)
		}

		text := kubectlGalera(ctx, shop.Namespace, "restore", "again", "--store", "offsite", "--identity", "key", "--like", shop.Name, "--dry-run")
		again := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(text), again)).To(Succeed())
		Expect(kube.Create(ctx, again, kubeclient.DryRunAll)).To(Succeed(), "what it prints is admitted:\n%s", text)
		Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: shop.Namespace, Name: "again"}, &v1alpha1.GaleraCluster{})).NotTo(Succeed())
	})
})

// kubectlGalera runs the plugin as a person would, and returns what it prints.
func kubectlGalera(ctx context.Context, namespace string, args ...string) string {
	GinkgoHelper()
	var out, notes bytes.Buffer
	root := plugin.New(&out, &notes)
	root.SetArgs(append(args, "-n", namespace, "--context", kube.Context))
	Expect(root.ExecuteContext(ctx)).To(Succeed(), "kubectl galera %s: %s", strings.Join(args, " "), &notes)
	return out.String()
}

// times are what the lines begin with, cut to the second: Kubernetes leaves out zeroes at the end.
func times(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, l[:min(len(l), len("2006-01-02T15:04:05"))])
	}
	return out
}
