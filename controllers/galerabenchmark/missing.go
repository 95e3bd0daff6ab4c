package galerabenchmark

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// missing says what the benchmark's Jobs would wait for in vain: kubelet would tell it in events only.
func (r *Reconciler) missing(ctx context.Context, b *v1alpha1.GaleraBenchmark) (string, error) {
	if r.Image == "" && b.Spec.Client.Image == "" {
		return "there is no image with the load generator: set spec.client.image, or the operator's --benchmark-image", nil
	}
	for _, w := range b.Spec.Workloads {
		if w.OLTP == nil || w.OLTP.Script == nil {
			continue
		}
		script, cm := w.OLTP.Script, &corev1.ConfigMap{}
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: script.Name}, cm)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Sprintf("the workload %s needs the ConfigMap %q, which does not exist", w.Name, script.Name), nil
		case err != nil:
			return "", err
		case cm.Data[script.Key] == "":
			return fmt.Sprintf("the workload %s needs the key %q of the ConfigMap %q, which is not there or empty", w.Name, script.Key, script.Name), nil
		}
	}
	return "", nil
}
