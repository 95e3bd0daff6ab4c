package publish

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Prune deletes objects of features that the spec no longer asks for: exactly the objects that were seen.
func (pub Publisher) Prune(ctx context.Context, c *v1alpha1.GaleraCluster, config agentapi.NodeConfig, users bool,
	kinds []client.ObjectList) error {
	if config.Revision == "" {
		return nil // nothing was made yet
	}
	var errs []error
	for _, list := range kinds {
		if err := pub.List(ctx, list, client.InNamespace(c.Namespace),
			client.MatchingLabels{v1alpha1.LabelCluster: c.Name}); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, meta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			if o.GetDeletionTimestamp() != nil || !resources.LeftBehind(c, config, pub.Options, users, o) {
				return nil
			}
			uid := o.GetUID()
			return client.IgnoreNotFound(pub.Delete(ctx, o, client.Preconditions{UID: &uid}))
		}))
	}
	return errors.Join(errs...)
}
