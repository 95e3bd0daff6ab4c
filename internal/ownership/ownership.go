// Package ownership makes, keeps and removes objects for one owner, and leaves those of others alone. The operator and
// the benchmarks use it.
package ownership

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldOwner is the name under which every field is applied.
const FieldOwner = "galera-operator"

// ErrForeign is returned for an object that exists and that its would-be owner does not control: it is neither changed
// nor deleted.
type ErrForeign struct{ Kind, Name string }

// Error reports which object is in the way.
func (e ErrForeign) Error() string {
	return fmt.Sprintf(
		"the %s %q exists and belongs to another owner; it is left unchanged: remove it, or use another name", e.Kind, e.Name)
}

// Own makes an object as wanted for exactly one owner. One that is not there is created, never applied: an object that
// appears meanwhile is not taken over. One that the owner controls is applied at the version that was seen.
func Own(ctx context.Context, c client.Client, live client.Reader, owner types.UID, want client.Object) error {
	have, err := Theirs(ctx, c, live, owner, want)
	switch {
	case err != nil:
		return err
	case have == nil:
		fresh := want.DeepCopyObject().(client.Object)
		return c.Create(ctx, fresh, client.FieldOwner(FieldOwner))
	}
	u, err := Desired(want)
	if err != nil {
		return err
	}
	u.SetUID(have.UID)
	u.SetResourceVersion(have.ResourceVersion)
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(FieldOwner), client.ForceOwnership)
}

// Keep makes an object that is never changed afterwards, and keeps the one that is there.
func Keep(ctx context.Context, c client.Client, live client.Reader, owner types.UID, want client.Object) error {
	have, err := Theirs(ctx, c, live, owner, want)
	if err != nil || have != nil {
		return err
	}
	return c.Create(ctx, want, client.FieldOwner(FieldOwner))
}

// Remove deletes the object that was seen to belong to the owner, and no other of its name. One of another owner is
// left alone without a word: it was never ours.
func Remove(ctx context.Context, c client.Client, live client.Reader, owner types.UID, o client.Object,
	opts ...client.DeleteOption) error {
	have, err := Theirs(ctx, c, live, owner, o)
	if foreign := (ErrForeign{}); errors.As(err, &foreign) {
		return nil
	}
	if err != nil || have == nil {
		return err
	}
	return client.IgnoreNotFound(c.Delete(ctx, o, append(opts, client.Preconditions{UID: &have.UID})...))
}

// Theirs reads what is known of an object past the cache: nil when there is none, ErrForeign when the owner does not
// control it.
func Theirs(ctx context.Context, c client.Client, live client.Reader, owner types.UID, o client.Object) (
	*metav1.PartialObjectMetadata, error) {
	kind, err := c.GroupVersionKindFor(o)
	if err != nil {
		return nil, err
	}
	have := &metav1.PartialObjectMetadata{}
	have.SetGroupVersionKind(kind)
	err = live.Get(ctx, client.ObjectKeyFromObject(o), have)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if of := metav1.GetControllerOf(have); of == nil || of.UID != owner {
		return nil, ErrForeign{Kind: kind.Kind, Name: o.GetName()}
	}
	return have, nil
}

// Desired drops what a desired state must not contain: status and empty server-set fields.
func Desired(o client.Object) (*unstructured.Unstructured, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	delete(m, "status")
	unstructured.RemoveNestedField(m, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(m, "spec", "template", "metadata", "creationTimestamp")
	if templates, ok, _ := unstructured.NestedSlice(m, "spec", "volumeClaimTemplates"); ok {
		for _, t := range templates {
			pvc := t.(map[string]any)
			delete(pvc, "status")
			unstructured.RemoveNestedField(pvc, "metadata", "creationTimestamp")
		}
		_ = unstructured.SetNestedSlice(m, templates, "spec", "volumeClaimTemplates")
	}
	return &unstructured.Unstructured{Object: m}, nil
}
