package api

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
)

// benchmark makes a resource of what a user writes under spec; what is left out is as in a good one.
func benchmark(t *testing.T, name string, parts map[string]string) *unstructured.Unstructured {
	t.Helper()
	good := map[string]string{
		"cluster":   `{template: {storage: {size: 1Gi}}}`,
		"arms":      `[{name: plain, tls: {replication: Disabled}}, {name: encrypted}]`,
		"workloads": `[{name: write, oltp: {profile: WriteOnly}}]`,
	}
	if strings.Contains(parts["cluster"], "ref:") {
		good["arms"] = `[{name: own}]`
	}
	for k, v := range parts {
		good[k] = v
	}
	spec := map[string]any{}
	for k, v := range good {
		if v == "" {
			continue
		}
		var value any
		must(t, yaml.Unmarshal([]byte(v), &value))
		spec[k] = value
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetAPIVersion(v1alpha1.GroupVersion.String())
	u.SetKind("GaleraBenchmark")
	u.SetNamespace("default")
	u.SetName(name)
	return u
}

func TestBenchmarkAdmission(t *testing.T) {
	type parts = map[string]string
	for name, tc := range map[string]struct {
		spec parts
		want string
	}{
		"the least one can write": {nil, ""},
		"an existing cluster":     {parts{"cluster": `{ref: {name: shop}}`}, ""},
		"a sweep":                 {parts{"workloads": `[{name: w, oltp: {profile: ReadWrite, threads: [1, 8, 32], duration: 30s, warmup: 0s}}]`}, ""},
		"all kinds":               {parts{"workloads": `[{name: a, oltp: {profile: PointSelect}}, {name: b, connect: {tlsVersions: ["1.2", "1.3"]}}, {name: c, stateTransfer: {methods: [MariaBackup, Rsync]}}]`}, ""},
		"arms of an existing cluster": {parts{"cluster": `{ref: {name: shop}}`, "arms": `[{name: a}, {name: b}]`},
			"is measured as it is"},
		"a policy of an existing cluster": {parts{"cluster": `{ref: {name: shop}}`,
			"arms": `[{name: a, tls: {replication: Disabled}}]`}, "is measured as it is"},
		"neither template nor ref": {parts{"cluster": `{}`}, "exactly one of template"},
		"template and ref": {parts{"cluster": `{ref: {name: shop}, template: {storage: {size: 1Gi}}}`},
			"exactly one of template"},
		"a template that cannot be applied": {parts{"cluster": `{template: {replicas: 2, storage: {size: 1Gi}}}`},
			"replicas must be 1, 3, 5 or 7"},
		"no arms":          {parts{"arms": `[]`}, "at least 1 items"},
		"no workloads":     {parts{"workloads": `[]`}, "at least 1 items"},
		"arms of one name": {parts{"arms": `[{name: a}, {name: a}]`}, "Duplicate value"},
		"workloads of one name": {parts{"workloads": `[{name: a, connect: {}}, {name: a, connect: {}}]`},
			"Duplicate value"},
		"a workload of no kind": {parts{"workloads": `[{name: a}]`},
			"exactly one of oltp, connect, resultSize, operation, stateTransfer and cipher"},
		"a workload of two kinds": {parts{"workloads": `[{name: a, connect: {}, oltp: {profile: ReadOnly}}]`},
			"exactly one of oltp, connect, resultSize, operation, stateTransfer and cipher"},
		"unknown profile": {parts{"workloads": `[{name: a, oltp: {profile: Fast}}]`}, "supported values"},
		"duration and events": {parts{"workloads": `[{name: a, oltp: {profile: ReadOnly, duration: 5s, events: 5}}]`},
			"not both"},
		"no time at all": {parts{"workloads": `[{name: a, oltp: {profile: ReadOnly, duration: 0s}}]`},
			"duration must be 1s to 2h"},
		"no threads": {parts{"workloads": `[{name: a, oltp: {profile: ReadOnly, threads: []}}]`},
			"at least 1 items"},
		"too many threads": {parts{"workloads": `[{name: a, oltp: {profile: ReadOnly, threads: [5000]}}]`},
			"less than or equal to 1024"},
		"the same threads twice": {parts{"workloads": `[{name: a, oltp: {profile: ReadOnly, threads: [8, 8]}}]`},
			"Duplicate value"},
		"a proxy":       {parts{"workloads": `[{name: a, connect: {via: PoolingProxy, proxy: {image: "proxysql:2"}, tlsVersions: ["1.3"], latency: [0s]}}]`}, ""},
		"a GaleraProxy": {parts{"workloads": `[{name: a, connect: {via: GaleraProxy, proxyRef: {name: pool}}}]`}, ""},
		"a GaleraProxy without a name": {parts{"workloads": `[{name: a, connect: {via: GaleraProxy}}]`},
			"via GaleraProxy needs proxyRef"},
		"a GaleraProxy of a direct way": {parts{"workloads": `[{name: a, connect: {proxyRef: {name: pool}}}]`},
			"only GaleraProxy takes one"},
		"a GaleraProxy far away": {parts{"workloads": `[{name: a, connect: {via: GaleraProxy, proxyRef: {name: pool}, latency: [40ms]}}]`},
			"clients speak with the proxy"},
		"a GaleraProxy that resumes": {parts{"workloads": `[{name: a, connect: {via: GaleraProxy, proxyRef: {name: pool}, sessionResumption: ["On"]}}]`},
			"clients speak with the proxy"},
		"a proxy without an image": {parts{"workloads": `[{name: a, connect: {via: PoolingProxy}}]`},
			"via PoolingProxy needs proxy with an image"},
		"a proxy with no image": {parts{"workloads": `[{name: a, connect: {via: PoolingProxy, proxy: {image: ""}}}]`},
			"at least 1 chars"},
		"a proxy nothing goes through": {parts{"workloads": `[{name: a, connect: {proxy: {image: "proxysql:2"}}}]`},
			"only PoolingProxy takes one"},
		"transactions through a proxy":       {parts{"workloads": `[{name: a, oltp: {profile: ReadWrite, target: Primary, via: PoolingProxy, proxy: {image: x}}}]`}, ""},
		"transactions through a GaleraProxy": {parts{"workloads": `[{name: a, oltp: {profile: ReadWrite, target: Primary, via: GaleraProxy, proxyRef: {name: x}}}]`}, ""},
		"transactions without its image":     {parts{"workloads": `[{name: a, oltp: {profile: ReadWrite, target: Primary, via: PoolingProxy}}]`}, "via PoolingProxy needs proxy"},
		"transactions without its name":      {parts{"workloads": `[{name: a, oltp: {profile: ReadWrite, target: Primary, via: GaleraProxy}}]`}, "via GaleraProxy needs proxyRef"},
		"transactions to many":               {parts{"workloads": `[{name: a, oltp: {profile: ReadWrite, via: GaleraProxy, proxyRef: {name: x}}}]`}, "target must be Primary"},
		"a proxy far away":                   {parts{"workloads": `[{name: a, connect: {via: PoolingProxy, proxy: {image: "proxysql:2"}, latency: [0s, 40ms]}}]`}, "with via PoolingProxy it must be 0s"},
		"a proxy to many":                    {parts{"workloads": `[{name: a, connect: {via: PoolingProxy, proxy: {image: "proxysql:2"}, target: AllNodes}}]`}, "with via PoolingProxy target must be Primary"},
		"a proxy's version of TLS":           {parts{"workloads": `[{name: a, connect: {via: PoolingProxy, proxy: {image: "proxysql:2"}, tlsVersions: ["1.2", "1.3"]}}]`}, "with via PoolingProxy tlsVersions must be left out"},
		"a proxy that resumes":               {parts{"workloads": `[{name: a, connect: {via: PoolingProxy, proxy: {image: "proxysql:2"}, sessionResumption: ["Off", "On"]}}]`}, "with via PoolingProxy sessionResumption must be left out"},
		"no such way": {parts{"workloads": `[{name: a, connect: {via: Pigeon}}]`},
			`supported values: "Direct", "SSHTunnel", "WireGuard", "PoolingProxy", "GaleraProxy"`},
		"an SSH tunnel": {parts{"workloads": `[{name: a, connect: {via: SSHTunnel, sessionResumption: ["Off", "On"], tlsVersions: ["1.2", "1.3"], latency: [0s, 0ms]}}]`}, ""},
		"an SSH tunnel of some length": {parts{"workloads": `[{name: a, connect: {via: SSHTunnel, latency: [0s, 40ms]}}]`},
			"with via SSHTunnel or WireGuard it must be 0s"},
		"an SSH tunnel to many": {parts{"workloads": `[{name: a, connect: {via: SSHTunnel, target: AllNodes}}]`},
			"with via SSHTunnel or WireGuard target must be Primary"},
		"a VPN": {parts{"workloads": `[{name: a, connect: {via: WireGuard, tlsVersions: ["1.2", "1.3"]}}]`}, ""},
		"a VPN of some length": {parts{"workloads": `[{name: a, connect: {via: WireGuard, latency: [40ms]}}]`},
			"with via SSHTunnel or WireGuard it must be 0s"},
		"a VPN to many": {parts{"workloads": `[{name: a, connect: {via: WireGuard, target: AllNodes}}]`},
			"with via SSHTunnel or WireGuard target must be Primary"},
		"a VPN with SSH's ciphers": {parts{"workloads": `[{name: a, connect: {via: WireGuard, sshCiphers: [aes256-ctr]}}]`},
			"set via SSHTunnel, or leave them out"},
		"SSH's ciphers": {parts{"workloads": `[{name: a, connect: {via: SSHTunnel, sshCiphers: [aes256-ctr, aes256-cbc, "chacha20-poly1305@openssh.com"]}}]`}, ""},
		"SSH's ciphers without SSH": {parts{"workloads": `[{name: a, connect: {sshCiphers: [aes256-ctr]}}]`},
			"set via SSHTunnel, or leave them out"},
		"a cipher SSH has not": {parts{"workloads": `[{name: a, connect: {via: SSHTunnel, sshCiphers: [rot13]}}]`},
			"supported values"},
		"a silent client": {parts{"workloads": `[{name: a, connect: {query: None}}]`}, ""},
		"a client that sends more": {parts{"workloads": `[{name: a, connect: {query: Select2}}]`},
			`supported values: "Select1", "None"`},
		"key exchanges":                {parts{"workloads": `[{name: a, connect: {keyExchanges: [X25519MLKEM768, X25519, P-256]}}]`}, ""},
		"a key exchange of 1.3 in 1.2": {parts{"workloads": `[{name: a, connect: {keyExchanges: [X25519MLKEM768], tlsVersions: ["1.2"]}}]`}, "X25519MLKEM768 exists in TLS 1.3 only"},
		"older ones in 1.2":            {parts{"workloads": `[{name: a, connect: {keyExchanges: [X25519, P-256], tlsVersions: ["1.2", "1.3"]}}]`}, ""},
		"an unknown key exchange": {parts{"workloads": `[{name: a, connect: {keyExchanges: [MLKEM512]}}]`},
			"supported values"},
		"a proxy's key exchange": {parts{"workloads": `[{name: a, connect: {via: PoolingProxy, proxy: {image: x}, keyExchanges: [X25519]}}]`}, "with via PoolingProxy keyExchanges must be left out"},
		"many key exchanges": {parts{"arms": `[{name: a}, {name: b}, {name: c}, {name: d}, {name: e}]`,
			"workloads": `[{name: w, connect: {threads: [1, 2, 3, 4], keyExchanges: [X25519MLKEM768, X25519, P-256]}}]`},
			"more than 56 combinations"},
		"answers": {parts{"workloads": `[{name: a, resultSize: {}}]`}, ""},
		"empty answers": {parts{"workloads": `[{name: a, resultSize: {sizes: [0]}}]`},
			"greater than or equal to 1"},
		"an answer above the packet": {parts{"workloads": `[{name: a, resultSize: {sizes: [8388609]}}]`},
			"less than or equal to 8388608"},
		"answers for less": {parts{"workloads": `[{name: a, resultSize: {duration: 1500ms}}]`},
			"duration must be 1s to 2h, in whole seconds"},
		"answers and a load": {parts{"workloads": `[{name: a, resultSize: {}, connect: {}}]`},
			"exactly one of oltp, connect, resultSize, operation, stateTransfer and cipher"},
		"many answers": {parts{"arms": `[{name: a}, {name: b}, {name: c}, {name: d}]`,
			"workloads": `[{name: w, resultSize: {sizes: [1, 2, 3], threads: [1, 2, 3, 4, 5]}}]`}, "more than 56 combinations"},
		"operations": {parts{"cluster": `{template: {replicas: 3, storage: {size: 1Gi}}}`,
			"workloads": `[{name: a, operation: {}}]`}, ""},
		"a renewal of one node": {parts{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
			"workloads": `[{name: a, operation: {operations: [Renewal]}}]`}, ""},
		"a promotion of the only node": {parts{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
			"workloads": `[{name: a, operation: {operations: [Renewal, Promotion]}}]`},
			"Restart, Promotion, Switch, JoinIST and JoinSST need another node"},
		"all operations": {parts{"cluster": `{template: {replicas: 3, storage: {size: 1Gi}}}`,
			"workloads": `[{name: a, operation: {operations: [Renewal, Restart, Promotion, Switch, JoinIST, JoinSST, Backup], storeRef: {name: offsite}}}]`}, ""},
		"a backup to nowhere": {parts{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
			"workloads": `[{name: a, operation: {operations: [Backup]}}]`}, "the operation Backup needs storeRef"},
		"a store for no backup": {parts{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
			"workloads": `[{name: a, operation: {operations: [Renewal], storeRef: {name: offsite}}}]`}, "only Backup takes one"},
		"a backup of one node": {parts{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
			"workloads": `[{name: a, operation: {operations: [Backup], storeRef: {name: offsite}}}]`}, ""},
		"a join of the only node": {parts{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
			"workloads": `[{name: a, operation: {operations: [JoinIST]}}]`}, "need another node"},
		"operations of a user's": {parts{"cluster": `{ref: {name: shop}}`,
			"workloads": `[{name: a, operation: {}}]`}, "an operation workload restarts nodes and moves the primary"},
		"an unknown operation": {parts{"workloads": `[{name: a, operation: {operations: [Explosion]}}]`},
			"supported values"},
		"many operations": {parts{"cluster": `{template: {replicas: 3, storage: {size: 1Gi}}}`,
			"arms":      `[{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}]`,
			"workloads": `[{name: a, operation: {}}, {name: b, operation: {}}, {name: c, operation: {}}]`},
			"more than 56 combinations"},
		"a cipher alone": {parts{"workloads": `[{name: a, cipher: {}}]`}, ""},
		"an unknown cipher": {parts{"workloads": `[{name: a, cipher: {ciphers: [DES]}}]`},
			"supported values"},
		"a cipher for hours": {parts{"workloads": `[{name: a, cipher: {duration: 2h}}]`},
			"duration must be 1s to 60s, in whole seconds"},
		"a cipher for less": {parts{"workloads": `[{name: a, cipher: {duration: 500ms}}]`},
			"duration must be 1s to 60s, in whole seconds"},
		"a cipher and a load": {parts{"workloads": `[{name: a, cipher: {}, connect: {}}]`},
			"exactly one of oltp, connect, resultSize, operation, stateTransfer and cipher"},
		"ciphers count once": {parts{"arms": `[{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}]`,
			"workloads": `[{name: w, oltp: {profile: ReadWrite, threads: [1, 2, 3, 4, 5, 6, 7]}}, {name: c, cipher: {}}]`}, ""},
		"too many ciphers": {parts{"arms": `[{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}]`,
			"workloads": `[{name: w, oltp: {profile: ReadWrite, threads: [1, 2, 3, 4, 5, 6, 7]}}, {name: c, cipher: {}}, {name: d, cipher: {}}]`}, "more than 56 combinations"},
		"many of SSH's ciphers": {parts{"arms": `[{name: a}, {name: b}, {name: c}]`,
			"workloads": `[{name: w, connect: {via: SSHTunnel, threads: [1, 2, 3, 4], sshCiphers: [aes256-ctr, aes256-cbc, aes128-ctr, "aes128-gcm@openssh.com", "aes256-gcm@openssh.com"]}}]`}, "more than 56 combinations"},
		"an arm without acceleration": {parts{"arms": `[{name: a}, {name: b, cpuAcceleration: "Off"}]`}, ""},
		"restarts of a guest": {parts{"cluster": `{ref: {name: shop}}`,
			"arms": `[{name: a, cpuAcceleration: "Off"}]`}, "it needs a private cluster"},
		"acceleration of both": {parts{"arms": `[{name: a, cpuAcceleration: "Off"}]`,
			"workloads": `[{name: b, stateTransfer: {cpuAcceleration: ["On", "Off"]}}]`}, "not of both"},
		"acceleration of the arm": {parts{"arms": `[{name: a, cpuAcceleration: "Off"}]`,
			"workloads": `[{name: b, stateTransfer: {}}, {name: c, cipher: {}}]`}, ""},
		"no such acceleration": {parts{"arms": `[{name: a, cpuAcceleration: Half}]`}, "supported values"},
		"several databases":    {parts{"workloads": `[{name: b, stateTransfer: {databases: 4, methods: [Rsync], parallel: [1, 4]}}]`}, ""},
		"databases without end": {parts{"workloads": `[{name: b, stateTransfer: {databases: 17}}]`},
			"less than or equal to 16"},
		"rsync's threads count": {parts{"arms": `[{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}, {name: h}]`, "workloads": `[{name: b, stateTransfer: {databases: 4, methods: [Rsync], parallel: [1, 2, 3, 4], cpuAcceleration: ["On", "Off"]}}]`}, "more than 56 combinations"},
		"one rsync counts once": {parts{"arms": `[{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}, {name: h}]`, "workloads": `[{name: b, stateTransfer: {methods: [Rsync], parallel: [1, 2, 3, 4], cpuAcceleration: ["On", "Off"]}}]`}, ""},
		"long latency": {parts{"workloads": `[{name: a, connect: {latency: [10s]}}]`},
			"latency must be 0s to 5s"},
		"a comparison": {parts{"arms": `[{name: a}, {name: b}]`, "workloads": `[{name: w, connect: {}}]`,
			"compare": `[{of: {workload: w, arm: a}, with: {arm: b}}]`}, ""},
		"a comparison with itself": {parts{"arms": `[{name: a}]`, "workloads": `[{name: w, connect: {}}]`,
			"compare": `[{of: {workload: w, arm: a}, with: {}}]`}, "with must differ from of"},
		"a comparison of no arm": {parts{"arms": `[{name: a}]`, "workloads": `[{name: w, connect: {}}]`,
			"compare": `[{of: {workload: w, arm: z}, with: {arm: a}}]`}, "compare must name arms and workloads"},
		"a comparison with no workload": {parts{"arms": `[{name: a}]`, "workloads": `[{name: w, connect: {}}]`,
			"compare": `[{of: {workload: w, arm: a}, with: {workload: z}}]`}, "compare must name arms and workloads"},
		"no rounds":          {parts{"rounds": `-1`}, "greater than or equal to 1"},
		"rounds without end": {parts{"rounds": `100`}, "less than or equal to 20"},
		"ECDSA of RSA's size": {parts{"arms": `[{name: a, tls: {privateKey: {algorithm: ECDSA, size: 4096}}}]`},
			"size must be 256 or 384 for ECDSA"},
		"transfer of a user's data": {parts{"cluster": `{ref: {name: shop}}`,
			"workloads": `[{name: a, stateTransfer: {}}]`}, "needs a private cluster"},
		"a template for ever": {parts{"cluster": `{template: {storage: {size: 1Gi}, deletionProtection: true}}`},
			"deletionProtection must be false"},
		"a transfer without a giver": {parts{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
			"workloads": `[{name: a, connect: {}}, {name: b, stateTransfer: {}}]`}, "it needs a cluster of two nodes at least"},
		"a transfer between two": {parts{"cluster": `{template: {replicas: 2, arbitrator: {enabled: true}, storage: {size: 1Gi}}}`, "workloads": `[{name: b, stateTransfer: {}}]`}, ""},
		"rsync with a brake": {parts{"cluster": `{template: {storage: {size: 1Gi}, stateTransfer: {rateLimit: 50Mi}}}`,
			"workloads": `[{name: b, stateTransfer: {methods: [MariaBackup, Rsync]}}]`},
			"work with the method MariaBackup only"},
		"rsync, compressed":        {parts{"cluster": `{template: {storage: {size: 1Gi}, stateTransfer: {compression: Zstd}}}`, "workloads": `[{name: b, stateTransfer: {methods: [Rsync]}}]`}, "work with the method MariaBackup only"},
		"rsync with nothing of it": {parts{"cluster": `{template: {storage: {size: 1Gi}, stateTransfer: {compression: None}}}`, "workloads": `[{name: b, stateTransfer: {methods: [Rsync]}}]`}, ""},
		"a backup with a brake": {parts{"cluster": `{template: {storage: {size: 1Gi}, stateTransfer: {rateLimit: 50Mi}}}`,
			"workloads": `[{name: b, stateTransfer: {}}]`}, ""},
		"giver of its own":         {parts{"cluster": `{template: {storage: {size: 1Gi}, stateTransfer: {donors: [valid-db-1]}}}`}, ""},
		"giver of another cluster": {parts{"cluster": `{template: {storage: {size: 1Gi}, stateTransfer: {donors: [shop-1]}}}`}, "NAME-db-0 to NAME-db-6"},
		"giver there can never be": {parts{"cluster": `{template: {storage: {size: 1Gi}, stateTransfer: {donors: [valid-db-7]}}}`}, "NAME-db-0 to NAME-db-6"},
		"kept for a week":          {parts{"ttlAfterFinished": `168h`}, ""},
		"not kept at all":          {parts{"ttlAfterFinished": `0s`}, ""},
		"kept for days": {parts{"ttlAfterFinished": `7d`},
			"in hours, minutes and seconds (168h, not 7d)"},
		"gone before its end": {parts{"ttlAfterFinished": `-1h`}, "ttlAfterFinished must be 0s or more"},
		"half a second more": {parts{"workloads": `[{name: a, oltp: {profile: ReadOnly, duration: 1500ms}}]`},
			"duration must be 1s to 2h, in whole seconds"},
		"half a second of warm-up": {parts{"workloads": `[{name: a, oltp: {profile: ReadOnly, warmup: 0.5s}}]`},
			"warmup must be 0s to 1h, in whole seconds"},
		"connections for a moment more": {parts{"workloads": `[{name: a, connect: {duration: 1500ms}}]`},
			"duration must be 1s to 2h, in whole seconds"},
		"whole seconds": {parts{"workloads": `[{name: a, oltp: {profile: ReadOnly, duration: 2000ms, warmup: 1m0s}}]`}, ""},
		"a run of days": {parts{"workloads": `[{name: a, oltp: {profile: ReadOnly, duration: 1d}}]`},
			"type conversion error"},
		"a warmup of days": {parts{"workloads": `[{name: a, oltp: {profile: ReadOnly, warmup: 1d}}]`},
			"type conversion error"},
		"connections for days": {parts{"workloads": `[{name: a, connect: {duration: 1d}}]`},
			"type conversion error"},
		"a matrix without end": {parts{
			"arms":      `[{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}, {name: h}]`,
			"workloads": `[{name: w, oltp: {profile: ReadWrite, threads: [1, 2, 3, 4, 5, 6, 7, 8]}}]`,
		}, "more than 56 combinations"},
	} {
		t.Run(name, func(t *testing.T) {
			mustSay(t, kube.Create(context.Background(), benchmark(t, "valid", tc.spec), client.DryRunAll), tc.want)
		})
	}
	mustSay(t, kube.Create(context.Background(), benchmark(t, strings.Repeat("a", 35), nil), client.DryRunAll),
		"at most 34 lower-case letters")
}

func TestBenchmarkDefaults(t *testing.T) {
	ctx := context.Background()
	u := benchmark(t, "defaults",
		map[string]string{"workloads": `[{name: a, oltp: {profile: ReadOnly}}, {name: b, connect: {}}, {name: c, stateTransfer: {}}, {name: d, cipher: {}}, {name: e, resultSize: {}}]`})
	must(t, kube.Create(ctx, u))
	t.Cleanup(func() { _ = kube.Delete(ctx, u) })
	b := &v1alpha1.GaleraBenchmark{}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(u), b))
	s := b.Spec
	if s.Rounds != 6 || s.Seed != 1 || *s.MaxRetries != 2 || *s.MaxFailedPercent != 5 {
		t.Errorf("defaults: %+v", s)
	}
	o, c, x := s.Workloads[0].OLTP, s.Workloads[1].Connect, s.Workloads[2].StateTransfer
	if o.Tables != 4 || o.TableSize != 100000 || o.Threads[0] != 8 || o.Warmup.Seconds() != 5 || o.Target != "AllNodes" ||
		o.Via != "Direct" ||
		o.Distribution != "Uniform" {
		t.Errorf("oltp: %+v", o)
	}
	if c.Via != "Direct" || c.Query != "Select1" || c.SSHCiphers != nil || c.TLSVersions[0] != "1.3" ||
		c.SessionResumption[0] != "Off" || c.Latency[0] != "0s" || c.Target != "Primary" {
		t.Errorf("connect: %+v", c)
	}
	if d := s.Workloads[3].Cipher; len(d.Ciphers) != 3 || len(d.CPUAcceleration) != 2 || d.Duration.Seconds() != 1 ||
		s.Arms[0].CPUAcceleration != "On" {
		t.Errorf("cipher: %+v of %+v", d, s.Arms)
	}
	if r := s.Workloads[4].ResultSize; len(r.Sizes) != 3 || r.Sizes[2] != 1<<20 || r.Threads[0] != 4 ||
		r.Target != "Primary" || c.KeyExchanges != nil {
		t.Errorf("resultSize: %+v, keyExchanges: %v", r, c.KeyExchanges)
	}
	if x.Databases != 1 || x.Methods[0] != "MariaBackup" || x.Parallel[0] != 4 ||
		x.CPUAcceleration[0] != "On" {
		t.Errorf("stateTransfer: %+v", x)
	}
}

// TestBenchmarkSteps: every step can be written into the journal.
func TestBenchmarkSteps(t *testing.T) {
	ctx := context.Background()
	u := benchmark(t, "steps", nil)
	must(t, kube.Create(ctx, u))
	t.Cleanup(func() { _ = kube.Delete(ctx, u) })
	for _, step := range []string{experiment.StepSwitch, experiment.StepPrepare, experiment.StepMeasure,
		experiment.StepTransfer,
		experiment.StepOperation, experiment.StepSwitchBack} {
		b := &v1alpha1.GaleraBenchmark{}
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(u), b))
		b.Status.Run = &v1alpha1.BenchmarkRun{Index: 1, Attempt: 1, Round: 1, Arm: "plain", Workload: "write", Step: step,
			StartedAt: metav1.Now()}
		if err := kube.Status().Update(ctx, b); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
}

func TestBenchmarkImmutable(t *testing.T) {
	ctx := context.Background()
	u := benchmark(t, "fixed", nil)
	must(t, kube.Create(ctx, u))
	t.Cleanup(func() { _ = kube.Delete(ctx, u) })
	for name, tc := range map[string]struct {
		change func(*v1alpha1.GaleraBenchmarkSpec)
		want   string
	}{
		"compare": {func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Compare = []v1alpha1.BenchmarkCompare{{Of: v1alpha1.BenchmarkCell{Workload: s.Workloads[0].Name,
				Arm: s.Arms[0].Name}, With: v1alpha1.BenchmarkCellPart{Arm: new(s.Arms[1].Name)}}}
		}, "compare cannot be changed"},
		"rounds": {func(s *v1alpha1.GaleraBenchmarkSpec) { s.Rounds = 7 }, "cannot be changed"},
		"arms":   {func(s *v1alpha1.GaleraBenchmarkSpec) { s.Arms[0].TLS.Replication = "Required" }, "cannot be changed"},
		"cluster": {func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Cluster = v1alpha1.BenchmarkCluster{Ref: &v1alpha1.BenchmarkClusterRef{Name: "shop"}}
		}, "cannot be replaced"},
		"client's image": {func(s *v1alpha1.GaleraBenchmarkSpec) { s.Client.Image = "other" },
			"client, maxRetries and maxFailedPercent cannot be changed"},
		"client's resources": {func(
			s *v1alpha1.GaleraBenchmarkSpec) {
			s.Client.Resources.Limits = corev1.ResourceList{"cpu": oneGi}
		}, "client, maxRetries and maxFailedPercent cannot be changed"},
		"maxRetries": {func(s *v1alpha1.GaleraBenchmarkSpec) { s.MaxRetries = new(int32(9)) },
			"maxRetries and maxFailedPercent cannot be changed"},
		"maxFailedPercent": {func(s *v1alpha1.GaleraBenchmarkSpec) { s.MaxFailedPercent = new(int32(90)) },
			"maxRetries and maxFailedPercent cannot be changed"},
		"suspend": {func(s *v1alpha1.GaleraBenchmarkSpec) { s.Suspend = true }, ""},
		"ttl": {func(s *v1alpha1.GaleraBenchmarkSpec) { s.TTLAfterFinished = &metav1.Duration{Duration: 1} },
			""},
	} {
		b := &v1alpha1.GaleraBenchmark{}
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(u), b))
		tc.change(&b.Spec)
		t.Run(name, func(t *testing.T) { mustSay(t, kube.Update(ctx, b, client.DryRunAll), tc.want) })
	}
	guest := benchmark(t, "fixed-guest", map[string]string{"cluster": `{ref: {name: shop}}`})
	must(t, kube.Create(ctx, guest))
	t.Cleanup(func() { _ = kube.Delete(ctx, guest) })
	other := guest.DeepCopy()
	must(t, unstructured.SetNestedField(other.Object, "other", "spec", "cluster", "ref", "name"))
	mustSay(t, kube.Update(ctx, other, client.DryRunAll), "cannot be replaced")
}

// TestBenchmarkNotYetObserved: one that no program has seen is not taken for a finished one.
func TestBenchmarkNotYetObserved(t *testing.T) {
	u := benchmark(t, "not-observed", nil)
	must(t, kube.Create(t.Context(), u))
	b := &v1alpha1.GaleraBenchmark{}
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(u), b))
	if got := b.Status.ObservedGeneration; got != -1 {
		t.Errorf("a benchmark that was never seen has observedGeneration %d, want -1", got)
	}
}
