package observe

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hosts reads which hosts of the pods are cordoned.
func (r Readers) hosts(ctx context.Context, f *Facts) error {
	var errs []error
	f.Cordoned = map[string]bool{}
	for _, p := range f.Pods {
		if p.Spec.NodeName == "" {
			continue
		}
		host := &corev1.Node{}
		err := r.Cached.Get(ctx, client.ObjectKey{Name: p.Spec.NodeName}, host)
		errs = append(errs, client.IgnoreNotFound(err))
		f.Cordoned[p.Spec.NodeName] = err == nil && host.Spec.Unschedulable
	}
	return errors.Join(errs...)
}
