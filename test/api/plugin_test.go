package api

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plugin"
)

// kubeconfig writes a file by which programs reach the API server of the tests.
func kubeconfig(t *testing.T) string {
	t.Helper()
	return kubeconfigOf(t, config)
}

func kubeconfigOf(t *testing.T, config *rest.Config) string {
	t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	c.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	c.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	c.CurrentContext = "test"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*c, file))
	return file
}

// galera runs the plugin as a user would, and returns what it prints to stdout and to stderr, and how it ended.
func (w *world) galera(args ...string) (out, notes string, err error) {
	w.t.Helper()
	var printed, said bytes.Buffer
	root := plugin.New(&printed, &said)
	root.SetArgs(append(args, "-n", w.cluster.Namespace, "--kubeconfig", kubeconfig(w.t)))
	err = root.ExecuteContext(context.Background())
	return printed.String(), said.String(), err
}

// TestPluginActs: promote and restart with --wait, and what they refuse.
func TestPluginActs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin-acts", spec())
	w.bringUp()
	_, notes, err := w.galera("promote", "shop", "2", "--wait", "--timeout", "20s")
	w.Expect(err).NotTo(HaveOccurred(), notes)
	w.Expect(notes).To(ContainSubstring("shop-2 is the primary"))
	w.Expect(w.status().Primary).To(Equal("shop-2"))
	out, notes, err := w.galera("restart", "shop", "shop-1", "--wait", "--timeout", "20s", "-o", "json")
	w.Expect(err).NotTo(HaveOccurred(), notes)
	w.Expect(w.agents.given()).To(ContainElement("Restart shop-1"))
	w.Expect(out).To(And(HavePrefix("{"), ContainSubstring(`"kind":"Restart"`)))
	_, _, err = w.galera("promote", "shop", "shop-7")
	w.Expect(err).To(MatchError(ContainSubstring("shop-7 is not a node of shop: shop-0, shop-1, shop-2")))

	w.stop() // no operator records it
	_, notes, err = w.galera("promote", "shop", "shop-0", "--wait", "--timeout", "2s")
	w.Expect(err).To(MatchError(ContainSubstring("the request is not met yet")), notes)
	w.Expect(notes).To(ContainSubstring("waiting for the operator"))
}

// TestPluginPrints: for programs, with fields that this plugin does not know.
func TestPluginPrints(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin-prints", spec())
	w.bringUp()
	for _, command := range []string{"status", "tls", "recover"} {
		for _, format := range []string{"json", "yaml"} {
			out, notes, err := w.galera(command, "shop", "-o", format)
			w.Expect(err).NotTo(HaveOccurred(), notes)
			value := map[string]any{}
			w.Expect(yaml.Unmarshal([]byte(out), &value)).To(Succeed())
			w.Expect(value).NotTo(BeEmpty())
			w.Expect(strings.HasPrefix(out, "{")).To(Equal(format == "json"))
		}
		_, _, err := w.galera(command, "shop", "-o", "toml")
		w.Expect(err).To(MatchError(ContainSubstring("json or yaml")))
	}
	out, _, err := w.galera("backups", "-o", "json")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(out).To(ContainSubstring(`"kind":"GaleraBackupList"`))
	out, _, err = w.galera("pause", "shop", "-o", "yaml")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(out).To(ContainSubstring("galera-operator.io/pause: \"true\""))
}

// TestPluginRestoresToAPoint: what the plugin takes for a point, the API server admits; what it refuses makes no
// cluster.
func TestPluginRestoresToAPoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin-point", spec())
	for name, c := range map[string]struct {
		flags, refused string
	}{
		"bytime":   {"--time 2026-03-01T12:30:00+01:00", ""},
		"bygtid":   {"--gtid 0-1-4711", ""},
		"latest":   {"--latest", ""},
		"local":    {"--time 2026-03-01T12:30:00", "with its offset from UTC"},
		"tocome":   {"--time 2999-03-01T12:30:00Z", "later than now"},
		"position": {"--gtid 0-1-4711,1-1-7", "the cluster's domain"},
		"two":      {"--gtid 0-1-4711 --latest", "name one point"},
	} {
		args := strings.Fields("restore " + name + " --store offsite --from-cluster shop --identity key --size 1Gi " +
			c.flags)
		_, notes, err := w.galera(args...)
		made := &v1alpha1.GaleraCluster{}
		found := kube.Get(t.Context(), client.ObjectKey{Namespace: w.cluster.Namespace, Name: name}, made)
		if c.refused != "" {
			w.Expect(err).To(MatchError(ContainSubstring(c.refused)), name)
			w.Expect(found).NotTo(Succeed(), name)
			continue
		}
		w.Expect(err).NotTo(HaveOccurred(), "%s: %s", name, notes)
		w.Expect(found).To(Succeed(), name)
		w.Expect(made.Spec.BootstrapFrom.PointInTime).NotTo(BeNil(), name)
	}
}

// TestPluginClones: a clone is asked for as the API server wants it; what cannot be one makes no cluster.
func TestPluginClones(t *testing.T) {
	w := newWorld(t, "plugin-clones", spec())
	_, notes, err := w.galera("restore", "twin", "--clone", "elsewhere/shop", "--store", "offsite", "--identity", "key",
		"--size", "1Gi")
	w.Expect(err).NotTo(HaveOccurred(), notes)
	made := &v1alpha1.GaleraCluster{}
	w.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: w.cluster.Namespace, Name: "twin"}, made)).To(Succeed())
	w.Expect(*made.Spec.BootstrapFrom.Cluster).
		To(Equal(v1alpha1.BootstrapCluster{Namespace: "elsewhere", Name: "shop",
			StoreRef: v1alpha1.LocalName{Name: "offsite"}}))
	_, _, err = w.galera("restore", "twins", "--clone", "shop", "--store", "offsite", "--identity", "key", "--size", "1Gi",
		"--latest")
	w.Expect(err).To(MatchError(ContainSubstring("the moment at which it is copied")))
	w.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: w.cluster.Namespace, Name: "twins"}, made)).NotTo(Succeed())
}

// TestPluginWithFewRights: what a user may not do is named, and the rest goes on.
func TestPluginWithFewRights(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, "plugin-rights", spec())
	w.bringUp()
	must(t, kube.Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "plugin-rights", Name: "reader"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"galera-operator.io"}, Resources: []string{"galeraclusters"}, Verbs: []string{"get"}}}}))
	must(t, kube.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "plugin-rights", Name: "reader"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "reader"}}}))
	var out, notes string
	var err error
	eventually(t, "the API server knows the role", func() bool {
		out, notes, err = w.galera("status", "shop", "--as", "reader")
		return err == nil
	})
	w.Expect(out).To(And(ContainSubstring("3 of 3 nodes Synced"), ContainSubstring("? Backups  ? Users"),
		MatchRegexp(`not shown +GaleraBackupStores, GaleraBackupSchedules,\s+GaleraBackups, GaleraUsers,\s+GaleraDatabases`),
		ContainSubstring("$ kubectl auth can-i --list -n plugin-rights")))
	out, notes, err = w.galera("status", "shop", "--as", "reader", "-o", "json")
	w.Expect(err).NotTo(HaveOccurred(), notes)
	w.Expect(out).To(ContainSubstring(`{"kind":"GaleraUser","message":"galerausers.galera-operator.io is forbidden`))
	_, _, err = w.galera("promote", "shop", "shop-1", "--as", "reader")
	w.Expect(err).To(MatchError(ContainSubstring(`cannot patch resource "galeraclusters"`)))
	_, _, err = w.galera("logs", "shop", "--as", "reader")
	w.Expect(err).To(MatchError(ContainSubstring(`cannot list resource "pods"`)))

	file := filepath.Join(t.TempDir(), "r.tar.gz")
	_, notes, err = w.galera("report", "shop", "--as", "reader", "--file", file)
	w.Expect(err).NotTo(HaveOccurred(), notes)
	w.Expect(notes).To(And(ContainSubstring("Secrets (their values are not known"),
		ContainSubstring(`cannot list resource "events"`)))
	files := unpack(t, file)
	w.Expect(files).To(HaveKey(HaveSuffix("/cluster.yaml")))
	_, _, err = w.galera("report", "shop", "--file", file)
	w.Expect(err).To(MatchError(os.ErrExist), "a file is not overwritten")
}

// TestPluginReport: no value of any Secret is in a bundle.
func TestPluginReport(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, "plugin-report", spec())
	w.bringUp()
	must(t, kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "plugin-report", Name: "app-binding"},
		Data: map[string][]byte{"password": []byte("s3cr3t-of-app"), "username": []byte("app")}}))
	must(t, kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "plugin-report",
		Name: "left-behind", Labels: map[string]string{v1alpha1.LabelCluster: "shop"}},
		Data: map[string]string{"note": "the application logs in with s3cr3t-of-app"}}))
	root := &corev1.Secret{}
	must(t, w.get(root, "shop-root"))
	w.agents.change("shop-0", func(r *agentapi.Report) {
		r.Failure = &agentapi.Failure{Reason: agentapi.FailureTransfer, Message: "it was called with " +
			string(root.Data["password"])}
	})
	w.Eventually(func() string { return w.status().Members[0].Message }).Should(ContainSubstring("it was called with"))
	file := filepath.Join(t.TempDir(), "r.tar.gz")
	out, notes, err := w.galera("report", "shop", "--file", file, "-o", "json")
	w.Expect(err).NotTo(HaveOccurred(), notes)
	w.Expect(out).To(ContainSubstring("Secret app-binding/password"))
	var secrets corev1.SecretList
	must(t, kube.List(ctx, &secrets))
	files := unpack(t, file)
	for name, text := range files {
		for _, s := range secrets.Items {
			for key, value := range s.Data {
				if key == "password" || strings.HasSuffix(key, ".key") {
					w.Expect(text).NotTo(ContainSubstring(strings.TrimSpace(string(value))), "%s/%s in %s", s.Name, key, name)
				}
			}
		}
	}
	for _, want := range []string{"README.txt", "secrets.txt", "cluster.yaml", "events.txt", "objects/pod/shop-0.yaml",
		"objects/certificate/shop-issued.yaml", "objects/statefulset/shop.yaml"} {
		w.Expect(files).To(HaveKey(HaveSuffix("/" + want)))
	}
}

// unpack returns the files of a bundle by name.
func unpack(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	packed, err := gzip.NewReader(f)
	must(t, err)
	files := map[string]string{}
	for archive := tar.NewReader(packed); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		must(t, err)
		text, err := io.ReadAll(archive)
		must(t, err)
		files[h.Name] = string(text)
	}
}

// TestPluginInATerminal: on a terminal of 40 columns the screen has colours, fits, and is drawn anew at a change; in a
// pipe it has none.
func TestPluginInATerminal(t *testing.T) {
	t.Parallel()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not installed")
	}
	w := newWorld(t, "plugin-terminal", spec())
	w.bringUp()
	program := filepath.Join(t.TempDir(), "kubectl-galera")
	built, err := exec.Command("go", "build", "-o", program, "../../cmd/kubectl-galera").CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), string(built))
	socket := filepath.Join(t.TempDir(), "tmux")
	terminal := func(args ...string) string {
		out, err := exec.Command(tmux, append([]string{"-S", socket}, args...)...).CombinedOutput()
		w.Expect(err).NotTo(HaveOccurred(), string(out))
		return string(out)
	}
	terminal("new-session", "-d", "-x", "40", "-y", "60", program, "status", "shop", "--watch", "-n", "plugin-terminal",
		"--kubeconfig", kubeconfig(t))
	t.Cleanup(func() { _ = exec.Command(tmux, "-S", socket, "kill-server").Run() })
	shown := func() string { return terminal("capture-pane", "-p") }
	w.Eventually(shown).Should(And(ContainSubstring("3 of 3 nodes Synced"),
		ContainSubstring("shop-2  ✓ =       ✓ =       ✓ =")))
	w.Expect(terminal("capture-pane", "-p", "-e")).To(ContainSubstring("\x1b[32m"), "colours")
	w.Expect(shown()).NotTo(ContainSubstring("promote"))
	w.agents.change("shop-1", func(r *agentapi.Report) { serve(r); r.Server.State = galera.NodeJoined })
	w.ask(v1alpha1.AnnotationPrimary, "shop-1@one")
	w.Eventually(shown).Should(And(ContainSubstring("promote shop-1"), ContainSubstring("2 of 3 nodes Synced"),
		Not(ContainSubstring("3 of 3"))), "it was drawn anew")
	out, _, err := w.galera("status", "shop")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(out).NotTo(ContainSubstring("\x1b"))
}
