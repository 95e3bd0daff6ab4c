package resources

import (
	"reflect"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/cluster"
)

func TestEffective(t *testing.T) {
	policy := func(r cluster.SocketMode, sst cluster.ChannelPolicy, suites ...string) agentapi.TLSConfig {
		return agentapi.TLSConfig{Replication: r, StateTransfer: sst, Clients: cluster.PolicyRequired, MinVersion: "1.3", CipherSuites: suites}
	}
	strict, plain := policy(cluster.SocketStrict, cluster.PolicyRequired), policy(cluster.SocketPlain, cluster.PolicyDisabled)
	dynamic := cluster.Encryption{Sockets: cluster.SocketDynamic}
	for _, r := range []struct {
		name         string
		want, before agentapi.TLSConfig
		published    cluster.Encryption
		effective    agentapi.TLSConfig
	}{
		{"nothing to switch", strict, plain, Encryption(strict), strict},
		{"not begun: transfers stay in clear", strict, plain, Encryption(plain), plain},
		{"on: transfers are encrypted at once", strict, plain, dynamic, policy(cluster.SocketDynamic, cluster.PolicyRequired)},
		{"off: transfers stay encrypted to the end", plain, strict, dynamic, policy(cluster.SocketDynamic, cluster.PolicyRequired)},
		{"off, not begun", plain, strict, Encryption(strict), strict},
		{"suites", policy(cluster.SocketStrict, cluster.PolicyRequired, "B"), policy(cluster.SocketStrict, cluster.PolicyRequired, "A"),
			cluster.NewEncryption(cluster.SocketStrict, []string{"B", "A"}), policy(cluster.SocketStrict, cluster.PolicyRequired, "A", "B")},
	} {
		if got := Effective(r.want, r.before, r.published); !reflect.DeepEqual(got, r.effective) {
			t.Errorf("%s:\n got %+v\nwant %+v", r.name, got, r.effective)
		}
	}
}
