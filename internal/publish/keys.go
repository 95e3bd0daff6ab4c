package publish

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// ensureKeys makes the encryption keys of a cluster, once. An existing Secret is never written. The cache may not know
// the volumes of an earlier cluster yet, so that the API server is asked for them. A cluster that has served has
// volumes of its own, which are in clear.
func (pub Publisher) ensureKeys(ctx context.Context, f observe.Facts) error {
	if !validate.MayMakeKeys(f) {
		return nil
	}
	if f.Cluster.Status.ClusterUUID == "" {
		var claims corev1.PersistentVolumeClaimList
		if err := pub.Readers.Live.List(ctx, &claims, client.InNamespace(f.Cluster.Namespace),
			client.MatchingLabels{v1alpha1.LabelCluster: f.Cluster.Name}, client.Limit(1)); err != nil {
			return fmt.Errorf("asking for volumes of an earlier cluster: %w", err)
		}
		if len(claims.Items) > 0 {
			return nil // the cache will have them
		}
	}
	keyFile, password, err := atrest.Make()
	if err != nil {
		return err
	}
	err = pub.Create(ctx, resources.KeysSecret(f.Cluster, keyFile, password), client.FieldOwner(ownership.FieldOwner))
	if err != nil {
		return client.IgnoreAlreadyExists(err) // read in the next pass
	}
	f.Keys.Exists = true // and is recorded in this one
	f.Keys.Fingerprints, err = atrest.Fingerprints(keyFile, password)
	return err
}
