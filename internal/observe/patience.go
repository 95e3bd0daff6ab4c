package observe

import (
	"github.com/galera-operator/galera-operator/internal/cluster"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Patient says that members are to be patient with silent ones: from the moment in which dynamic sockets are
// published until no member has them any more. Of one whose agent has never answered nothing is known,
// and patience stays what it was.
func Patient(f Facts, seen map[string]Seen, published cluster.SocketMode, before bool) bool {
	if published == cluster.SocketDynamic {
		return true
	}
	unknown := false
	for i := range Size(f) {
		s, ok := seen[resources.PodName(f.Cluster, i)]
		if s.Report.Config.Socket == cluster.SocketDynamic {
			return true
		}
		unknown = unknown || !ok || s.Report.AgentVersion == ""
	}
	return unknown && before
}
