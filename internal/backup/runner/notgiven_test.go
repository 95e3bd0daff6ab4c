package runner

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestNotGiven: a backup whose manifest the store does not give out keeps no restore to a time, or to the end of the
// archive, from beginning with another one. Where no other one is known, that is not taken for none, and the message
// has what to do: no field names a backup for a second site.
func TestNotGiven(t *testing.T) {
	of := memblob.OpenBucket(nil)
	defer func() { _ = of.Close() }()
	headsOf(t, of, 7, map[string][]uint64{"a": {3, 4, 5, 6}}, "a")
	for id, gtid := range map[string]string{"b1": "7-1-3", "b2": "7-1-5"} {
		backupIn(t, of, "a", id, gtid)
	}
	latest, gtid := &binlog.Target{Latest: true}, &binlog.Target{GTID: binlog.GTID{Domain: 7, Server: 1, Seq: 6}}
	early := &binlog.Target{Time: now.Add(-time.Hour)}
	in := func(ids ...string) (out []string) {
		for _, id := range ids {
			out = append(out, path.Join(archiveOf, id))
		}
		return out
	}
	const field = "spec.bootstrapFrom.store.id"
	for name, c := range map[string]struct {
		refused      string // IDs
		find         task.Find
		want, reason string
		says         string
	}{
		"none":                   {"", task.Find{Target: latest}, "b2", "", ""},
		"an old one":             {"b1", task.Find{Target: latest}, "b2", "", ""},
		"the latest":             {"b2", task.Find{Target: latest}, "b1", "", ""},
		"the latest, and a time": {"b2", task.Find{Target: &binlog.Target{Time: now.Add(150 * time.Second)}}, "b1", "", ""},
		"another one is named":   {"b1", task.Find{ID: "b2", Target: latest}, "b2", "", ""},
		"it is named":            {"b1", task.Find{ID: "b1", Target: latest}, "", task.ReasonStoreRefused, "InvalidObjectState"},
		"all":                    {"b1 b2", task.Find{Target: latest}, "", task.ReasonStoreRefused, "or make another backup"},
		"all, and a time":        {"b1 b2", task.Find{Target: early}, "", task.ReasonStoreRefused, archiveOf + "/b1 ("},
		"and another is damaged": {"b1", task.Find{Target: latest, Damaged: in("b2")}, "", task.ReasonStoreRefused, "damaged"},
		"it is known to be so":   {"b2", task.Find{Target: latest, Damaged: in("b2")}, "b1", "", ""},
		"all that is, is damaged": {"b2", task.Find{Target: latest, Damaged: in("b1", "b2")}, "", task.ReasonBackupDamaged,
			"Make another backup"},
		"what is left leads not":   {"b1", task.Find{Target: early}, "", task.ReasonPointInTimeUnavailable, "b1/manifest.json"},
		"a GTID, which may be two": {"b1", task.Find{Target: gtid, IDField: field}, "", task.ReasonStoreRefused, "set " + field},
		"no point in time":         {"b1", task.Find{IDField: field}, "", task.ReasonStoreRefused, "set " + field + " to"},
		"no field":                 {"b1", task.Find{}, "", task.ReasonStoreRefused, "remove the directory"},
	} {
		bucket := judged(t, of, func(r *http.Request, _ []byte, _ bool) (int, string) {
			id := path.Base(path.Dir(r.URL.Path))
			if r.Method == http.MethodGet && path.Base(r.URL.Path) == manifest.Name &&
				slices.Contains(strings.Fields(c.refused), id) {
				return http.StatusForbidden, "InvalidObjectState"
			}
			return 0, ""
		})
		for _, c.find.Dir = range []string{archiveOf, path.Dir(archiveOf)} {
			base, replay, err := locate(t.Context(), bucket, c.find)
			reason, final := explain(err)
			if c.want != "" && (err != nil || path.Base(base) != c.want || c.find.Target != nil && replay == nil) ||
				c.want == "" && (reason != c.reason || !final || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%s: %s, %s: %v", name, base, reason, err)
			}
			if c.find.Target == early && err != nil && strings.Contains(err.Error(), "another backup") {
				t.Errorf("%s: none that is made now leads there: %v", name, err)
			}
			if err != nil && c.find.IDField == "" && strings.Contains(err.Error(), "set ") {
				t.Errorf("%s: there is no such field: %v", name, err)
			}
		}
		_ = bucket.Close()
	}
}

// TestNotGivenChain: what adds to a backup whose manifest the store does not give out is left out with it.
func TestNotGivenChain(t *testing.T) {
	of := func(id, base string) *place { return &place{dir: "d", id: id, base: base, completed: now} }
	refused := of("f2", "")
	refused.refused, refused.broken = true, errUnpacked
	all := []*place{of("i4", "i3"), of("i3", "f2"), refused, of("f1", "")}
	brokenChains(all)
	var found []place
	for _, p := range all {
		found = append(found, *p)
	}
	got, err := pick(found, task.Find{Dir: "d", Target: &binlog.Target{Latest: true}})
	if err != nil || len(got) != 1 || got[0].id != "f1" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := pick(found, task.Find{Dir: "d"}); err == nil {
		t.Errorf("the latest: %+v", got)
	}
}
