package validate

import (
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// PodMetadata reports labels and annotations of spec.podTemplate that the administrator does not allow, nil when there
// are none.
func PodMetadata(c *v1alpha1.GaleraCluster, opts resources.Options) *Problem {
	labels, annotations := resources.RefusedPodMetadata(c, opts)
	var refused []string
	for _, part := range []struct {
		field, flag string
		keys        []string
	}{{"labels", "--allow-pod-labels", labels}, {"annotations", "--allow-pod-annotations", annotations}} {
		if len(part.keys) > 0 {
			refused = append(refused, fmt.Sprintf("spec.podTemplate.%s must not contain %s (%s)", part.field,
				strings.Join(part.keys, ", "), part.flag))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return blocked(v1alpha1.ReasonPodMetadataRefused, strings.Join(refused, "; ")+
		". Such a key can give the pods rights that this namespace has not granted. "+
		"Remove it, or ask the administrator to allow it with the operator's flag; until then pods keep the labels and "+
		"annotations they have, and a new cluster is not started")
}
