package api

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestAdmission writes resources as a user would, and reads what the API answers.
func TestAdmission(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"the least one can write":     {`storage: {size: 1Gi}`, ""},
		"everything off":              {`{storage: {size: 1Gi}, tls: {replication: Disabled, stateTransfer: Disabled, clients: Disabled}}`, ""},
		"settings of both kinds":      {`{storage: {size: 1Gi}, mariadb: {config: {max_connections: 300, innodb_buffer_pool_size: 1G}}}`, ""},
		"named suite":                 {`{storage: {size: 1Gi}, tls: {cipher: TLS_CHACHA20_POLY1305_SHA256}}`, ""},
		"two nodes":                   {`{replicas: 2, storage: {size: 1Gi}}`, "replicas must be 1, 3, 5 or 7"},
		"nine nodes":                  {`{replicas: 9, storage: {size: 1Gi}}`, "replicas must be 1, 3, 5 or 7"},
		"two nodes and an arbitrator": {`{replicas: 2, storage: {size: 1Gi}, arbitrator: {enabled: true, resources: {limits: {memory: 64Mi}}, scheduling: {nodeSelector: {zone: c}}}}`, ""},
		"six nodes and an arbitrator": {`{replicas: 6, storage: {size: 1Gi}, arbitrator: {enabled: true}}`, ""},
		"an arbitrator that is not enabled": {`{replicas: 2, storage: {size: 1Gi}, arbitrator: {}}`,
			"unless spec.arbitrator.enabled adds a vote"},
		"an odd number and an arbitrator": {`{replicas: 3, storage: {size: 1Gi}, arbitrator: {enabled: true}}`,
			"with spec.arbitrator.enabled replicas must be 2, 4 or 6"},
		"by default, and an arbitrator": {`{storage: {size: 1Gi}, arbitrator: {enabled: true}}`,
			"with spec.arbitrator.enabled replicas must be 2, 4 or 6"},
		"one node and an arbitrator": {`{replicas: 1, storage: {size: 1Gi}, arbitrator: {enabled: true}}`,
			"two votes, of which neither could be lost"},
		"eight nodes and an arbitrator": {`{replicas: 8, storage: {size: 1Gi}, arbitrator: {enabled: true}}`,
			"replicas must be 2, 4 or 6"},
		"no storage":         {`{replicas: 3}`, "spec.storage: Required value"},
		"size as a number":   {`storage: {size: 10737418240}`, ""},
		"temporary storage":  {`storage: {size: 1Gi, temporary: {size: 5Gi, storageClassName: fast}}`, ""},
		"encryption at rest": {`{storage: {size: 1Gi}, encryption: {atRest: {}}}`, ""},
		"encryption at rest, all of it": {
			`{storage: {size: 1Gi}, encryption: {atRest: {keysSecretRef: {name: k}, algorithm: AES_CBC, gcache: Clear}}}`, ""},
		"encryption of nothing": {`{storage: {size: 1Gi}, encryption: {}}`, "spec.encryption.atRest: Required value"},
		"another algorithm at rest": {`{storage: {size: 1Gi}, encryption: {atRest: {algorithm: AES_ECB}}}`,
			"Unsupported value"},
		"another place for the gcache": {`{storage: {size: 1Gi}, encryption: {atRest: {gcache: Disk}}}`, "Unsupported value"},
		"keys that are to be rotated": {`{storage: {size: 1Gi}, encryption: {atRest: {rotateEvery: 2160h}}}`,
			"keys cannot be rotated: MariaDB's file_key_management"},
		"keys without a name": {`{storage: {size: 1Gi}, encryption: {atRest: {keysSecretRef: {name: ""}}}}`,
			"at least 1 chars long"},
		"tiny temporary storage": {`storage: {size: 1Gi, temporary: {size: 1048576}}`,
			"size must be at least 64Mi"},
		"tiny size as a number": {`storage: {size: 1048576}`, "size must be at least 256Mi"},
		"tiny storage":          {`storage: {size: 1Mi}`, "size must be at least 256Mi"},
		"preferred replication": {`{storage: {size: 1Gi}, tls: {replication: Preferred}}`,
			`supported values: "Required", "Disabled"`},
		"old TLS": {`{storage: {size: 1Gi}, tls: {minVersion: "1.1"}}`,
			`supported values: "1.2", "1.3"`},
		"unknown suite": {`{storage: {size: 1Gi}, tls: {cipher: RC4}}`, "supported values"},
		"ECDSA of RSA's size": {`{storage: {size: 1Gi}, tls: {certificate: {privateKey: {algorithm: ECDSA, size: 2048}}}}`,
			"size must be 256 or 384 for ECDSA"},
		"short certificate": {`{storage: {size: 1Gi}, tls: {certificate: {duration: 5m}}}`,
			"duration must be at least 1h"},
		"renewal without end": {`{storage: {size: 1Gi}, tls: {certificate: {duration: 2h, renewBefore: 3h}}}`,
			"renewBefore must be shorter than duration"},
		"more names": {`{storage: {size: 1Gi}, tls: {certificate: {dnsNames: [db.example.org, "*.db.example.org"], ipAddresses: [192.0.2.7, "2001:db8::7"]}}}`, ""},
		"a name in capitals": {`{storage: {size: 1Gi}, tls: {certificate: {dnsNames: [DB.example.org]}}}`,
			"should match"},
		"a wildcard within": {`{storage: {size: 1Gi}, tls: {certificate: {dnsNames: [db.*.org]}}}`,
			"should match"},
		"a name twice": {`{storage: {size: 1Gi}, tls: {certificate: {dnsNames: [db.org, db.org]}}}`,
			"Duplicate value"},
		"no address": {`{storage: {size: 1Gi}, tls: {certificate: {ipAddresses: [192.0.2.777]}}}`,
			"must be an IPv4 or IPv6 address"},
		"a Service's options": {`{storage: {size: 1Gi}, readOnlyService: {type: LoadBalancer, labels: {team: a}, externalTrafficPolicy: Local, internalTrafficPolicy: Local}}`, ""},
		"a policy without ports on hosts": {`{storage: {size: 1Gi}, service: {externalTrafficPolicy: Local}}`,
			"needs type NodePort or LoadBalancer"},
		"a Service's label of ours": {`{storage: {size: 1Gi}, primaryService: {labels: {galera-operator.io/cluster: other}}}`,
			"are reserved: choose another key"},
		"an unknown policy": {`{storage: {size: 1Gi}, service: {internalTrafficPolicy: Near}}`,
			"supported values"},
		"an approval":                     {`{storage: {size: 1Gi}, recovery: {approval: {member: valid-1, history: 729f74f0-e5ac-11f1-8d21-87263796a788, seqno: 12, epoch: 2, without: [{name: valid-2}, {name: valid-0, as: Running}]}}}`, ""},
		"an approval of the zero history": {`{storage: {size: 1Gi}, recovery: {approval: {member: valid-1, history: 00000000-0000-0000-0000-000000000000, seqno: 12, epoch: 2, without: [{name: valid-2}]}}}`, "the zero UUID is no history"},
		"an approval of no position":      {`{storage: {size: 1Gi}, recovery: {approval: {member: valid-1, history: 729f74f0-e5ac-11f1-8d21-87263796a788, epoch: 2, without: [{name: valid-2}]}}}`, "seqno: Required value"},
		"an approval for nothing":         {`{storage: {size: 1Gi}, recovery: {approval: {member: valid-1, history: 729f74f0-e5ac-11f1-8d21-87263796a788, seqno: 12, epoch: 2, without: []}}}`, "should have at least 1 items"},
		"given up as something else":      {`{storage: {size: 1Gi}, recovery: {approval: {member: valid-1, history: 729f74f0-e5ac-11f1-8d21-87263796a788, seqno: 12, epoch: 2, without: [{name: valid-2, as: Tired}]}}}`, `supported values: "Gone", "Running", "Unable"`},
		"given up twice":                  {`{storage: {size: 1Gi}, recovery: {approval: {member: valid-1, history: 729f74f0-e5ac-11f1-8d21-87263796a788, seqno: 12, epoch: 2, without: [{name: valid-2}, {name: valid-2}]}}}`, "Duplicate value"},
		"all of state transfer":           {`{storage: {size: 1Gi}, stateTransfer: {donors: [valid-2, valid-1], compression: Zstd, rateLimit: 50Mi, bufferPoolHint: 1Gi, stallTimeout: 1h, istWindow: 2h}}`, ""},
		"rate as a number":                {`{storage: {size: 1Gi}, stateTransfer: {rateLimit: 65536}}`, ""},
		"a crawl": {`{storage: {size: 1Gi}, stateTransfer: {rateLimit: 1k}}`,
			"rateLimit must be at least 64Ki"},
		"rsync, limited": {`{storage: {size: 1Gi}, stateTransfer: {method: Rsync, rateLimit: 1Mi}}`,
			"rsync blocks its donor while it copies"},
		"rsync, compressed": {`{storage: {size: 1Gi}, stateTransfer: {method: Rsync, compression: Zstd}}`,
			"compression works with the method MariaBackup only"},
		"rsync, prepared": {`{storage: {size: 1Gi}, stateTransfer: {method: Rsync, bufferPoolHint: 1Gi}}`,
			"rsync copies need no preparation"},
		"gzip": {`{storage: {size: 1Gi}, stateTransfer: {compression: Gzip}}`,
			`supported values: "None", "Zstd"`},
		"fixed windows":               {`{storage: {size: 1Gi}, replication: {sendWindows: {userSendWindow: 4, sendWindow: 8}}}`, ""},
		"windows the wrong way round": {`{storage: {size: 1Gi}, replication: {sendWindows: {userSendWindow: 8, sendWindow: 4}}}`, "sendWindow must not be smaller than userSendWindow"},
		"no window":                   {`{storage: {size: 1Gi}, replication: {sendWindows: {userSendWindow: 0, sendWindow: 4}}}`, "should be greater than or equal to 1"},
		"half of the windows": {`{storage: {size: 1Gi}, replication: {sendWindows: {userSendWindow: 4}}}`,
			"sendWindow: Required value"},
		"impatient": {`{storage: {size: 1Gi}, stateTransfer: {stallTimeout: 5s}}`,
			"stallTimeout must be between 1m and 24h"},
		"endless window": {`{storage: {size: 1Gi}, stateTransfer: {istWindow: 1000h}}`,
			"istWindow must be between 1m and 720h"},
		"a stranger as donor": {`{storage: {size: 1Gi}, stateTransfer: {donors: [other-1]}}`,
			"must be names of this cluster's nodes"},
		"another cluster's node as donor": {`{storage: {size: 1Gi}, stateTransfer: {donors: [valid-other-1]}}`,
			"must be names of this cluster's nodes"},
		"a donor there can never be": {`{storage: {size: 1Gi}, stateTransfer: {donors: [valid-7]}}`,
			"must be names of this cluster's nodes"},
		"windows of maintenance": {`{storage: {size: 1Gi}, maintenance: {agentUpgrade: Window, windows: [{name: night, schedule: "0 3 * * 1-5", duration: 2h, timeZone: Europe/Vienna}, {name: weekend, schedule: "@weekly", duration: 24h}]}}`, ""},
		"a window without windows": {`{storage: {size: 1Gi}, maintenance: {agentUpgrade: Window}}`,
			"agentUpgrade Window needs at least one of windows"},
		"a schedule that is none": {`{storage: {size: 1Gi}, maintenance: {windows: [{name: night, schedule: tonight, duration: 2h}]}}`, "schedule in body should match"},
		"a short window":          {`{storage: {size: 1Gi}, maintenance: {windows: [{name: night, schedule: "@daily", duration: 1m}]}}`, "duration must be between 5m and 168h"},
		"maintenance at will": {`{storage: {size: 1Gi}, maintenance: {agentUpgrade: Never}}`,
			`supported values: "Automatic", "Window", "Manual"`},
		"a pod template":         {`{storage: {size: 1Gi}, podTemplate: {labels: {team: a}, annotations: {example.org/mesh: "off"}, env: [{name: TZ, value: UTC}], volumes: [{name: x}, {name: rules, configMap: audit}], sidecars: [{name: audit, image: a, port: 9000, volumeMounts: [{name: x, mountPath: /x}]}], runtimeClassName: gvisor, hostAliases: [{ip: 10.1.2.3, hostnames: [ldap]}]}}`, ""},
		"root from two networks": {`{storage: {size: 1Gi}, rootAccess: {hosts: ["10.1.%", "10.2.0.0/255.255.0.0", "fd00::%"]}}`, ""},
		"root from nowhere":      {`{storage: {size: 1Gi}, rootAccess: {disabled: true}}`, ""},
		"root from nowhere, and from here": {`{storage: {size: 1Gi}, rootAccess: {disabled: true, hosts: ["10.1.%"]}}`,
			"disabled leaves no hosts to log in from"},
		"root from an empty list": {`{storage: {size: 1Gi}, rootAccess: {hosts: []}}`,
			"should have at least 1 items"},
		"root from a network without a netmask": {`{storage: {size: 1Gi}, rootAccess: {hosts: ["10.1.0.0/16"]}}`,
			"255.255.0.0"},
		"root from localhost": {`{storage: {size: 1Gi}, rootAccess: {hosts: [localhost]}}`,
			"root at localhost is the pods' own"},
		"a statement for a host": {`{storage: {size: 1Gi}, rootAccess: {hosts: ["'; DROP TABLE x"]}}`,
			"should match"},
		"the operator's labels": {`{storage: {size: 1Gi}, podTemplate: {labels: {galera-operator.io/cluster: other}}}`,
			"are reserved: choose another key"},
		"Kubernetes' labels": {`{storage: {size: 1Gi}, podTemplate: {labels: {app.kubernetes.io/name: other}}}`,
			"are reserved: choose another key"},
		"the operator's annotations": {`{storage: {size: 1Gi}, podTemplate: {annotations: {galera-operator.io/pod-template: x}}}`, "are reserved for the operator"},
		"a library for mariadbd": {`{storage: {size: 1Gi}, podTemplate: {env: [{name: LD_PRELOAD, value: /x.so}]}}`,
			"read by mariadbd, its scripts or the agent"},
		"another pod's name": {`{storage: {size: 1Gi}, podTemplate: {env: [{name: POD_NAME, value: x}]}}`,
			"read by mariadbd, its scripts or the agent"},
		"a sidecar called mariadb": {`{storage: {size: 1Gi}, podTemplate: {sidecars: [{name: mariadb, image: x}]}}`,
			"mariadb and agent are the operator's containers"},
		"a sidecar on the database's port": {`{storage: {size: 1Gi}, podTemplate: {sidecars: [{name: x, image: x, port: 3306}]}}`, "the database and the agent listen on this port"},
		"a sidecar with the data":          {`{storage: {size: 1Gi}, podTemplate: {sidecars: [{name: x, image: x, volumeMounts: [{name: data, mountPath: /x}]}]}}`, "sidecars may mount podTemplate.volumes only"},
		"an exporter":                      {`{storage: {size: 1Gi}, monitoring: {exporter: {}}, podTemplate: {sidecars: [{name: audit, image: a, port: 9000}]}}`, ""},
		"an exporter of choice":            {`{storage: {size: 1Gi}, monitoring: {exporter: {image: x, collectors: [perf_schema.eventswaits], resources: {limits: {memory: 64Mi}}}}}`, ""},
		"an exporter of the agent's": {`{storage: {size: 1Gi}, monitoring: {exporter: {collectors: [global_status]}}}`,
			"supported values"},
		"an exporter of nothing": {`{storage: {size: 1Gi}, monitoring: {exporter: {collectors: []}}}`,
			"should have at least 1 items"},
		"a second exporter":                {`{storage: {size: 1Gi}, monitoring: {exporter: {}}, podTemplate: {sidecars: [{name: exporter, image: x}]}}`, "no sidecar can be called exporter"},
		"a sidecar on the exporter's port": {`{storage: {size: 1Gi}, monitoring: {exporter: {}}, podTemplate: {sidecars: [{name: x, image: x, port: 9104}]}}`, "or listen on port 9104"},
		"two sidecars of one name":         {`{storage: {size: 1Gi}, podTemplate: {sidecars: [{name: x, image: x}, {name: x, image: y}]}}`, "Duplicate value"},
		"unknown issuer kind": {`{storage: {size: 1Gi}, tls: {issuerRef: {name: x, kind: Authority}}}`,
			`supported values: "Issuer", "ClusterIssuer"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := kube.Create(context.Background(), fromYAML(t, "valid", tc.spec), client.DryRunAll)
			mustSay(t, err, tc.want)
		})
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"shop":                        "",
		"9shop":                       "at most 40 lower-case letters",
		strings.Repeat("a", 41):       "at most 40 lower-case letters",
		"shop.with.dots":              "at most 40 lower-case letters",
		strings.Repeat("a", 39) + "b": "",
	} {
		err := kube.Create(context.Background(), fromYAML(t, name, `storage: {size: 1Gi}`), client.DryRunAll)
		mustSay(t, err, want)
	}
}

// TestDefaults pins what a user gets who writes nothing.
func TestDefaults(t *testing.T) {
	ctx := context.Background()
	u := fromYAML(t, "defaults", `storage: {size: 1Gi}`)
	if err := kube.Create(ctx, u); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kube.Delete(ctx, u) })
	c := &v1alpha1.GaleraCluster{}
	if err := kube.Get(ctx, client.ObjectKeyFromObject(u), c); err != nil {
		t.Fatal(err)
	}
	s := c.Spec
	if s.Replicas != 3 || s.TLS.Replication != v1alpha1.TLSRequired || s.TLS.Clients != v1alpha1.TLSRequired ||
		s.TLS.MinVersion != "1.3" || s.TLS.Cipher != "Auto" {
		t.Errorf("not secure by default: %+v", s)
	}
	if k := s.TLS.Certificate; k.PrivateKey.Algorithm != "ECDSA" || k.Duration.Hours() != 2160 {
		t.Errorf("certificate defaults: %+v", k)
	}
	if s.StateTransfer.Method != "MariaBackup" || s.StateTransfer.Parallel != 4 ||
		s.Storage.PersistentVolumeClaimRetentionPolicy != (v1alpha1.ClaimRetentionPolicy{WhenDeleted: "Retain",
			WhenScaled: "Retain"}) {
		t.Errorf("defaults: %+v %+v", s.StateTransfer, s.Storage)
	}
}

func TestImmutable(t *testing.T) {
	ctx := context.Background()
	for name, tc := range map[string]struct{ before, after, want string }{
		"larger":    {`storage: {size: 1Gi}`, `storage: {size: 2Gi}`, ""},
		"smaller":   {`storage: {size: 2Gi}`, `storage: {size: 1Gi}`, "size can grow, and can be set back"},
		"same size": {`storage: {size: 1Gi}`, `storage: {size: 1024Mi}`, ""},
		"class": {`storage: {size: 1Gi, storageClassName: a}`, `storage: {size: 1Gi, storageClassName: b}`,
			"storageClassName cannot be changed"},
		"class removed": {`storage: {size: 1Gi, storageClassName: a}`, `storage: {size: 1Gi}`,
			"storageClassName cannot be changed"},
		"retention": {`storage: {size: 1Gi}`,
			`storage: {size: 1Gi, persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}}`, ""},
		"encrypted at rest, as before": {`{storage: {size: 1Gi}, encryption: {atRest: {}}}`,
			`{storage: {size: 2Gi}, encryption: {atRest: {algorithm: AES_CTR, gcache: Clear}}}`, ""},
		"encrypted at rest from now on": {`storage: {size: 1Gi}`, `{storage: {size: 1Gi}, encryption: {atRest: {}}}`, ""},
		"not encrypted at rest any more": {`{storage: {size: 1Gi}, encryption: {atRest: {}}}`, `storage: {size: 1Gi}`,
			""},
		"encrypted at rest with another algorithm": {`{storage: {size: 1Gi}, encryption: {atRest: {}}}`,
			`{storage: {size: 1Gi}, encryption: {atRest: {algorithm: AES_CBC}}}`,
			"cannot be changed while they are"},
		"encrypted at rest with other keys": {`{storage: {size: 1Gi}, encryption: {atRest: {keysSecretRef: {name: a}}}}`,
			`{storage: {size: 1Gi}, encryption: {atRest: {keysSecretRef: {name: b}}}}`, "cannot be changed while they are"},
		"encrypted at rest with keys of their own": {`{storage: {size: 1Gi}, encryption: {atRest: {}}}`,
			`{storage: {size: 1Gi}, encryption: {atRest: {keysSecretRef: {name: b}}}}`, "cannot be changed while they are"},
	} {
		t.Run(name, func(t *testing.T) {
			u := fromYAML(t, "fixed", tc.before)
			if err := kube.Create(ctx, u); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = kube.Delete(ctx, u) })
			after := fromYAML(t, "fixed", tc.after)
			after.SetResourceVersion(u.GetResourceVersion())
			mustSay(t, kube.Update(ctx, after), tc.want)
		})
	}
}

// TestSizeIsSetBack as far as the volumes have it, by what the operator has recorded and no other client.
func TestSizeIsSetBack(t *testing.T) {
	ctx := context.Background()
	const refused = "spec.storage.size: Invalid value"
	for name, tc := range map[string]struct {
		volumes string
		size    any
		want    string
	}{
		"to what they have":             {"1Gi", "1Gi", ""},
		"in bytes":                      {"1Gi", int64(1 << 30), ""},
		"below, in bytes":               {"1Gi", int64(1<<30 - 1), refused},
		"the same, written otherwise":   {"1Gi", "1024Mi", ""},
		"halfway":                       {"1Gi", "2Gi", ""},
		"below":                         {"1Gi", "512Mi", refused},
		"they have it, or will have it": {"4Gi", "2Gi", refused},
		"they have more":                {"8Gi", "2Gi", refused},
		"they have more, and it grows":  {"8Gi", "6Gi", ""},
		"not known":                     {"", "2Gi", refused},
	} {
		t.Run(name, func(t *testing.T) {
			u := fromYAML(t, "back", `storage: {size: 4Gi}`)
			must(t, kube.Create(ctx, u))
			t.Cleanup(func() { _ = kube.Delete(ctx, u) })
			if tc.volumes != "" {
				must(t, unstructured.SetNestedField(u.Object, tc.volumes, "status", "volumeSize"))
				must(t, kube.Status().Update(ctx, u))
			}
			must(t, unstructured.SetNestedField(u.Object, tc.size, "spec", "storage", "size"))
			must(t, unstructured.SetNestedField(u.Object, "256Mi", "status", "volumeSize")) // a spec's writer is not believed
			mustSay(t, kube.Update(ctx, u), tc.want)
		})
	}
}

func fromYAML(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	var s map[string]any
	if err := yaml.Unmarshal([]byte(spec), &s); err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": s}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("GaleraCluster"))
	u.SetName(name)
	u.SetNamespace(metav1.NamespaceDefault)
	return u
}

func mustSay(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("admitted, want a refusal with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused with %v, want %q", err, want)
	}
}
