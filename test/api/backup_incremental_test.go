package api

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestIncrementalUpdate: what a backup adds to is decided when it is made; those of a schedule may be made otherwise
// from now on.
func TestIncrementalUpdate(t *testing.T) {
	const backup, sched = "GaleraBackup", "GaleraBackupSchedule"
	for name, tc := range map[string]struct{ kind, before, after, want string }{
		"an increment later": {backup, `{clusterRef: {name: a}, storeRef: {name: s}}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, incremental: {}}`, "incremental cannot be changed"},
		"a longer chain": {backup, `{clusterRef: {name: a}, storeRef: {name: s}, incremental: {}}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, incremental: {maxIncrements: 7}}`, "incremental cannot be changed"},
		"an increment as it is": {backup, `{clusterRef: {name: a}, storeRef: {name: s}, incremental: {}}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, incremental: {maxIncrements: 6}, verify: Checksum}`, ""},
		"increments of a schedule, later": {sched,
			`{schedule: "@daily", template: {clusterRef: {name: a}, storeRef: {name: s}}}`,
			`{schedule: "@daily", template: {clusterRef: {name: a}, storeRef: {name: s}, incremental: {maxIncrements: 3}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			u := backupKind(t, tc.kind, "incremental", tc.before)
			must(t, kube.Create(ctx, u))
			t.Cleanup(func() { _ = kube.Delete(ctx, u) })
			after := backupKind(t, tc.kind, "incremental", tc.after)
			after.SetResourceVersion(u.GetResourceVersion())
			mustSay(t, kube.Update(ctx, after, client.DryRunAll), tc.want)
		})
	}
}
