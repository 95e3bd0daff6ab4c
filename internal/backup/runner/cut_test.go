//go:build integration

package runner

import (
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"sync/atomic"
	"testing"
	"time"

	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// shelf is a bucket of a service, with what a Job may have left in it.
type shelf struct {
	*store.Bucket
	service *storetest.Service
}

// onEach runs a test with a bucket of each service, side by side: they mostly wait.
func onEach(t *testing.T, test func(t *testing.T, s shelf)) {
	for _, service := range []string{task.ServiceS3, task.ServiceGCS, task.ServiceAzure} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			s := storetest.Start(t, service)
			bucket, err := store.OpenWith(t.Context(), s.Store, s.Dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = bucket.Close() })
			test(t, shelf{bucket, s})
		})
	}
}

// manifestOf is the manifest of a backup of a cluster demo/shop.
func manifestOf(uid, id string) manifest.Manifest {
	return manifest.Manifest{Format: 1, ID: id, Namespace: "demo", Cluster: "shop", ClusterUID: uid,
		Compression: manifest.CompressionNone,
		Parts:       []manifest.Part{{Size: 1}}, CompletedAt: time.Now().UTC()}
}

func base(m manifest.Manifest) string {
	return path.Join(manifest.Dir(m.Namespace, m.Cluster, m.ClusterUID), m.ID)
}

// leave puts there what a Job leaves that is killed after its last part, or after its manifest.
func (s shelf) leave(t *testing.T, m manifest.Manifest, whole bool) {
	t.Helper()
	for i := range 2 {
		if err := put(t.Context(), s.Bucket, path.Join(base(m), manifest.PartName(i)), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if !whole {
		return
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = put(t.Context(), s.Bucket, path.Join(base(m), manifest.Name), text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// empty reports whether nothing of a backup is there.
func (s shelf) empty(t *testing.T, m manifest.Manifest) bool {
	t.Helper()
	_, err := s.List(&blob.ListOptions{Prefix: base(m) + "/"}).Next(t.Context())
	return err != nil
}

// TestKilled: a Job that is killed before its manifest leaves no backup, and the next attempt removes its parts; one
// that is killed after it has made one, which the next attempt finds.
func TestKilled(t *testing.T) {
	onEach(t, func(t *testing.T, s shelf) {
		half, whole := manifestOf("u1", "half"), manifestOf("u1", "whole")
		s.leave(t, half, false)
		s.leave(t, whole, true)
		reported, err := check(t.Context(), s.Bucket, task.Check{})
		if err != nil || reported.Checked.Backups != 1 || reported.Checked.Latest[0].ID != "whole" {
			t.Errorf("a half one is counted: %+v, %v", reported.Checked, err)
		}
		// There is no node here: it fails, after the store was put in order.
		var f failure
		if _, err := backup(t.Context(), s.Bucket, task.Backup{Manifest: half}); !errors.As(err, &f) ||
			f.reason != task.ReasonNodeFailed || f.fatal {
			t.Errorf("%v", err)
		}
		if !s.empty(t, half) {
			t.Error("parts of the attempt before are left")
		}
		done, err := backup(t.Context(), s.Bucket, task.Backup{Manifest: whole})
		if err != nil || done.Backup == nil || done.Backup.ID != "whole" {
			t.Errorf("what was complete is made again: %+v, %v", done, err)
		}
	})
}

// TestShared: clusters of one name that share a prefix, here or in two Kubernetes, do not mix: what is removed of one
// stays of the other.
func TestShared(t *testing.T) {
	onEach(t, func(t *testing.T, s shelf) {
		ours, theirs := manifestOf("11111111-a", "b1"), manifestOf("22222222-b", "b1")
		s.leave(t, ours, true)
		s.leave(t, theirs, true)
		reported, err := check(t.Context(), s.Bucket, task.Check{})
		if err != nil || reported.Checked.Backups != 2 {
			t.Errorf("%+v, %v", reported.Checked, err)
		}
		if err := remove(t.Context(), s.Bucket, path.Dir(base(ours)), ours.ID); err != nil {
			t.Fatal(err)
		}
		if m, _, err := readManifest(t.Context(), s.Bucket, base(theirs)); err != nil || m.ClusterUID != theirs.ClusterUID {
			t.Errorf("%+v, %v", m, err)
		}
		if !s.empty(t, ours) {
			t.Error("it was to be removed")
		}
	})
}

// TestAwayForAWhile: a store that fails in the middle is asked again, and what was to be stored is.
func TestAwayForAWhile(t *testing.T) {
	onEach(t, func(t *testing.T, s shelf) {
		if err := put(t.Context(), s.Bucket, "another", []byte("x")); err != nil { // Google's client has a token now
			t.Fatal(err)
		}
		var asked atomic.Int32
		s.service.Refuse(func(*http.Request) (int, string) {
			// More often than the clients of the services try by themselves.
			if asked.Add(1) <= 8 {
				return http.StatusServiceUnavailable, ""
			}
			return 0, ""
		})
		if err := put(t.Context(), s.Bucket, "part", []byte("x")); err != nil {
			t.Fatal(err)
		}
		if have, err := s.ReadAll(t.Context(), "part"); err != nil || string(have) != "x" {
			t.Errorf("%q, %v", have, err)
		}
		if n := asked.Load(); n <= 8 {
			t.Errorf("it was asked %d times only", n)
		}
	})
}
