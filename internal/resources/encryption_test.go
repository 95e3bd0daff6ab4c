package resources

import (
	"reflect"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestEffective(t *testing.T) {
	policy := func(r galera.SocketMode, sst galera.ChannelPolicy, suites ...string) agentapi.TLSConfig {
		return agentapi.TLSConfig{Replication: r, StateTransfer: sst, Clients: galera.PolicyRequired, MinVersion: "1.3",
			CipherSuites: suites}
	}
	strict, plain := policy(galera.SocketStrict, galera.PolicyRequired), policy(galera.SocketPlain, galera.PolicyDisabled)
	dynamic := galera.Encryption{Socket: galera.SocketDynamic}
	for _, r := range []struct {
		name         string
		want, before agentapi.TLSConfig
		published    galera.Encryption
		effective    agentapi.TLSConfig
	}{
		{"nothing to switch", strict, plain, Encryption(strict), strict},
		{"not begun: transfers stay in clear", strict, plain, Encryption(plain), plain},
		{"on: transfers are encrypted at once", strict, plain, dynamic, policy(galera.SocketDynamic, galera.PolicyRequired)},
		{"off: transfers stay encrypted to the end", plain, strict, dynamic,
			policy(galera.SocketDynamic, galera.PolicyRequired)},
		{"off, not begun", plain, strict, Encryption(strict), strict},
		{"suites", policy(galera.SocketStrict, galera.PolicyRequired, "B"), policy(galera.SocketStrict, galera.PolicyRequired,
			"A"),
			galera.NewEncryption(galera.SocketStrict, []string{"B", "A"}), policy(galera.SocketStrict, galera.PolicyRequired,
				"A", "B")},
	} {
		if got := Effective(r.want, r.before, r.published); !reflect.DeepEqual(got, r.effective) {
			t.Errorf("%s:\n got %+v\nwant %+v", r.name, got, r.effective)
		}
	}
}
