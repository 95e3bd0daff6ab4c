package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const chainDir = "demo/shop/u1"

// chained stores a full backup and increments of it, b0 to bN, and returns their manifests.
func chained(t *testing.T, bucket *store.Bucket, increments int) (all []manifest.Manifest) {
	t.Helper()
	checksum := ""
	for i := range increments + 1 {
		m := manifest.Manifest{Format: manifest.Format, ID: fmt.Sprint("b", i), LSN: uint64(100 * (i + 1)),
			Compression: manifest.CompressionNone, CompletedAt: now, Parts: []manifest.Part{{Size: 1}}}
		if i > 0 {
			m.Format = manifest.IncrementFormat
			m.Base = &manifest.Base{ID: all[i-1].ID, Checksum: checksum, LSN: all[i-1].LSN, Depth: i}
		}
		checksum = rewrite(t, bucket, m)
		all = append(all, m)
	}
	return all
}

// rewrite stores a manifest, and returns its checksum.
func rewrite(t *testing.T, bucket *store.Bucket, m manifest.Manifest) string {
	t.Helper()
	text, err := json.Marshal(m)
	if err == nil {
		err = store.Write(t.Context(), bucket, path.Join(chainDir, m.ID, manifest.Name), text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Checksum(text)
}

// TestChain: a backup is restored with all that it adds to, as they were when it was made, or not at all.
func TestChain(t *testing.T) {
	for says, change := range map[string]func(bucket *store.Bucket, all []manifest.Manifest) error{
		"": func(*store.Bucket, []manifest.Manifest) error { return nil },
		"is an increment of b1, which the store does not have": func(b *store.Bucket, _ []manifest.Manifest) error {
			return b.Delete(t.Context(), chainDir+"/b1/"+manifest.Name)
		},
		"is an increment of b0, which the store does not have": func(b *store.Bucket, _ []manifest.Manifest) error {
			return b.Delete(t.Context(), chainDir+"/b0/"+manifest.Name)
		},
		"another one than when": func(b *store.Bucket, all []manifest.Manifest) error {
			all[1].Node = "another"
			rewrite(t, b, all[1])
			return nil
		},
	} {
		bucket := memblob.OpenBucket(nil)
		all := chained(t, bucket, 2)
		m := all[2]
		if err := change(bucket, all); err != nil {
			t.Fatal(err)
		}
		got, err := chain(t.Context(), bucket, chainDir, m)
		reason, final := explain(err)
		if says == "" && (err != nil || len(got) != 3 || got[0].ID != "b2" || got[2].ID != "b0") ||
			says != "" && (reason != task.ReasonBackupDamaged || !final || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %d, %v", says, len(got), err)
		}
		if why, err := based(t.Context(), bucket, chainDir, m); err != nil || (why == "") != (says == "") {
			t.Errorf("%q: a new increment is refused: %q, %v", says, why, err)
		}
		_ = bucket.Close()
	}
}

// TestBrokenChains: of an increment without its base no restore begins, and no check counts it.
func TestBrokenChains(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	chained(t, bucket, 3)
	broken := func() (out []string) {
		t.Helper()
		all, err := list(t.Context(), bucket, chainDir)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if p.orphan != (p.broken != nil) {
				t.Errorf("%+v", p)
			}
			if p.broken != nil {
				out = append(out, p.id)
			}
		}
		slices.Sort(out)
		return out
	}
	if got := broken(); got != nil {
		t.Errorf("of a whole chain: %v", got)
	}
	if err := bucket.Delete(t.Context(), chainDir+"/b1/"+manifest.Name); err != nil {
		t.Fatal(err)
	}
	if got := broken(); strings.Join(got, " ") != "b2 b3" {
		t.Errorf("without b1: %v", got)
	}
}

// TestOrphans: an old increment without its base keeps no restore from the latest backup, or from a point in time. One
// that is the latest does: an older one is restored only when it is named.
func TestOrphans(t *testing.T) {
	at := func(id string, hour int, changes ...func(*place)) place {
		p := place{dir: chainDir, id: id, completed: now.Add(time.Duration(hour) * time.Hour)}
		for _, change := range changes {
			change(&p)
		}
		return p
	}
	orphan := func(p *place) { p.base, p.orphan, p.broken = "gone", true, errors.New("its base is gone") }
	unread := func(p *place) { p.broken, p.completed = errors.New("it cannot be read"), time.Time{} }
	for name, c := range map[string]struct {
		found []place
		find  task.Find
		want  string // "" if it is refused
	}{
		"an old one": {[]place{at("full", 2), at("old", 1, orphan)}, task.Find{}, "full"},
		"the latest": {[]place{at("old", 3, orphan), at("full", 2)}, task.Find{}, ""},
		"the latest, with a point in time": {[]place{at("old", 3, orphan), at("full", 2)},
			task.Find{Target: &binlog.Target{Latest: true}}, "full"},
		"one that cannot be read": {[]place{at("full", 2), at("u", 0, unread)}, task.Find{}, ""},
		"one that cannot be read, with a point in time": {[]place{at("full", 2), at("u", 0, unread)},
			task.Find{Target: &binlog.Target{Latest: true}}, ""},
		"that is named": {[]place{at("full", 2), at("old", 1, orphan)}, task.Find{ID: "old"}, "old"}, // its chain is read
		"that is named, with a point in time": {[]place{at("full", 2), at("old", 1, orphan)},
			task.Find{ID: "old", Target: &binlog.Target{Latest: true}}, "old"},
	} {
		got, err := pick(c.found, c.find)
		reason, _ := explain(err)
		if c.want == "" && reason != task.ReasonBackupDamaged ||
			c.want != "" && (err != nil || len(got) != 1 || got[0].id != c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestRemoveChain: a backup that an increment adds to stays, and then goes.
func TestRemoveChain(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	chained(t, bucket, 2)
	for _, id := range []string{"b0", "b1"} {
		err := remove(t.Context(), bucket, chainDir, id)
		if reason, final := explain(err); reason != task.ReasonBackupNeeded || final {
			t.Errorf("%s: %v", id, err)
		}
		if there, err := store.Exists(t.Context(), bucket, path.Join(chainDir, id, manifest.Name)); !there || err != nil {
			t.Errorf("%s is gone: %v", id, err)
		}
	}
	for _, id := range []string{"b2", "b1", "b0"} {
		if err := remove(t.Context(), bucket, chainDir, id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestEnded: what the node has sent, and not what was asked for, is in the manifest.
func TestEnded(t *testing.T) {
	base := &manifest.Base{ID: "b0", LSN: 100, Depth: 1}
	for name, c := range map[string]struct {
		base    *manifest.Base
		end     agentapi.BackupEnd
		format  int
		refused bool
	}{
		"a full one":                   {nil, agentapi.BackupEnd{LSN: 7}, manifest.Format, false},
		"a full one instead":           {base, agentapi.BackupEnd{LSN: 7, Full: "x"}, manifest.Format, false},
		"an increment":                 {base, agentapi.BackupEnd{LSN: 7, FromLSN: 100}, manifest.IncrementFormat, false},
		"an increment of another":      {base, agentapi.BackupEnd{LSN: 7, FromLSN: 99}, 0, true},
		"an increment without an end":  {base, agentapi.BackupEnd{FromLSN: 100}, 0, true},
		"one that nothing asked for":   {nil, agentapi.BackupEnd{LSN: 7, FromLSN: 100}, 0, true},
		"an agent that knows no bases": {base, agentapi.BackupEnd{}, manifest.Format, false},
	} {
		m, err := ended(manifest.Manifest{Base: c.base}, c.end, now)
		if (err != nil) != c.refused || err == nil && (m.Format != c.format || m.LSN != c.end.LSN ||
			(m.Base != nil) != (c.format == manifest.IncrementFormat)) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}
