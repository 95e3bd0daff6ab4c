package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LabelTest marks what tests have made, so that leftovers can be found.
const LabelTest = "galera-operator.io/test"

// Namespaces makes the namespaces of tests, and takes them away.
type Namespaces struct{ kube *Kube }

// Namespaces returns the handle of the tests' namespaces.
func (k *Kube) Namespaces() Namespaces { return Namespaces{k} }

// Create makes a namespace in which only pods of the level "restricted" are admitted.
func (k Namespaces) Create(ctx context.Context, prefix string) (string, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: prefix + "-",
		Labels: map[string]string{
			LabelTest:                            "true",
			"pod-security.kubernetes.io/enforce": "restricted",
		},
	}}
	if err := k.kube.Create(ctx, ns); err != nil {
		return "", fmt.Errorf("creating a namespace: %w", err)
	}
	return ns.Name, nil
}

// Delete removes a namespace and all volumes that its claims held.
func (k Namespaces) Delete(ctx context.Context, name string) error {
	if err := k.BeginDelete(ctx, name); err != nil {
		return err
	}
	return k.AwaitDeleted(ctx, name)
}

// BeginDelete has a namespace removed, and does not wait: Kubernetes takes ten seconds to find out that nothing is left
// in it.
func (k Namespaces) BeginDelete(ctx context.Context, name string) error {
	err := k.kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		client.PropagationPolicy(metav1.DeletePropagationForeground))
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	// A pod that does not stop within its grace period must not hold up the tests.
	return k.forceDeletePods(ctx, name)
}

// AwaitDeleted waits until a namespace whose removal has begun is gone, and removes all volumes that its claims held.
func (k Namespaces) AwaitDeleted(ctx context.Context, name string) error {
	err := k.kube.Until(ctx, "deleting namespace "+name, 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := k.kube.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
		return apierrors.IsNotFound(err), "still there", client.IgnoreNotFound(err)
	})
	return errors.Join(err, k.deleteVolumesOf(ctx, name))
}

// DeleteLeftovers removes what interrupted runs have left.
func (k Namespaces) DeleteLeftovers(ctx context.Context) error {
	var list corev1.NamespaceList
	if err := k.kube.List(ctx, &list, client.MatchingLabels{LabelTest: "true"}); err != nil {
		return err
	}
	var errs []error
	for _, ns := range list.Items {
		k.kube.Log("removing what an earlier run has left: namespace %s", ns.Name)
		errs = append(errs, k.Delete(ctx, ns.Name))
	}
	return errors.Join(errs...)
}

func (k Namespaces) forceDeletePods(ctx context.Context, namespace string) error {
	return k.kube.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0))
}

// deleteVolumesOf removes volumes whose claim was in the namespace and that are kept by their policy.
func (k Namespaces) deleteVolumesOf(ctx context.Context, namespace string) error {
	var list corev1.PersistentVolumeList
	if err := k.kube.List(ctx, &list); err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		pv := &list.Items[i]
		ref := pv.Spec.ClaimRef
		if ref == nil || ref.Namespace != namespace ||
			pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
			continue
		}
		errs = append(errs, client.IgnoreNotFound(k.kube.Delete(ctx, pv)))
	}
	return errors.Join(errs...)
}
