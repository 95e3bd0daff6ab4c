package observe

import (
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/resources"
)

// Size is the recorded number of members. Without a record, as after a loss of the status, it is the
// largest number found in the spec, the StatefulSet or the volumes: a volume that is not counted could
// hold the last writes. So each one is examined before a member is bootstrapped; superfluous members
// are removed gracefully afterwards.
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
