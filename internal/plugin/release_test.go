package plugin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// newer is what the API server has of an operator of a later release: fields that this one does not know, and words in
// known fields.
const newer = `{"apiVersion": "galera-operator.io/v1alpha1", "kind": "GaleraCluster", "metadata": {"namespace": "demo", "name": "shop"},
"spec": {"replicas": 3, "sharding": {"shards": 2}, "storage": {"size": "1Gi", "tier": "Fast"}, "tls": {"replication": "Hybrid", "clients": "Required"}},
"status": {"replicas": 3, "readyReplicas": 2, "primary": "shop-0", "shards": [{"name": "a"}],
 "conditions": [
  {"type": "Ready", "status": "False", "reason": "Rebalancing", "message": "shop-1 moves to another shard", "severity": "Info"},
  {"type": "Available", "status": "True", "reason": "Available", "message": ""},
  {"type": "Sharded", "status": "False", "reason": "Moving", "message": "a word of its own"}],
 "operation": {"id": "r1", "type": "Rebalance", "step": "Copying", "epoch": 9, "shard": "a"},
 "requests": [{"kind": "Resize", "node": "shop-1", "token": "t", "state": "Deferred", "message": "waits for the night", "requestedAt": "2026-03-01T11:00:00Z", "expiresAt": "2026-03-02T11:00:00Z"}],
 "members": [
  {"name": "shop-0", "phase": "Running", "nodeState": "Synced", "componentState": "Primary", "position": "18cbf30b-e79e-11f1-acc2-86401dfd9420:7", "shard": "a",
   "tls": {"replication": {"observed": "TLS", "protocol": "TLSv1.4", "cipher": "TLS_NEW_SUITE", "plaintextRefused": true}, "clients": {"observed": "PostQuantum"}, "quic": {"observed": "TLS"}}},
  {"name": "shop-1", "phase": "Migrating", "nodeState": "", "position": "18cbf30b:9:2", "join": {"kind": "Clone", "donor": "shop-0", "phase": "Seeding", "message": "cloning from shop-0"}},
  {"name": "shop-2", "nodeState": "Observer", "componentState": "Partial"}],
 "tls": {"serial": "9b50", "key": "ML-DSA-65", "step": "CrossSigning", "trustedCAs": [{"fingerprint": "f", "subject": "CN=x", "state": "Staged"}], "switch": {"from": "Hybrid", "to": "Strict", "strategy": "Live"}}}}`

// older is of an earlier one: much is not there.
const older = `{"apiVersion": "galera-operator.io/v1alpha1", "kind": "GaleraCluster", "metadata": {"namespace": "demo", "name": "shop"},
"spec": {"replicas": 3},
"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready"}],
 "operation": {"id": "x", "type": "Restart"}, "requests": [{"kind": "Restart", "node": "all", "state": "Pending"}],
 "members": [{"name": "shop-0"}, {"name": "shop-1", "phase": "Running", "nodeState": "Synced"}, {}], "tls": {}, "arbitrator": {}}}`

const backupsOfReleases = `{"apiVersion": "galera-operator.io/v1alpha1", "kind": "GaleraBackupList", "metadata": {}, "items": [
{"apiVersion": "galera-operator.io/v1alpha1", "kind": "GaleraBackup", "metadata": {"namespace": "demo", "name": "late"}, "spec": {"clusterRef": {"name": "shop"}, "verify": "Deep", "throttle": true}, "status": {"phase": "Uploading", "lanes": 4}},
{"apiVersion": "galera-operator.io/v1alpha1", "kind": "GaleraBackup", "metadata": {"namespace": "demo", "name": "early"}, "status": {"phase": "Completed"}}]}`

// apiServer serves one cluster, and the backups of its namespace. Stores are a kind it does not have.
func apiServer(t *testing.T, cluster string) string {
	t.Helper()
	const group = `{"groupVersion": "galera-operator.io/v1alpha1", "version": "v1alpha1"}`
	answers := map[string]string{
		"/api": `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis": `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "galera-operator.io", "versions": [` +
			group + `], "preferredVersion": ` + group + `}]}`,
		"/apis/galera-operator.io/v1alpha1": `{"kind": "APIResourceList", "apiVersion": "v1",
			"groupVersion": "galera-operator.io/v1alpha1", "resources": [
			{"name": "galeraclusters", "singularName": "galeracluster", "namespaced": true, "kind": "GaleraCluster",
				"verbs": ["get", "list", "watch"]},
			{"name": "galerabackups", "singularName": "galerabackup", "namespaced": true, "kind": "GaleraBackup",
				"verbs": ["get", "list", "watch"]}]}`,
		"/apis/galera-operator.io/v1alpha1/namespaces/demo/galeraclusters/shop": cluster,
		"/apis/galera-operator.io/v1alpha1/namespaces/demo/galerabackups":       backupsOfReleases,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[strings.TrimSuffix(r.URL.Path, "/")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestOtherReleases: alongside an operator of a later or an earlier release the plugin shows what it knows, and words
// that it does not know as they are.
func TestOtherReleases(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for name, c := range map[string]struct {
		cluster, command string
		want             []string
		never            string
	}{
		"newer, status": {newer, "status shop", []string{"✗ Ready", "✓ Available", "? Encrypted", "2 of 3 nodes Synced",
			"Rebalancing: shop-1 moves to another shard",
			"Rebalance (Copying), for an unknown time", "resize shop-1", "Deferred: waits for the night", "✓ 1.4 NEW_SUITE =",
			"? postquantum", "Migrating", "Observer", "Partial",
			"18cbf30b…:7", "18cbf30b…:9:2", "cloning from shop-0", "CA, staged", "CrossSigning",
			"from Hybrid to Strict (Live), for an unknown time", "… Backups  GaleraBackup late: Uploading",
			"GaleraDatabases, GaleraProxies:"}, "days"},
		"newer, tls":     {newer, "tls shop", []string{"✓ 1.4 NEW_SUITE =", "? postquantum", "CA, staged"}, ""},
		"newer, recover": {newer, "recover shop", []string{"Migrating", "18cbf30b:9:2", "shop-1 moves to another shard"}, ""},
		"newer, json": {newer, "status shop -o json", []string{`"shards":[{"name":"a"}]`, `"severity":"Info"`, `"quic"`,
			`"related":{"backups":{"`}, ""},
		"older, status": {older, "status shop", []string{"✓ Ready", "? Available", "Restart, for an unknown time",
			"restart all", "asked for an unknown time ago", "shop-1", "Synced", "not connected"}, "days"},
		"older, tls":     {older, "tls shop", []string{"shop-0", "?"}, ""},
		"older, recover": {older, "recover shop", []string{"shop-1", "Running"}, ""},
		"backups":        {older, "backups", []string{"late", "Uploading", "early", "Completed"}, "days"},
		"backups, json": {older, "backups -o json", []string{`"lanes":4`, `"throttle":true`, `"kind":"GaleraBackupList"`},
			""},
		"backups of one": {older, "backups shop -o json", []string{`"lanes":4`}, "early"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, notes bytes.Buffer
			root := New(&out, &notes)
			root.SetArgs(append(strings.Fields(c.command), "-n", "demo", "--server", apiServer(t, c.cluster)))
			if err := root.ExecuteContext(t.Context()); err != nil {
				t.Fatalf("%v\n%s%s", err, &out, &notes)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing:\n%s%s", want, &out, &notes)
				}
			}
			if c.never != "" && strings.Contains(out.String(), c.never) {
				t.Errorf("%q is there:\n%s", c.never, &out)
			}
			if strings.HasSuffix(c.command, "json") && !json.Valid(out.Bytes()) {
				t.Errorf("no JSON: %s", &out)
			}
		})
	}
}
