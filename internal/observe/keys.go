package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Keys is the Secret with the encryption keys: what distinguishes them, and nothing of them.
type Keys struct {
	Exists bool
	// Fingerprints of the keys by number; Problem explains why there are none.
	Fingerprints map[string]string
	Problem      string
}

// KeysForgotten reports whether the nodes have encryption keys that the status knows nothing of, as after the resource
// was created again without its status.
func KeysForgotten(f Facts) bool {
	return f.Cluster.AtRestState() == "" && resources.MountedKeys(f.StatefulSet) != ""
}

// keys reads the Secret past the cache, which keeps no keys.
func (r Readers) keys(ctx context.Context, f *Facts) error {
	c := f.Cluster
	if c.AtRest() == nil && !c.NodesHaveKeys() && !KeysForgotten(*f) {
		return nil
	}
	var s corev1.Secret
	name := resources.KeysSecretName(c)
	if c.AtRest() == nil && KeysForgotten(*f) {
		name = resources.MountedKeys(f.StatefulSet)
	}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &s)
	if apierrors.IsNotFound(err) {
		f.Keys = &Keys{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the Secret %s: %w", name, err)
	}
	f.Keys = &Keys{Exists: true}
	if f.Keys.Fingerprints, err = atrest.Fingerprints(s.Data[atrest.KeyFile], s.Data[atrest.PasswordFile]); err != nil {
		f.Keys.Problem = err.Error()
	}
	return nil
}
