package runner

import (
	"path"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestKnownDamaged: a restore that names no backup begins with none that a test has found damaged, nor with an
// increment of one. Where there is no other, it names them, and how one is restored all the same.
func TestKnownDamaged(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	headsOf(t, bucket, 7, map[string][]uint64{"a": {3, 4, 5, 6}}, "a")
	for id, gtid := range map[string]string{"b1": "7-1-3", "b2": "7-1-5"} {
		backupIn(t, bucket, "a", id, gtid)
	}
	in := func(ids ...string) (out []string) {
		for _, id := range ids {
			out = append(out, path.Join(archiveOf, id))
		}
		return out
	}
	latest, early := &binlog.Target{Latest: true}, &binlog.Target{Time: now.Add(-time.Hour)}
	for name, c := range map[string]struct {
		find         task.Find
		want, reason string
		says         string
	}{
		"none":                   {task.Find{}, "b2", "", ""},
		"none, to a point":       {task.Find{Target: latest}, "b2", "", ""},
		"the latest":             {task.Find{Damaged: in("b2")}, "b1", "", ""},
		"the latest, to a point": {task.Find{Damaged: in("b2"), Target: latest}, "b1", "", ""},
		"of another cluster":     {task.Find{Damaged: []string{"demo/other/u1/b2"}, Target: latest}, "b2", "", ""},
		"the one that is named":  {task.Find{ID: "b2", Damaged: in("b2"), Target: latest}, "b2", "", ""},
		"all": {task.Find{Damaged: in("b1", "b2")}, "", task.ReasonBackupDamaged,
			archiveOf + "/b2, " + archiveOf + "/b1 damaged"},
		"all, to a point": {task.Find{Damaged: in("b1", "b2"), Target: latest, IDField: "spec.from.store.id"}, "",
			task.ReasonBackupDamaged, "set spec.from.store.id to"},
		"all, and no field": {task.Find{Damaged: in("b1", "b2"), Target: latest}, "", task.ReasonBackupDamaged,
			"Make another backup"},
		"none leads to the point": {task.Find{Damaged: in("b2"), Target: early}, "", task.ReasonPointInTimeUnavailable,
			"a test has found " + archiveOf + "/b2 damaged"},
	} {
		c.find.Dir = archiveOf
		base, _, err := locate(t.Context(), bucket, c.find)
		reason, final := explain(err)
		if c.want != "" && (err != nil || base != path.Join(archiveOf, c.want)) ||
			c.want == "" && (reason != c.reason || !final || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %s, %s: %v", name, base, reason, err)
		}
	}
}

// TestKnownDamagedChain: what adds to a damaged backup is left out with it, and one whose manifest cannot be read is no
// question once it is known to be damaged.
func TestKnownDamagedChain(t *testing.T) {
	of := func(id, base string) place { return place{dir: "d", id: id, base: base, completed: now} }
	unreadable := of("x", "")
	unreadable.broken = errUnpacked
	for name, c := range map[string]struct {
		found   []place
		damaged []string
		want    string
	}{
		"an increment": {[]place{of("i2", "i1"), of("i1", "f"), of("f", "")}, []string{"d/i1"}, "f"},
		"the full one": {[]place{of("i2", "i1"), of("g", ""), of("i1", "f"), of("f", "")}, []string{"d/f"},
			"g"},
		"an unreadable one":          {[]place{unreadable, of("f", "")}, []string{"d/x"}, "f"},
		"of an ID in another folder": {[]place{of("f", "")}, []string{"e/f"}, "f"},
	} {
		found, err := pick(c.found, task.Find{Dir: "d", Damaged: c.damaged})
		if err != nil || len(found) != 1 || found[0].id != c.want {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}
