//go:build integration

package runner

import (
	"encoding/json"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestServices: a backup's manifest is written, listed, read back and removed.
func TestServices(t *testing.T) {
	for _, service := range []string{task.ServiceS3, task.ServiceGCS, task.ServiceAzure} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			ctx, s := t.Context(), storetest.Start(t, service)
			s.Prefix = "shops"
			bucket, err := store.OpenWith(ctx, s.Store, s.Dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = bucket.Close() }()
			m := manifest.Manifest{Format: 1, ID: "b1", Namespace: "demo", Cluster: "shop", ClusterUID: "u1",
				Compression: manifest.CompressionNone, Parts: []manifest.Part{{Size: 1}}, CompletedAt: time.Now().UTC()}
			base := path.Join(manifest.Dir(m.Namespace, m.Cluster, m.ClusterUID), m.ID)
			text, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []struct{ key, data string }{{path.Join(base, manifest.PartName(0)), "x"},
				{path.Join(base, manifest.Name), string(text)}, {"demo/shop/u1/half/" + manifest.PartName(0), "x"}} {
				if err := put(ctx, bucket, o.key, []byte(o.data)); err != nil {
					t.Fatal(err)
				}
			}
			reported, err := check(ctx, bucket, task.Check{})
			if err != nil || reported.Checked.Backups != 1 || reported.Checked.Latest[0].ID != "b1" ||
				time.Since(reported.Checked.Latest[0].CompletedAt).Abs() > time.Hour {
				t.Fatalf("%+v, %v", reported.Checked, err)
			}
			if have, _, err := readManifest(ctx, bucket, base); err != nil || have.ID != m.ID ||
				!have.CompletedAt.Equal(m.CompletedAt) {
				t.Errorf("%+v, %v", have, err)
			}
			if err := remove(ctx, bucket, path.Dir(base), m.ID); err != nil {
				t.Fatal(err)
			}
			if _, _, err := readManifest(ctx, bucket, base); err == nil || !strings.Contains(err.Error(), "no complete backup") {
				t.Errorf("it was removed: %v", err)
			}
			s.Use(t, s.Wrong)
			if bucket, err = store.OpenWith(ctx, s.Store, s.Dir); err != nil {
				t.Fatal(err)
			}
			if _, err := check(ctx, bucket, task.Check{}); err == nil || !strings.Contains(err.Error(), s.Refusal) {
				t.Errorf("with wrong credentials: %v", err)
			}
		})
	}
}
