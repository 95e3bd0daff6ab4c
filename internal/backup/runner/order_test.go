package runner

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestLatestOfALine: within a line of history the latest backup is the one that is furthest in it, whatever the clocks
// said. Of two lines, the clocks decide.
func TestLatestOfALine(t *testing.T) {
	type backup struct {
		line  string
		seqno int
		hours int
	}
	for name, c := range map[string]struct {
		all  []backup
		want string // their indices, the latest first
	}{
		"in order":                      {[]backup{{"a", 1, 1}, {"a", 2, 2}, {"a", 3, 3}}, "210"},
		"a clock was ahead":             {[]backup{{"a", 1, 30}, {"a", 2, 2}, {"a", 3, 3}}, "210"},
		"a clock was behind":            {[]backup{{"a", 1, 4}, {"a", 2, 5}, {"a", 3, 3}}, "210"},
		"the line before was lost":      {[]backup{{"a", 1000, 1}, {"b", 600, 2}}, "10"},
		"and is named otherwise":        {[]backup{{"b", 1000, 1}, {"a", 600, 2}}, "10"},
		"ahead in the line that is new": {[]backup{{"a", 1000, 1}, {"b", 600, 30}, {"b", 700, 3}}, "210"},
		"of a line that is not known":   {[]backup{{"", 9, 1}, {"", 8, 2}}, "10"},
		"nothing was written between":   {[]backup{{"a", 1, 1}, {"a", 1, 2}}, "10"},
	} {
		bucket := memblob.OpenBucket(nil)
		for i, b := range c.all {
			m := baseManifest(fmt.Sprint(i), "")
			m.Line = binlog.Line{History: oneHistory, ID: b.line}
			m.Position = fmt.Sprintf("%s:%d", oneHistory, b.seqno)
			m.CompletedAt = now.Add(time.Duration(b.hours) * time.Hour)
			text, err := json.Marshal(m)
			if err == nil {
				err = store.Write(t.Context(), bucket, path.Join(archiveOf, m.ID, manifest.Name), text)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		found, err := list(t.Context(), bucket, archiveOf)
		var have []string
		for _, p := range found {
			have = append(have, p.id)
		}
		if got := strings.Join(have, ""); err != nil || got != c.want {
			t.Errorf("%s: %s, want %s, %v", name, got, c.want, err)
		}
		if base, _, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf}); err != nil ||
			path.Base(base) != c.want[:1] {
			t.Errorf("%s: %s is the latest, %v", name, base, err)
		}
		_ = bucket.Close()
	}
}

// TestLatestWithAClockBehind: the last backup of a line whose Job's clock was behind does not make an older line the
// latest one.
func TestLatestWithAClockBehind(t *testing.T) {
	at := func(line string, seqno int64, day, completed int) place {
		return place{id: fmt.Sprintf("202611%02d-000000-0123abcd", day), line: line, seqno: seqno,
			completed: time.Date(2026, 11, completed, 1, 0, 0, 0, time.UTC)}
	}
	for name, all := range map[string][]place{
		"behind":                     {at("b", 30, 13, 8), at("b", 20, 12, 12), at("b", 10, 11, 11), at("a", 99, 10, 10)},
		"the only one of the line":   {at("b", 10, 11, 8), at("a", 99, 10, 10), at("a", 98, 9, 9)},
		"ahead in the line before":   {at("b", 10, 11, 11), at("a", 99, 10, 10), at("a", 98, 9, 28)},
		"behind in the line before":  {at("b", 10, 11, 11), at("a", 99, 10, 2), at("a", 98, 9, 9)},
		"behind, of unknown history": {at("", 0, 11, 8), at("", 0, 10, 10)},
	} {
		got := latestFirst(slices.Clone(all))
		if !slices.Equal(got, all) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
