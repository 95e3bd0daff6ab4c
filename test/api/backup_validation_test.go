package api

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// someone is a public key.
const someone = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kudasz3dsgtkzae"

// backupKind makes an object of a kind from the YAML of its spec, in which KEY stands for a public key.
func backupKind(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	u.SetName(name)
	u.SetNamespace("default")
	content := map[string]any{}
	must(t, yaml.Unmarshal([]byte(strings.ReplaceAll(spec, "KEY", someone)), &content))
	u.Object["spec"] = content
	return u
}

// TestBackupAdmission writes stores, backups and schedules as a user would, and reads what the API answers.
func TestBackupAdmission(t *testing.T) {
	const store, backup, sched = "GaleraBackupStore", "GaleraBackup", "GaleraBackupSchedule"
	for name, tc := range map[string]struct{ kind, spec, want string }{
		"a bucket of Amazon": {store, `{s3: {bucket: backups}, encryption: {recipients: [KEY]}}`, ""},
		"a volume":           {store, `{volume: {claimName: b}, encryption: {recipients: [KEY]}}`, ""},
		"all of a bucket": {store,
			`{s3: {bucket: b.b, prefix: a/b, endpoint: "https://s3.example.org:9000", region: eu-1, forcePathStyle: true, credentials: {secretName: s, sessionTokenKey: t}, caBundle: {configMapName: c, key: x}}, encryption: {recipients: [KEY]}, retention: {keepLast: 3, keepWithin: 168h}, serviceAccountName: backup}`, ""},
		"what objects have": {store,
			`{s3: {bucket: bbb, storageClass: STANDARD_IA, tags: {team: shop}, serverSideEncryption: {type: SSE-KMS, kmsKeyID: "arn:aws:kms:eu-1:1:key/a"}}, encryption: {recipients: [KEY]}}`, ""},
		"a storage class that is no store": {store,
			`{s3: {bucket: bbb, storageClass: DEEP_ARCHIVE}, encryption: {recipients: [KEY]}}`, "before they can be read"},
		"another encryption": {store,
			`{s3: {bucket: bbb, serverSideEncryption: {type: SSE-C}}, encryption: {recipients: [KEY]}}`,
			`supported values: "SSE-S3", "SSE-KMS", "DSSE-KMS"`},
		"a key without KMS": {store,
			`{s3: {bucket: bbb, serverSideEncryption: {type: SSE-S3, kmsKeyID: a}}, encryption: {recipients: [KEY]}}`,
			"kmsKeyID goes with"},
		"a tag without a key": {store, `{s3: {bucket: bbb, tags: {"": a}}, encryption: {recipients: [KEY]}}`,
			"a tag's key has"},
		"eleven tags": {store,
			`{s3: {bucket: bbb, tags: {a: a, b: a, c: a, d: a, e: a, f: a, g: a, h: a, i: a, j: a, k: a}}, encryption: {recipients: [KEY]}}`,
			"must have at most 10 items"},
		"no place": {store, `{encryption: {recipients: [KEY]}}`,
			"name exactly one of s3, gcs, azure and volume"},
		"two places": {store, `{s3: {bucket: bbb}, volume: {claimName: b}, encryption: {recipients: [KEY]}}`,
			"name exactly one of s3, gcs, azure and volume"},
		"a bucket of Google": {store, `{gcs: {bucket: backups}, encryption: {recipients: [KEY]}}`, ""},
		"all of Google's": {store,
			`{gcs: {bucket: b_b.c, prefix: a/b, endpoint: "https://storage.example.org", credentials: {secretName: s, jsonKey: k}, caBundle: {secretName: c}}, encryption: {recipients: [KEY]}}`, ""},
		"Google in clear text": {store,
			`{gcs: {bucket: backups, endpoint: "http://storage.example.org"}, encryption: {recipients: [KEY]}}`,
			"endpoint in body should match"},
		"a container of Azure": {store,
			`{azure: {account: shop, container: backups}, encryption: {recipients: [KEY]}}`, ""},
		"all of Azure's": {store,
			`{azure: {account: shop, container: back-ups, prefix: a/b, endpoint: "https://10.0.0.1:10000/shop", credentials: {secretName: s, sasTokenKey: t}, caBundle: {configMapName: c}}, encryption: {recipients: [KEY]}}`, ""},
		"Azure without account": {store, `{azure: {container: backups}, encryption: {recipients: [KEY]}}`,
			"spec.azure.account: Required value"},
		"a token in Azure's endpoint": {store,
			`{azure: {account: shop, container: backups, endpoint: "https://shop.example.org/?sig=a"}, encryption: {recipients: [KEY]}}`, "endpoint in body should match"},
		"two kinds of Azure's keys": {store,
			`{azure: {account: shop, container: backups, credentials: {secretName: s, accountKeyKey: a, sasTokenKey: t}}, encryption: {recipients: [KEY]}}`, "at most one of accountKeyKey and sasTokenKey"},
		"two clouds": {store,
			`{gcs: {bucket: bbb}, azure: {account: shop, container: bbb}, encryption: {recipients: [KEY]}}`,
			"name exactly one of"},
		"in clear text": {store, `{s3: {bucket: bbb}}`, "spec.encryption: Required value"},
		"for no key": {store, `{s3: {bucket: bbb}, encryption: {recipients: []}}`,
			"should have at least 1 items"},
		"for a private key": {store, `{s3: {bucket: bbb}, encryption: {recipients: [AGE-SECRET-KEY-1QQ]}}`,
			"should match"},
		"a prefix with a slash": {store, `{s3: {bucket: bbb, prefix: /a}, encryption: {recipients: [KEY]}}`,
			"prefix in body should match"},
		"a prefix that climbs": {store, `{s3: {bucket: bbb, prefix: "a/../b"}, encryption: {recipients: [KEY]}}`,
			"must not contain '.' or '..'"},
		"an endpoint without scheme": {store,
			`{s3: {bucket: bbb, endpoint: "s3.example.org"}, encryption: {recipients: [KEY]}}`, "endpoint in body should match"},
		"an endpoint with a password": {store,
			`{s3: {bucket: bbb, endpoint: "https://u:p@s3.example.org"}, encryption: {recipients: [KEY]}}`,
			"endpoint in body should match"},
		"two CAs": {store,
			`{s3: {bucket: bbb, caBundle: {secretName: a, configMapName: b}}, encryption: {recipients: [KEY]}}`,
			"name exactly one of secretName and configMapName"},
		"an empty retention": {store, `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}, retention: {}}`,
			"name at least one of keepLast"},
		"keep none": {store,
			`{s3: {bucket: bbb}, encryption: {recipients: [KEY]}, retention: {keepLast: 0}}`,
			"should be greater than or equal to 1"},
		"a backup":            {backup, `{clusterRef: {name: shop}, storeRef: {name: offsite}}`, ""},
		"a backup of nothing": {backup, `{storeRef: {name: offsite}}`, "spec.clusterRef: Required value"},
		"a rate as a number": {backup, `{clusterRef: {name: shop}, storeRef: {name: offsite}, rateLimit: 65536}`,
			""},
		"a crawl as a number": {backup, `{clusterRef: {name: shop}, storeRef: {name: offsite}, rateLimit: 1024}`,
			"rateLimit must be at least 64Ki"},
		"a crawl": {backup, `{clusterRef: {name: shop}, storeRef: {name: offsite}, rateLimit: 1Ki}`,
			"rateLimit must be at least 64Ki"},
		"a snapshot": {backup, `{clusterRef: {name: shop}, storeRef: {name: offsite}, method: Snapshot}`,
			`supported values: "Stream"`},
		"with gzip": {backup, `{clusterRef: {name: shop}, storeRef: {name: offsite}, compression: Gzip}`,
			`supported values: "Zstd", "None"`},
		"as small as it gets": {backup,
			`{clusterRef: {name: shop}, storeRef: {name: offsite}, compressionLevel: Best}`, ""},
		"a level in numbers": {backup, `{clusterRef: {name: shop}, storeRef: {name: offsite}, compressionLevel: "19"}`,
			`supported values: "Fastest", "Default", "Better", "Best"`},
		"a level of nothing": {backup,
			`{clusterRef: {name: shop}, storeRef: {name: offsite}, compression: None, compressionLevel: Best}`,
			"compressionLevel goes with compression: Zstd"},
		"no compression": {backup, `{clusterRef: {name: shop}, storeRef: {name: offsite}, compression: None}`, ""},
		"a test": {backup, `{clusterRef: {name: shop}, storeRef: {name: offsite}, verify: Checksum}`,
			""},
		"a restore": {backup,
			`{clusterRef: {name: shop}, storeRef: {name: offsite}, verify: Restore, identitySecretRef: {name: k}}`, ""},
		"a restore without a key": {backup, `{clusterRef: {name: shop}, storeRef: {name: offsite}, verify: Restore}`,
			"needs identitySecretRef"},
		"a schedule": {sched,
			`{schedule: "30 2 * * *", timeZone: Europe/Vienna, template: {clusterRef: {name: shop}, storeRef: {name: offsite}}}`,
			""},
		"a schedule of one elsewhere": {sched,
			`{schedule: "@daily", template: {clusterRef: {name: shop, namespace: prod}, storeRef: {name: offsite}}}`,
			"a schedule makes backups of clusters in its own namespace"},
		"a schedule in words": {sched,
			`{schedule: nightly, template: {clusterRef: {name: shop}, storeRef: {name: offsite}}}`,
			"schedule in body should match"},
		"a schedule that replaces": {sched,
			`{schedule: "@daily", concurrencyPolicy: Replace, template: {clusterRef: {name: shop}, storeRef: {name: offsite}}}`,
			`supported values: "Forbid", "Allow"`},
		"a schedule of nothing": {sched, `{schedule: "@daily"}`, "spec.template: Required value"},
	} {
		t.Run(name, func(t *testing.T) {
			mustSay(t, kube.Create(context.Background(), backupKind(t, tc.kind, "valid", tc.spec), client.DryRunAll), tc.want)
		})
	}
	for kind, limit := range map[string]int{store: 40, backup: 52, sched: 36} {
		spec := map[string]string{store: `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`,
			backup: `{clusterRef: {name: shop}, storeRef: {name: offsite}}`,
			sched:  `{schedule: "@daily", template: {clusterRef: {name: shop}, storeRef: {name: offsite}}}`}[kind]
		mustSay(t, kube.Create(context.Background(), backupKind(t, kind, strings.Repeat("a", limit), spec), client.DryRunAll),
			"")
		mustSay(t, kube.Create(context.Background(), backupKind(t, kind, strings.Repeat("a", limit+1), spec),
			client.DryRunAll), "the name becomes part of")
		mustSay(t, kube.Create(context.Background(), backupKind(t, kind, "a.b", spec), client.DryRunAll),
			"the name becomes part of")
	}
}

// TestBackupImmutable: backups lie where a store said, and a backup is of what it was made of.
func TestBackupImmutable(t *testing.T) {
	const store, backup = "GaleraBackupStore", "GaleraBackup"
	for name, tc := range map[string]struct{ kind, before, after, want string }{
		"other keys": {store, `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`,
			`{s3: {bucket: bbb, region: x, credentials: {secretName: s}}, encryption: {recipients: [KEY]}, retention: {keepLast: 1}}`, ""},
		"another bucket": {store, `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`,
			`{s3: {bucket: ccc}, encryption: {recipients: [KEY]}}`, "bucket, prefix or claim cannot be changed"},
		"a prefix": {store, `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`,
			`{s3: {bucket: bbb, prefix: a}, encryption: {recipients: [KEY]}}`, "bucket, prefix or claim cannot be changed"},
		"another prefix": {store, `{s3: {bucket: bbb, prefix: b}, encryption: {recipients: [KEY]}}`,
			`{s3: {bucket: bbb, prefix: a}, encryption: {recipients: [KEY]}}`, "bucket, prefix or claim cannot be changed"},
		"the same prefix": {store, `{s3: {bucket: bbb, prefix: b}, encryption: {recipients: [KEY]}}`,
			`{s3: {bucket: bbb, prefix: b, region: x}, encryption: {recipients: [KEY]}}`, ""},
		"a volume instead": {store, `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`,
			`{volume: {claimName: b}, encryption: {recipients: [KEY]}}`, "the kind of store cannot be changed"},
		"another bucket of Google's": {store, `{gcs: {bucket: bbb}, encryption: {recipients: [KEY]}}`,
			`{gcs: {bucket: ccc}, encryption: {recipients: [KEY]}}`, "bucket or prefix cannot be changed"},
		"other credentials at Google": {store, `{gcs: {bucket: bbb}, encryption: {recipients: [KEY]}}`,
			`{gcs: {bucket: bbb, endpoint: "https://a", credentials: {secretName: s}}, encryption: {recipients: [KEY]}}`, ""},
		"another account of Azure's": {store, `{azure: {account: aaa, container: bbb}, encryption: {recipients: [KEY]}}`,
			`{azure: {account: bbb, container: bbb}, encryption: {recipients: [KEY]}}`,
			"account, container or prefix cannot be changed"},
		"a prefix at Azure": {store, `{azure: {account: aaa, container: bbb}, encryption: {recipients: [KEY]}}`,
			`{azure: {account: aaa, container: bbb, prefix: p}, encryption: {recipients: [KEY]}}`,
			"account, container or prefix cannot be changed"},
		"another volume": {store, `{volume: {claimName: a}, encryption: {recipients: [KEY]}}`,
			`{volume: {claimName: b}, encryption: {recipients: [KEY]}}`, "bucket, prefix or claim cannot be changed"},
		"the policy": {backup, `{clusterRef: {name: a}, storeRef: {name: s}}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, deletionPolicy: Delete}`, ""},
		"another cluster": {backup, `{clusterRef: {name: a}, storeRef: {name: s}}`,
			`{clusterRef: {name: b}, storeRef: {name: s}}`, "a backup cannot be changed"},
		"a cluster elsewhere": {backup, `{clusterRef: {name: a}, storeRef: {name: s}}`,
			`{clusterRef: {name: a, namespace: b}, storeRef: {name: s}}`, "a backup cannot be changed"},
		"another test": {backup, `{clusterRef: {name: a}, storeRef: {name: s}}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, verify: Checksum}`, ""},
		"another rate": {backup, `{clusterRef: {name: a}, storeRef: {name: s}, rateLimit: 1Mi}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, rateLimit: 2Mi}`, "a backup cannot be changed"},
		"another level": {backup, `{clusterRef: {name: a}, storeRef: {name: s}}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, compressionLevel: Best}`, "a backup cannot be changed"},
		"the level that it has": {backup, `{clusterRef: {name: a}, storeRef: {name: s}}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, compressionLevel: Fastest}`, ""},
		"the same rate": {backup, `{clusterRef: {name: a}, storeRef: {name: s}, rateLimit: 1Mi}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, rateLimit: 1024Ki}`, ""},
		"the same rate in bytes": {backup, `{clusterRef: {name: a}, storeRef: {name: s}, rateLimit: 1Mi}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, rateLimit: 1048576}`, ""},
		"another rate in bytes": {backup, `{clusterRef: {name: a}, storeRef: {name: s}, rateLimit: 1048576}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, rateLimit: 2Mi}`, "a backup cannot be changed"},
		"without that rate": {backup, `{clusterRef: {name: a}, storeRef: {name: s}, rateLimit: 1Mi}`,
			`{clusterRef: {name: a}, storeRef: {name: s}}`, "a backup cannot be changed"},
		"another key": {backup, `{clusterRef: {name: a}, storeRef: {name: s}, identitySecretRef: {name: k}}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, identitySecretRef: {name: l}}`, "identitySecretRef cannot be changed"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			u := backupKind(t, tc.kind, "fixed", tc.before)
			must(t, kube.Create(ctx, u))
			t.Cleanup(func() { _ = kube.Delete(ctx, u) })
			after := backupKind(t, tc.kind, "fixed", tc.after)
			after.SetResourceVersion(u.GetResourceVersion())
			mustSay(t, kube.Update(ctx, after, client.DryRunAll), tc.want)
		})
	}
}

// TestBootstrapFrom can be corrected while nothing was filled, and be removed once the cluster has started.
func TestBootstrapFrom(t *testing.T) {
	const key, refused = `identitySecretRef: {name: k}`, "bootstrapFrom describes what a new cluster begins with"
	started := func(s map[string]any) { s["clusterUUID"] = "729f74f0-e5ac-11f1-8d21-87263796a788" }
	restoring := func(phase string) func(map[string]any) {
		return func(s map[string]any) { s["restore"] = map[string]any{"phase": phase} }
	}
	for name, tc := range map[string]struct {
		before string
		status func(map[string]any)
		after  string
		want   string
	}{
		"before anything was seen":    {`backup: {name: a}`, func(map[string]any) {}, `backup: {name: b}`, ""},
		"while it is looked for":      {`backup: {name: a}`, restoring("Finding"), `store: {name: b}`, ""},
		"when it has failed":          {`backup: {name: a}`, restoring("Failed"), `backup: {name: b}`, ""},
		"while volumes are filled":    {`backup: {name: a}`, restoring("Restoring"), `backup: {name: b}`, refused},
		"removed while they are":      {`backup: {name: a}`, restoring("Restoring"), ``, refused},
		"when they are":               {`backup: {name: a}`, restoring("Completed"), `backup: {name: b}`, refused},
		"once it has started":         {`backup: {name: a}`, started, `backup: {name: b}`, refused},
		"removed once it has started": {`backup: {name: a}`, started, ``, ""},
		"for a cluster that runs":     {``, started, `backup: {name: a}`, refused},
		"for a cluster that does not": {``, func(map[string]any) {}, `backup: {name: a}`, ""},
		"of both": {``, func(map[string]any) {}, `{backup: {name: a}, store: {name: b}}`,
			"name exactly one of backup, store, cluster and external"},
		"of nothing":          {``, func(map[string]any) {}, `{}`, "name exactly one of backup, store, cluster and external"},
		"of a living cluster": {``, func(map[string]any) {}, `cluster: {name: shop, storeRef: {name: s}}`, ""},
		"of one elsewhere, slowly": {``, func(map[string]any) {},
			`cluster: {name: shop, namespace: prod, storeRef: {name: s}, rateLimit: 50Mi}`, ""},
		"slowly":     {``, func(map[string]any) {}, `{backup: {name: a}, rateLimit: 50Mi}`, ""},
		"at a crawl": {``, func(map[string]any) {}, `{backup: {name: a}, rateLimit: 64Ki}`, "must be at least 1Mi"},
		"of a cluster and a store": {``, func(map[string]any) {},
			`{cluster: {name: shop, storeRef: {name: s}}, store: {name: b}}`, "name exactly one of backup, store, cluster and external"},
		"of all three": {``, func(map[string]any) {},
			`{cluster: {name: shop, storeRef: {name: s}}, store: {name: b}, backup: {name: a}}`,
			"name exactly one of backup, store, cluster and external"},
		"of a cluster, back in time": {``, func(map[string]any) {},
			`{cluster: {name: shop, storeRef: {name: s}}, pointInTime: {latest: true}}`, "pointInTime does not go with cluster"},
		"of a cluster through nothing": {``, func(map[string]any) {}, `cluster: {name: shop}`, "storeRef"},
		"of one, with a number": {``, func(map[string]any) {},
			`cluster: {name: shop, namespace: prod, storeRef: {name: s}, rateLimit: 52428800}`, ""},
		"of a cluster at a crawl": {``, func(map[string]any) {},
			`cluster: {name: shop, storeRef: {name: s}, rateLimit: 1Ki}`, "rateLimit must be at least 64Ki"},
		"of a cluster on a path": {``, func(map[string]any) {},
			`cluster: {name: shop, namespace: "../x", storeRef: {name: s}}`, "namespace in body should match"},
		"of another cluster, in time": {`cluster: {name: shop, storeRef: {name: s}}`, restoring("Finding"),
			`cluster: {name: bar, storeRef: {name: s}}`, ""},
		"of another cluster, too late": {`cluster: {name: shop, storeRef: {name: s}}`, restoring("Restoring"),
			`cluster: {name: bar, storeRef: {name: s}}`, refused},
		"of a cluster that runs":     {``, started, `cluster: {name: shop, storeRef: {name: s}}`, refused},
		"of a cluster, once it runs": {`cluster: {name: shop, storeRef: {name: s}}`, started, ``, ""},
		"without the private key": {``, func(map[string]any) {}, `{backup: {name: a}, identitySecretRef: null}`,
			"identitySecretRef"},
		"of another server": {``, func(map[string]any) {},
			`{external: {host: db.example.com, credentialsSecretRef: {name: s}, tls: {caSecretRef: {name: c}}}, identitySecretRef: null}`,
			""},
		"of one in clear text": {``, func(map[string]any) {},
			`{external: {host: "10.0.0.1", port: 3307, credentialsSecretRef: {name: s}, insecure: true, databases: [a], users: true}, identitySecretRef: null}`,
			""},
		"of one, by mistake in clear text": {``, func(map[string]any) {},
			`{external: {host: db, credentialsSecretRef: {name: s}}, identitySecretRef: null}`, "or set insecure: true"},
		"of one, both ways": {``, func(map[string]any) {},
			`{external: {host: db, credentialsSecretRef: {name: s}, insecure: true, tls: {caSecretRef: {name: c}}}, identitySecretRef: null}`,
			"or set insecure: true"},
		"of one, with a key": {``, func(map[string]any) {},
			`{external: {host: db, credentialsSecretRef: {name: s}, insecure: true}}`, "identitySecretRef is required for backup"},
		"of one, back in time": {``, func(map[string]any) {},
			`{external: {host: db, credentialsSecretRef: {name: s}, insecure: true}, identitySecretRef: null, pointInTime: {latest: true}}`,
			"pointInTime does not go with external"},
		"of one with an option as its host": {``, func(map[string]any) {},
			`{external: {host: "a b", credentialsSecretRef: {name: s}, insecure: true}, identitySecretRef: null}`,
			"host in body should match"},
		"to a time": {``, func(map[string]any) {},
			`{store: {name: b}, pointInTime: {time: "2026-11-24T12:30:00Z"}}`, ""},
		"to a microsecond": {``, func(map[string]any) {},
			`{store: {name: b}, pointInTime: {time: "2026-11-24T13:30:00.000001+01:00"}}`, ""},
		"to a part of one": {``, func(map[string]any) {},
			`{store: {name: b}, pointInTime: {time: "2026-11-24T12:30:00.0000001Z"}}`, "pointInTime.time"},
		"to a day": {``, func(map[string]any) {}, `{store: {name: b}, pointInTime: {time: "2026-11-24"}}`, "pointInTime.time"},
		"to no day": {``, func(map[string]any) {},
			`{store: {name: b}, pointInTime: {time: "2026-02-30T12:30:00Z"}}`, "pointInTime.time"},
		"to a transaction": {``, func(map[string]any) {}, `{store: {name: b}, pointInTime: {gtid: 0-1-4711}}`,
			""},
		"to the latest": {``, func(map[string]any) {}, `{backup: {name: a}, pointInTime: {latest: true}}`,
			""},
		"to two points": {``, func(map[string]any) {},
			`{backup: {name: a}, pointInTime: {latest: true, gtid: 0-1-5}}`, "name exactly one of time, gtid and latest"},
		"to no point": {``, func(map[string]any) {}, `{backup: {name: a}, pointInTime: {latest: false}}`,
			"name exactly one of time, gtid and latest"},
		"to a number": {``, func(map[string]any) {}, `{backup: {name: a}, pointInTime: {gtid: "4711"}}`,
			"gtid in body should match"},
		"of a path instead of a name": {``, func(map[string]any) {}, `store: {name: b, namespace: "../x"}`,
			"namespace in body should match"},
		"of a path instead of a backup": {``, func(map[string]any) {}, `store: {name: b, id: "a/b"}`,
			"id in body should match"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			with := func(from string) *unstructured.Unstructured {
				u := fromYAML(t, "begins", `storage: {size: 1Gi}`)
				if from == "" {
					return u
				}
				content := map[string]any{}
				must(t, yaml.Unmarshal([]byte(`{`+key+`}`), &content))
				must(t, yaml.Unmarshal([]byte(from), &content))
				must(t, unstructured.SetNestedField(u.Object, content, "spec", "bootstrapFrom"))
				return u
			}
			u := with(tc.before)
			must(t, kube.Create(ctx, u))
			t.Cleanup(func() { _ = kube.Delete(ctx, u) })
			status, _, _ := unstructured.NestedMap(u.Object, "status")
			tc.status(status)
			u.Object["status"] = status
			must(t, kube.Status().Update(ctx, u))
			after := with(tc.after)
			after.SetResourceVersion(u.GetResourceVersion())
			after.Object["status"] = status
			mustSay(t, kube.Update(ctx, after, client.DryRunAll), tc.want)
		})
	}
}

// TestBackupSamples: what docs/backups.md recommends to apply is admitted.
func TestBackupSamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "backup", "*.yaml"))
	must(t, err)
	if len(files) < 4 {
		t.Errorf("only %v", files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		u := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal(text, &u.Object))
		u.SetNamespace(metav1.NamespaceDefault)
		t.Run(filepath.Base(file), func(t *testing.T) {
			mustSay(t, kube.Create(context.Background(), u, client.DryRunAll),
				"")
		})
	}
}

// TestPointInTime: what cannot be archived is refused.
func TestPointInTime(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"an archive": {`{storage: {size: 1Gi}, backup: {storeRef: {name: s}, pointInTime: {enabled: true}}}`, ""},
		"every second": {`{storage: {size: 1Gi}, backup: {storeRef: {name: s}, pointInTime: {enabled: true, interval: 1s}}}`,
			""},
		"more often": {`{storage: {size: 1Gi}, backup: {storeRef: {name: s}, pointInTime: {enabled: true, interval: 100ms}}}`,
			"interval must be between 1s and 10m"},
		"hardly ever": {`{storage: {size: 1Gi}, backup: {storeRef: {name: s}, pointInTime: {enabled: true, interval: 1h}}}`,
			"interval must be between 1s and 10m"},
		"nowhere": {`{storage: {size: 1Gi}, backup: {pointInTime: {enabled: true}}}`,
			"storeRef: Required value"},
		"without TLS":          {`{storage: {size: 1Gi}, tls: {clients: Disabled}, backup: {storeRef: {name: s}, pointInTime: {enabled: true}}}`, "set spec.tls.clients to Required or Preferred"},
		"without TLS, and off": {`{storage: {size: 1Gi}, tls: {clients: Disabled}, backup: {storeRef: {name: s}, pointInTime: {enabled: false}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			mustSay(t, kube.Create(context.Background(), backupKind(t, "GaleraCluster", "archived", tc.spec), client.DryRunAll),
				tc.want)
		})
	}
}

// TestCloneNamespaces: who may clone a cluster is listed by name. No pattern means all namespaces: a user with the
// right to create one would have all data.
func TestCloneNamespaces(t *testing.T) {
	for list, want := range map[string]string{
		`[]`: "", `[dev, test-2]`: "", `["*"]`: "should match", `["dev-*"]`: "should match", `[""]`: "should match",
		`[Dev]`: "should match", `[a.b]`: "should match", `[dev, dev]`: "Duplicate value",
	} {
		mustSay(t, kube.Create(context.Background(),
			fromYAML(t, "consents", `{storage: {size: 1Gi}, allowedCloneNamespaces: `+list+`}`), client.DryRunAll), want)
	}
}
