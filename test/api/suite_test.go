// Package api holds tests against a real kube-apiserver and etcd: what the API admits, and
// what the operator does with fake agents, a fake kubelet and a fake cert-manager.
package api

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

var (
	config *rest.Config
	scheme = runtime.NewScheme()
	kube   client.Client
)

// installTime is how long an API server may take to serve new kinds; it has ten seconds unless it is given more.
const installTime = 2 * time.Minute

// installed is what the API server of these tests has in addition to the kinds.
var installed = []func(context.Context, client.Client) error{restrictOperator}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, fmt.Errorf("KUBEBUILDER_ASSETS must name a directory with kube-apiserver and etcd; run: make test-api")
	}
	logf.SetLogger(zap.New(zap.WriteTo(os.Stderr), zap.UseDevMode(true)))
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, certmanagerv1.AddToScheme,
		v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	dir, err := moduleDir("github.com/cert-manager/cert-manager")
	if err != nil {
		return 1, err
	}
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join("..", "..", "config", "crd", "bases"),
			filepath.Join(dir, "deploy", "crds")},
		ErrorIfCRDPathMissing: true, CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: installTime},
	}
	if config, err = env.Start(); err != nil {
		return 1, fmt.Errorf("starting kube-apiserver and etcd: %w", err)
	}
	defer func() { _ = env.Stop() }()
	if kube, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	for _, install := range installed {
		if err := install(context.Background(), kube); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// moduleDir finds a module's files, which hold cert-manager's own CRDs.
func moduleDir(module string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}
