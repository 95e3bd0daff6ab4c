package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// operatorRelease is a release's name with which all objects are called as in config/default.
const operatorRelease = "galera-operator"

// Installation is how the operator comes into the cluster and leaves it: from the manifests or from the chart.
type Installation struct{ kube *Kube }

// Installation returns the handle of what installs the operator.
func (k *Kube) Installation() Installation { return Installation{k} }

// ChartValues are values of the chart with the images that the operator has now.
func (k Installation) ChartValues(ctx context.Context) (map[string]any, error) {
	d, err := k.kube.Operator().deployment(ctx)
	if err != nil {
		return nil, err
	}
	manager := d.Spec.Template.Spec.Containers[0]
	i := strings.LastIndex(manager.Image, ":")
	if i < 0 || strings.Contains(manager.Image[i:], "/") || strings.Contains(manager.Image, "@") {
		return nil, fmt.Errorf("the operator's image %s has no tag", manager.Image)
	}
	values := map[string]any{"image": map[string]any{"repository": manager.Image[:i], "tag": manager.Image[i+1:]}}
	for _, e := range manager.Env {
		if e.Name == "DEFAULT_IMAGE" {
			values["databaseImage"] = e.Value
		}
	}
	program := &appsv1.Deployment{}
	err = k.kube.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: BenchmarksDeployment}, program)
	if err != nil {
		return values, client.IgnoreNotFound(err) // an installation without benchmarks
	}
	for _, e := range program.Spec.Template.Spec.Containers[0].Env {
		if e.Name == "BENCHMARK_IMAGE" {
			values["benchmarkImage"] = e.Value
		}
	}
	return values, nil
}

// InstallChart installs or upgrades the operator from the chart in a folder, and waits for it. What is there already
// becomes part of the release.
func (k Installation) InstallChart(ctx context.Context, chart string, values map[string]any) error {
	text, err := yaml.Marshal(values)
	if err != nil {
		return err
	}
	_, err = run(ctx, string(text), "helm", "--kube-context", k.kube.Context, "--namespace", OperatorNamespace, "upgrade",
		"--install", "--take-ownership",
		operatorRelease, chart, "--values", "-", "--wait", "--timeout", "3m")
	if err != nil {
		return err
	}
	return k.kube.Operator().Wait(ctx, 2*time.Minute)
}

// UninstallChart removes the release, if there is one, and waits until the operator is gone.
func (k Installation) UninstallChart(ctx context.Context) error {
	_, err := run(ctx, "", "helm", "--kube-context", k.kube.Context, "--namespace", OperatorNamespace, "uninstall",
		operatorRelease, "--ignore-not-found", "--wait",
		"--timeout", "2m")
	if err != nil {
		return err
	}
	return k.kube.Until(ctx, "the operator is uninstalled", 2*time.Minute, func(ctx context.Context) (bool, string,
		error) {
		err := k.kube.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: OperatorDeployment}, &appsv1.Deployment{})
		return apierrors.IsNotFound(err), "", client.IgnoreNotFound(err)
	})
}

// Deploy installs the operator as make up does, from config/local of the repository.
func (k Installation) Deploy(ctx context.Context, repository string) error {
	text, err := run(ctx, "", "kubectl", "kustomize", "--load-restrictor", "LoadRestrictionsNone",
		filepath.Join(repository, "config", "local"))
	if err != nil {
		return err
	}
	if _, err := run(ctx, text, "kubectl", "--context", k.kube.Context, "apply", "--server-side", "--force-conflicts",
		"-f", "-"); err != nil {
		return err
	}
	return k.kube.Operator().Wait(ctx, 3*time.Minute)
}

// Undeploy removes the operator and its rights, as make undeploy does.
func (k Installation) Undeploy(ctx context.Context, repository string) error {
	_, err := run(ctx, "", "kubectl", "--context", k.kube.Context, "delete", "--ignore-not-found", "-k",
		filepath.Join(repository, "config", "undeploy"))
	return err
}

// Remove deletes the operator's Deployment, and waits until it is gone: what it was installed with is not merged into
// what comes next.
func (k Installation) Remove(ctx context.Context) error {
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = OperatorNamespace, OperatorDeployment
	if err := k.kube.Delete(ctx, d, client.PropagationPolicy("Foreground")); client.IgnoreNotFound(err) != nil {
		return err
	}
	return k.kube.Until(ctx, "the operator is removed", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := k.kube.Get(ctx, client.ObjectKeyFromObject(d), &appsv1.Deployment{})
		return apierrors.IsNotFound(err), "", client.IgnoreNotFound(err)
	})
}
