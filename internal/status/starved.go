package status

import (
	"fmt"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// cpuStarved is True while a node's container waits for a processor for so long that the others may evict the node.
// Nodes whose agent does not answer are left out: why it does not is another condition's.
func cpuStarved(in Input) condition {
	var starved []string
	answers := 0
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil {
			continue
		}
		answers++
		if r.StarvedFor > 0 {
			starved = append(starved, fmt.Sprintf("%s for %.1f s", m.Name, r.StarvedFor.Seconds()))
		}
	}
	switch {
	case len(starved) == 0 && answers == 0 && !asleep(in):
		return unknown(v1alpha1.ReasonAgentUnreachable, "No agent answers.")
	case len(starved) == 0:
		return no(v1alpha1.ReasonHealthy, "Every node that answers gets processor time when it needs it.")
	}
	return yes(v1alpha1.ReasonNoProcessor, fmt.Sprintf(
		"No processor time within the last minute: %s. A node that gets none for 5 s is evicted by the others. "+
			"Raise spec.resources.requests.cpu, remove a CPU limit that throttles the node, or move other work off its host. "+
			"If a node and its clients use all processors of a host, set its spec.resources.limits.cpu below their number.",
		strings.Join(starved, ", ")))
}
