package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// operatorRelease is a release's name with which all objects are called as in config/default.
const operatorRelease = "galera-operator"

// ChartValues are values of the chart with the images that the operator has now.
func (k *Kube) ChartValues(ctx context.Context) (map[string]any, error) {
	d, err := k.operatorDeployment(ctx)
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
		switch e.Name {
		case "DEFAULT_IMAGE":
			values["databaseImage"] = e.Value
		case "BENCHMARK_IMAGE":
			values["benchmarkImage"] = e.Value
		}
	}
	return values, nil
}

// InstallChart installs or upgrades the operator from the chart in a folder, and waits for it. What is there already becomes part of
// the release.
func (k *Kube) InstallChart(ctx context.Context, chart string, values map[string]any) error {
	text, err := yaml.Marshal(values)
	if err != nil {
		return err
	}
	_, err = run(ctx, string(text), "helm", "--kube-context", k.Context, "--namespace", OperatorNamespace, "upgrade", "--install", "--take-ownership",
		operatorRelease, chart, "--values", "-", "--wait", "--timeout", "3m")
	if err != nil {
		return err
	}
	return k.WaitOperator(ctx, 2*time.Minute)
}

// UninstallChart removes the release, if there is one, and waits until the operator is gone.
func (k *Kube) UninstallChart(ctx context.Context) error {
	_, err := run(ctx, "", "helm", "--kube-context", k.Context, "--namespace", OperatorNamespace, "uninstall", operatorRelease, "--ignore-not-found", "--wait",
		"--timeout", "2m")
	if err != nil {
		return err
	}
	return k.Until(ctx, "the operator is uninstalled", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := k.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: OperatorDeployment}, &appsv1.Deployment{})
		return apierrors.IsNotFound(err), "", client.IgnoreNotFound(err)
	})
}

// DeployOperator installs the operator as make up does, from config/local of the repository.
func (k *Kube) DeployOperator(ctx context.Context, repository string) error {
	text, err := run(ctx, "", "kubectl", "kustomize", "--load-restrictor", "LoadRestrictionsNone", filepath.Join(repository, "config", "local"))
	if err != nil {
		return err
	}
	if _, err := run(ctx, text, "kubectl", "--context", k.Context, "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
		return err
	}
	return k.WaitOperator(ctx, 3*time.Minute)
}

// UndeployOperator removes the operator and its rights, as make undeploy does.
func (k *Kube) UndeployOperator(ctx context.Context, repository string) error {
	_, err := run(ctx, "", "kubectl", "--context", k.Context, "delete", "--ignore-not-found", "-k", filepath.Join(repository, "config", "undeploy"))
	return err
}

// OperatorMay asks the API server whether the operator has a right in a namespace. The resource is written RESOURCE or RESOURCE.GROUP.
func (k *Kube) OperatorMay(ctx context.Context, verb, resource, namespace string) (bool, error) {
	d, err := k.operatorDeployment(ctx)
	if err != nil {
		return false, err
	}
	name, group, _ := strings.Cut(resource, ".")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + d.Namespace + ":" + d.Spec.Template.Spec.ServiceAccountName,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: name},
	}}
	err = k.Create(ctx, review)
	return review.Status.Allowed, err
}
