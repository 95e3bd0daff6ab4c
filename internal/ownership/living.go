package ownership

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrOwnerEnds is returned instead of adding an owner that is deleted, or being deleted, to an object.
var ErrOwnerEnds = errors.New("the owner is being deleted")

// Living returns ErrOwnerEnds unless the API server has the owner, by its UID, and it is not being deleted. Ask it,
// past the cache, before an owner is added to an existing object. When an owner is deleted and its objects are to stay
// (--cascade=orphan), the garbage collector takes the owner from them first. An operator that gave it back from its
// cache would have them deleted after the owner. Kubernetes' own controllers ask likewise before they adopt.
func Living(ctx context.Context, live client.Reader, namespace string, owner metav1.OwnerReference) error {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
	err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: owner.Name}, o)
	switch {
	case apierrors.IsNotFound(err):
		return ErrOwnerEnds
	case err != nil:
		return fmt.Errorf("reading the owner %s %s: %w", owner.Kind, owner.Name, err)
	case o.UID != owner.UID, o.DeletionTimestamp != nil:
		return ErrOwnerEnds
	}
	return nil
}
