//go:build integration

package runner

import (
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestNotGivenByAStore: a second site begins while a manifest of the cluster that it follows lies in an archive.
func TestNotGivenByAStore(t *testing.T) {
	s := storetest.Start(t, task.ServiceS3)
	bucket, err := store.OpenWith(t.Context(), s.Store, s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	headsOf(t, bucket, 7, map[string][]uint64{"a": {3, 4, 5, 6}}, "a")
	backupIn(t, bucket, "a", "b1", "7-1-3")
	backupIn(t, bucket, "a", "b2", "7-1-5")
	find := task.Find{Dir: path.Dir(archiveOf), Target: &binlog.Target{Latest: true}}
	for refused, want := range map[string]string{"b1": "b2", "b2": "b1", "": ""} { // "" is all
		key := path.Join(refused, manifest.Name)
		s.Refuse(func(r *http.Request) (int, string) { // the emulator moves no object to an archive
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, key) {
				return http.StatusForbidden, "<Error><Code>InvalidObjectState</Code><Message>The operation is not valid " +
					"for the object's storage class</Message></Error>"
			}
			return 0, ""
		})
		base, replay, err := locate(t.Context(), bucket, find)
		if reason, final := explain(err); want == "" && (reason != task.ReasonStoreRefused || !final ||
			!strings.Contains(err.Error(), "InvalidObjectState")) ||
			want != "" && (err != nil || path.Base(base) != want || replay == nil || replay.To != 4) {
			t.Errorf("without %q: %s, %+v, %v", refused, base, replay, err)
		}
	}
}
