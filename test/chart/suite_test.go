// Package chart holds tests of the Helm chart: what it renders, what it refuses, and what Helm does with it on a real
// kube-apiserver.
package chart

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const (
	folder = "../../charts/galera-operator"
	// With this name and namespace a release has the names of config/default.
	release   = "galera-operator"
	namespace = "galera-operator-system"
)

var (
	kube       client.Client
	restConfig *rest.Config
	// kubeconfig is a file for helm and kubectl; helmHome has what Helm would have in the home directory.
	kubeconfig, helmHome string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if _, err := exec.LookPath("helm"); err != nil || os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1,
			fmt.Errorf("these tests need helm, and KUBEBUILDER_ASSETS with kube-apiserver, etcd and kubectl; run: make test-api")
	}
	dir, err := os.MkdirTemp("", "chart")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	logf.SetLogger(zap.New(zap.WriteTo(os.Stderr), zap.UseDevMode(true)))
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme,
		certmanagerv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager").Output()
	if err != nil {
		return 1, fmt.Errorf("finding cert-manager's CRDs: %w", err)
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(strings.TrimSpace(string(out)), "deploy", "crds")},
		ErrorIfCRDPathMissing: true,
		CRDInstallOptions:     envtest.CRDInstallOptions{MaxTime: 2 * time.Minute}, // ten seconds unless it is given more
	}
	config, err := env.Start()
	if err != nil {
		return 1, fmt.Errorf("starting kube-apiserver and etcd: %w", err)
	}
	defer func() { _ = env.Stop() }()
	restConfig = config
	if kube, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	kubeconfig, helmHome = filepath.Join(dir, "kubeconfig"), dir
	if err := os.WriteFile(kubeconfig, env.KubeConfig, 0o600); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// helm runs Helm with values on its standard input, and returns what it writes to its output, or as error what it says.
func helm(values string, args ...string) ([]byte, error) {
	cmd := exec.Command("helm", args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HELM_CACHE_HOME="+helmHome, "HELM_CONFIG_HOME="+helmHome,
		"HELM_DATA_HOME="+helmHome)
	cmd.Stdin = strings.NewReader(values)
	var out, says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &says
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("helm %s: %w: %s%s", strings.Join(args, " "), err, says.String(), out.String())
	}
	return out.Bytes(), nil
}

// object is one Kubernetes object.
type object map[string]any

func (o object) kind() string { return fmt.Sprint(o["kind"]) }

// id is KIND NAMESPACE/NAME.
func (o object) id() string {
	return fmt.Sprintf("%s %v/%v", o.kind(), o.at("metadata.namespace"), o.at("metadata.name"))
}

// at returns the value at a path of keys and indices, nil where there is none.
func (o object) at(path string) any {
	var v any = map[string]any(o)
	for key := range strings.SplitSeq(path, ".") {
		switch t := v.(type) {
		case map[string]any:
			v = t[strings.ReplaceAll(key, "·", ".")]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(t) {
				return nil
			}
			v = t[i]
		default:
			return nil
		}
	}
	return v
}

type objects []object

func (all objects) of(kind string) objects {
	return slices.DeleteFunc(slices.Clone(all), func(o object) bool { return o.kind() != kind })
}

// named returns an object of a kind, nil where there is none.
func (all objects) named(kind, name string) object {
	for _, o := range all.of(kind) {
		if o.at("metadata.name") == name {
			return o
		}
	}
	return nil
}

func parse(t *testing.T, text []byte) objects {
	t.Helper()
	var out objects
	for doc := range strings.SplitSeq("\n"+string(text), "\n---\n") {
		o := object{}
		if err := yaml.UnmarshalStrict([]byte(doc), &o); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if strings.HasPrefix(o.kind(), "ValidatingAdmissionPolicy") {
			delete(o["metadata"].(map[string]any), "namespace") // kustomize does not know that they have none
		}
		if len(o) > 0 {
			out = append(out, o)
		}
	}
	return out
}

// render returns what the chart makes of values.
func render(t *testing.T, values string, args ...string) objects {
	t.Helper()
	out, err := helm(values, append([]string{"template", release, folder, "--namespace", namespace, "--values", "-"},
		args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, out)
}
