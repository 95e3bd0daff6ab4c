package publish

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// ensureKeys makes the encryption keys of a new cluster, once. An existing Secret is never written.
func (pub Publisher) ensureKeys(ctx context.Context, f observe.Facts) error {
	if !validate.MayMakeKeys(f) {
		return nil
	}
	keyFile, password, err := atrest.Make()
	if err != nil {
		return err
	}
	err = pub.Create(ctx, resources.KeysSecret(f.Cluster, keyFile, password), client.FieldOwner(apply.FieldOwner))
	if err != nil {
		return client.IgnoreAlreadyExists(err) // read in the next pass
	}
	f.Keys.Exists = true // and is recorded in this one
	f.Keys.Fingerprints, err = atrest.Fingerprints(keyFile, password)
	return err
}
