package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// change patches a cluster. Where a tool such as Argo CD or Flux owns a field, which would set it back, the patch is
// printed instead.
func (e *env) change(ctx context.Context, c *v1alpha1.GaleraCluster, patch map[string]any) error {
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	if tool := owner(c.ManagedFields, patch); tool != "" {
		_, _ = fmt.Fprintf(e.out, "%s\n", text)
		return fmt.Errorf(
			"nothing was changed: %q owns this field of %s and would set it back. Make the change where that tool takes it "+
				"from (printed above, as a merge patch)", tool, c.Name)
	}
	return e.kube.Patch(ctx, c, client.RawPatch("application/merge-patch+json", text), client.FieldOwner("kubectl-galera"))
}

// try returns the cluster as it would be with a patch. Nothing is changed.
func (e *env) try(ctx context.Context, c *v1alpha1.GaleraCluster, patch map[string]any) (*v1alpha1.GaleraCluster,
	error) {
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	out := c.DeepCopy()
	return out, e.kube.Patch(ctx, out, client.RawPatch("application/merge-patch+json", text), client.DryRunAll,
		client.FieldOwner("kubectl-galera"))
}

// owner is the manager that has applied one of the fields of a patch, "" when there is none but kubectl.
func owner(fields []metav1.ManagedFieldsEntry, patch map[string]any) string {
	for _, m := range fields {
		if m.Operation != metav1.ManagedFieldsOperationApply || m.Subresource != "" || m.FieldsV1 == nil ||
			strings.HasPrefix(m.Manager, "kubectl") {
			continue
		}
		var owned map[string]any
		if json.Unmarshal(m.FieldsV1.GetRawBytes(), &owned) == nil && overlap(owned, patch) {
			return m.Manager
		}
	}
	return ""
}

// overlap reports whether a patch changes an owned field. In managed fields the field x is called f:x.
func overlap(owned, patch map[string]any) bool {
	for name, value := range patch {
		under, is := owned["f:"+name].(map[string]any)
		if !is {
			continue
		}
		deeper, nested := value.(map[string]any)
		if !nested || len(under) == 0 || overlap(under, deeper) {
			return true
		}
	}
	return false
}

// forGood keeps an error that no waiting ends: what is not there, or not permitted.
func forGood(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return err
	}
	return nil
}
