package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/test/docs/blocks"
	"github.com/galera-operator/galera-operator/test/harness"
)

// tutorialNamespace is the one that the tutorial makes.
const tutorialNamespace = "tutorial"

var _ = Describe("The commands in the documents", Label(Slow), func() {
	for _, page := range blocks.Pages {
		It("of "+page+" succeed in their order", func(ctx SpecContext) {
			text, err := os.ReadFile(filepath.Join("..", "..", page))
			Expect(err).NotTo(HaveOccurred())
			all, err := blocks.Of(string(text))
			Expect(err).NotTo(HaveOccurred())
			Expect(all).NotTo(BeEmpty())
			ownTutorialNamespace(ctx)
			config := ownKubeconfig(newNamespace(ctx, "documents"))
			for _, b := range all {
				runBlock(ctx, page, b, config)
				markTutorialNamespace(ctx)
			}
		}, SpecTimeout(20*time.Minute))
	}
})

// ownTutorialNamespace removes what an interrupted run has left, and what this one will leave.
func ownTutorialNamespace(ctx context.Context) {
	GinkgoHelper()
	Expect(kube.Namespaces().Delete(ctx, tutorialNamespace)).To(Succeed())
	liveNamespaces = append(liveNamespaces, tutorialNamespace)
	DeferCleanup(func(ctx SpecContext) {
		liveNamespaces = slices.DeleteFunc(liveNamespaces, func(n string) bool { return n == tutorialNamespace })
		if os.Getenv("GALERA_E2E_KEEP") == "" {
			Expect(kube.Namespaces().Delete(ctx, tutorialNamespace)).To(Succeed())
		}
	}, NodeTimeout(4*time.Minute))
}

// markTutorialNamespace lets a later run of the suite find what this one leaves when it is killed.
func markTutorialNamespace(ctx context.Context) {
	GinkgoHelper()
	ns := &corev1.Namespace{}
	if kube.Get(ctx, kubeclient.ObjectKey{Name: tutorialNamespace}, ns) != nil || ns.Labels[harness.LabelTest] != "" {
		return
	}
	before := ns.DeepCopy()
	ns.Labels[harness.LabelTest] = "true"
	Expect(kubeclient.IgnoreNotFound(kube.Patch(ctx, ns, kubeclient.MergeFrom(before)))).To(Succeed())
}

// ownKubeconfig is a file with the suite's context and a namespace: commands may change it.
func ownKubeconfig(namespace string) string {
	GinkgoHelper()
	config, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	Expect(err).NotTo(HaveOccurred())
	config.CurrentContext = kube.Context
	Expect(clientcmdapi.MinifyConfig(config)).To(Succeed())
	Expect(clientcmdapi.FlattenConfig(config)).To(Succeed())
	config.Contexts[kube.Context].Namespace = namespace
	file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	return file
}

// runBlock runs a block as a reader would, in the root of the tree, with the plugin on the PATH.
func runBlock(ctx context.Context, page string, b blocks.Block, kubeconfig string) {
	GinkgoHelper()
	root, err := filepath.Abs("../..")
	Expect(err).NotTo(HaveOccurred())
	progress("%s:%d\n%s", page, b.Line, b.Commands)
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", b.Commands)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = GinkgoWriter, GinkgoWriter
	cmd.WaitDelay = 10 * time.Second
	Expect(cmd.Run()).To(Succeed(), "%s:%d: %s", page, b.Line, b.Commands)
}
