package observe

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/cluster"
)

func TestPatient(t *testing.T) {
	runs := func(mode cluster.SocketMode) Seen {
		return Seen{Report: agentapi.Report{AgentVersion: "v1", Config: agentapi.ConfigReport{Socket: mode}}}
	}
	strict, dynamic := runs(cluster.SocketStrict), runs(cluster.SocketDynamic)
	for name, tc := range map[string]struct {
		publish      cluster.SocketMode
		one, two     Seen
		before, want bool
	}{
		"a quiet cluster":                    {cluster.SocketStrict, strict, strict, false, false},
		"dynamic sockets are published":      {cluster.SocketDynamic, strict, strict, false, true},
		"one still has them":                 {cluster.SocketStrict, strict, dynamic, true, true},
		"the last one was restarted":         {cluster.SocketStrict, strict, strict, true, false},
		"one is not known, after a switch":   {cluster.SocketStrict, strict, Seen{}, true, true},
		"one is not known, without a switch": {cluster.SocketStrict, strict, Seen{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &v1alpha1.GaleraCluster{}
			c.Name, c.Spec.Replicas = "shop", 2
			got := Patient(Facts{Cluster: c}, map[string]Seen{"shop-0": tc.one, "shop-1": tc.two}, tc.publish, tc.before)
			if got != tc.want {
				t.Errorf("%t, want %t", got, tc.want)
			}
		})
	}
}
