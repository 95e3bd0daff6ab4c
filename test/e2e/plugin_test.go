package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin"
)

var _ = Describe("kubectl galera", Label(Core), func() {
	It("shows a cluster on one screen, and acts on it", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		eventually(ctx, func(o Gomega) { // a proof may be late once
			screen := kubectlGalera(ctx, shop.Namespace, "status", shop.Name)
			for _, want := range []string{"✓ Ready", "✓ Available", "✓ Encrypted", "3 of 3 nodes Synced", shop.Name + "-0",
				shop.Name + "-2", "(primary)", "✓ 1.3 AES_128_GCM ="} {
				o.Expect(screen).To(ContainSubstring(want))
			}
			o.Expect(screen).NotTo(ContainSubstring("DO THIS"))
		})
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

		lines := strings.Split(strings.TrimSpace(kubectlGalera(ctx, shop.Namespace, "logs", shop.Name, "--since", "1h")),
			"\n")
		Expect(slices.IsSorted(times(lines))).To(BeTrue(), "the lines are in order of time")
		for _, pod := range podNames(ctx, shop) {
			Expect(slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "  "+pod+"  ") })).To(BeTrue(),
				pod)
		}

		text := kubectlGalera(ctx, shop.Namespace, "restore", "again", "--store", "offsite", "--identity", "key", "--like",
			shop.Name, "--dry-run")
		again := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(text), again)).To(Succeed())
		Expect(kube.Create(ctx, again, kubeclient.DryRunAll)).To(Succeed(), "what it prints is admitted:\n%s", text)
		Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: shop.Namespace, Name: "again"}, &v1alpha1.GaleraCluster{})).
			NotTo(Succeed())
	}, SpecTimeout(8*time.Minute))
})

var _ = Describe("kubectl galera that acts", Label(Slow), func() {
	It("moves the primary, restarts one node, and collects a bundle without secrets", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		kubectlGalera(ctx, shop.Namespace, "promote", shop.Name, "2", "--wait")
		Expect(shop.Primary(ctx)).To(Equal(shop.Name + "-2"))
		before := kubectlGalera(ctx, shop.Namespace, "status", shop.Name, "-o", "json")
		kubectlGalera(ctx, shop.Namespace, "restart", shop.Name, "1", "--wait")
		Expect(kubectlGalera(ctx, shop.Namespace, "status", shop.Name, "-o", "json")).NotTo(Equal(before))
		Expect(shop.Primary(ctx)).To(Equal(shop.Name+"-2"), "another node was restarted")

		file := filepath.Join(GinkgoT().TempDir(), "report.tar.gz")
		kubectlGalera(ctx, shop.Namespace, "report", shop.Name, "--file", file)
		files := unpackBundle(file)
		var secrets corev1.SecretList
		Expect(kube.List(ctx, &secrets, kubeclient.InNamespace(shop.Namespace))).To(Succeed())
		for name, text := range files {
			for _, s := range secrets.Items {
				for key, value := range s.Data {
					if key == "password" || strings.HasSuffix(key, ".key") {
						Expect(text).NotTo(ContainSubstring(strings.TrimSpace(string(value))), "%s/%s in %s", s.Name, key, name)
					}
				}
			}
		}
		for _, pod := range podNames(ctx, shop) {
			Expect(files).To(HaveKeyWithValue(HaveSuffix("/logs/"+pod+"/mariadb.log"), ContainSubstring("WSREP")))
			Expect(files).To(HaveKey(HaveSuffix("/agents/" + pod + "/metrics.txt")))
		}
		Expect(files).To(HaveKeyWithValue(MatchRegexp("/operator/.*/manager.log$"), ContainSubstring(shop.Namespace)))
	})
})

// unpackBundle returns the files of a support bundle by name.
func unpackBundle(file string) map[string]string {
	GinkgoHelper()
	f, err := os.Open(file)
	Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	packed, err := gzip.NewReader(f)
	Expect(err).NotTo(HaveOccurred())
	files := map[string]string{}
	for archive := tar.NewReader(packed); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		Expect(err).NotTo(HaveOccurred())
		text, err := io.ReadAll(archive)
		Expect(err).NotTo(HaveOccurred())
		files[h.Name] = string(text)
	}
}

// kubectlGalera runs the plugin as a person would, and returns what it prints.
func kubectlGalera(ctx context.Context, namespace string, args ...string) string {
	GinkgoHelper()
	out, notes, err := tryKubectlGalera(ctx, namespace, args...)
	Expect(err).NotTo(HaveOccurred(), "kubectl galera %s: %s", strings.Join(args, " "), notes)
	return out
}

// tryKubectlGalera runs a command that may fail.
func tryKubectlGalera(ctx context.Context, namespace string, args ...string) (out, notes string, err error) {
	var output, errors bytes.Buffer
	root := plugin.New(&output, &errors)
	root.SetArgs(append(args, "-n", namespace, "--context", kube.Context))
	err = root.ExecuteContext(ctx)
	return output.String(), errors.String(), err
}

// times are what the lines begin with, cut to the second: Kubernetes leaves out zeroes at the end.
func times(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, l[:min(len(l), len("2006-01-02T15:04:05"))])
	}
	return out
}
