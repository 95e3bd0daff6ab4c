package galerabackup

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
)

// cached is a client that has lists alone.
type cached struct {
	client.Client
	lists
}

func (c cached) List(ctx context.Context, to client.ObjectList, opts ...client.ListOption) error {
	return c.lists.List(ctx, to, opts...)
}

// TestOther: one backup of a cluster at a time, and none of the owner's waits for a clone elsewhere.
func TestOther(t *testing.T) {
	one := func(namespace, name, of, phase string) v1alpha1.GaleraBackup {
		b := v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			UID: types.UID(namespace + name)}}
		b.Spec.ClusterRef, b.Status.Phase = v1alpha1.BackupClusterRef{Name: "shop", Namespace: of}, phase
		return b
	}
	const running, pending = v1alpha1.BackupRunning, v1alpha1.BackupPending
	own, clone := one("prod", "nightly", "", pending), one("dev", "copy-clone", "prod", pending)
	for name, tc := range map[string]struct {
		of   v1alpha1.GaleraBackup
		with v1alpha1.GaleraBackup
		want string
	}{
		"alone":                                 {own, one("prod", "nightly", "", running), ""}, // itself
		"next to one that waits":                {own, one("prod", "now", "", pending), ""},
		"next to another one":                   {own, one("prod", "now", "", running), "now"},
		"next to another one, reported in full": {own, one("prod", "now", "prod", running), "now"},
		"of a cluster of that name elsewhere":   {own, one("test", "now", "", running), ""},
		"the owner's, during a clone elsewhere": {own, one("dev", "copy-clone", "prod", running), ""},
		"a clone's, during the owner's":         {clone, one("prod", "now", "", running), "of another namespace"},
		"a clone's, during another clone's":     {clone, one("test", "copy-clone", "prod", running), "of another namespace"},
		"a clone's, during one of its author's": {clone, one("dev", "two-clone", "prod", running), "two-clone"},
		"a clone's, next to a shop of its own":  {clone, one("dev", "now", "", running), ""},
	} {
		r := Reconciler{Client: cached{lists: lists{backups: []v1alpha1.GaleraBackup{tc.with}}}}
		if got, err := r.other(context.Background(), &tc.of); got != tc.want || err != nil {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// TestScheduledAs: the Job of a clone's copy gets neither the hosts nor the priority of a cluster elsewhere.
func TestScheduledAs(t *testing.T) {
	source, clone := &v1alpha1.GaleraCluster{}, &v1alpha1.GaleraCluster{}
	source.Namespace, clone.Namespace = "prod", "dev"
	if c := scheduledAs(taking.Facts{Cluster: source}); c != source {
		t.Errorf("a backup is scheduled as %+v", c)
	}
	if c := scheduledAs(taking.Facts{Cluster: source, Clone: clone}); c != clone {
		t.Errorf("a clone's copy is scheduled as %+v", c)
	}
}
