package observe

import (
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/resources"
)

// Size is the number of members: what was recorded. Before anything was, and after the status was
// lost, it is the largest number for which there is any sign: the spec, the StatefulSet, or a volume.
// A volume nobody counts could hold what was written last, so each one is looked at before any member
// is made the start of the cluster; what is too many leaves in good order afterwards.
func Size(f Facts) int {
	c := f.Cluster
	if c.Status.Replicas > 0 {
		return int(c.Status.Replicas)
	}
	size := int(c.Spec.Replicas)
	if f.StatefulSet != nil && f.StatefulSet.Spec.Replicas != nil {
		size = max(size, int(*f.StatefulSet.Spec.Replicas))
	}
	for name := range f.Claims {
		if n, ok := ordinal(name, resources.ClaimName(c, 0)); ok {
			size = max(size, n+1)
		}
	}
	return min(size, resources.MaxReplicas)
}

// ordinal reads the number at the end of a name that is made like the one of number 0.
func ordinal(name, zero string) (int, bool) {
	text, ok := strings.CutPrefix(name, strings.TrimSuffix(zero, "0"))
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == text
}
