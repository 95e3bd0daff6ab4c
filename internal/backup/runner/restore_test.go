package runner

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// volume is one of a node, in a directory of the test.
func volume(t *testing.T) places {
	t.Helper()
	p := defaultPlaces()
	dir := t.TempDir()
	p.Places = platform.Places{Volume: dir, Data: filepath.Join(dir, "data"), State: filepath.Join(dir, "state"), Tmp: dir}
	p.work = filepath.Join(dir, "data.restore")
	if err := os.MkdirAll(p.State, 0o750); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLock: one attempt at a time fills a volume. The next one is made when the one before has ended.
func TestLock(t *testing.T) {
	p := volume(t)
	unlock, err := lock(p)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lock(p)
	var f failure
	if !errors.As(err, &f) || f.fatal || !strings.Contains(err.Error(), "is still at work on the volume") {
		t.Errorf("a second attempt: %v", err)
	}
	unlock()
	unlock, err = lock(p)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// TestInspect: a volume with data is refused, unless they are of this very restore.
func TestInspect(t *testing.T) {
	asked := task.Restore{ID: "b1", History: "h1"}
	database := func(p places) {
		if err := os.MkdirAll(filepath.Join(p.Data, "mysql"), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.Data, "ibdata1"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	note := func(id, history string) func(places) {
		return func(p places) {
			text, err := json.Marshal(restored{task.Restored{ID: id, Position: "h1:8"}, history})
			if err == nil {
				err = os.WriteFile(p.note(), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		made    []func(places)
		done    bool
		refused bool
	}{
		"an empty volume":    {nil, false, false},
		"a database":         {[]func(places){database}, false, true},
		"this restore, done": {[]func(places){database, note("b1", "h1")}, true, false},
		"of another backup":  {[]func(places){database, note("b2", "h1")}, false, true},
		"of another cluster": {[]func(places){database, note("b1", "h2")}, false, true},
		"a note that cannot be read": {[]func(places){database, func(p places) {
			if err := os.WriteFile(p.note(), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}}, false, false},
		"a copy of a node that has not ended": {[]func(places){func(p places) {
			if err := os.MkdirAll(filepath.Join(p.Data, ".sst"), 0o750); err != nil {
				t.Fatal(err)
			}
		}}, false, true},
		"a note, and the data not yet":  {[]func(places){note("b1", "h1")}, false, false},
		"of another one, not yet there": {[]func(places){note("b2", "h2")}, false, false},
	} {
		p := volume(t)
		for _, do := range c.made {
			do(p)
		}
		done, err := inspect(p, asked)
		var f failure
		if (done != nil) != c.done || errors.As(err, &f) != c.refused || c.refused &&
			(!f.fatal || f.reason != task.ReasonVolumeNotEmpty) {
			t.Errorf("%s: %+v %v", name, done, err)
		}
	}
}

// TestFits: what the image's server, or the host's processor, cannot read is refused for good, with what to set.
func TestFits(t *testing.T) {
	for name, c := range map[string]struct {
		made, arch    string
		version, says string
	}{
		"the same":                  {"11.8.6-MariaDB", "amd64", "11.8.9-MariaDB", ""},
		"a later image":             {"10.11.8-MariaDB", "amd64", "11.8.9-MariaDB", ""},
		"an earlier image":          {"11.8.6-MariaDB", "amd64", "10.11.8-MariaDB", "set spec.image"},
		"another processor":         {"11.8.6-MariaDB", "arm64", "11.8.9-MariaDB", "kubernetes.io/arch: arm64"},
		"a processor it names none": {"11.8.6-MariaDB", "", "11.8.9-MariaDB", ""},
	} {
		err := fits(manifest.Manifest{ServerVersion: c.made, Arch: c.arch}, c.version, "amd64")
		var f failure
		if c.says == "" && err != nil || c.says != "" && (!errors.As(err, &f) || !f.fatal ||
			f.reason != task.ReasonVersionRefused ||
			!strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRequiredSpace: a volume without space for the data is reported before anything is unpacked, and tried again: it
// may be made larger.
func TestRequiredSpace(t *testing.T) {
	p := volume(t)
	if err := roomFor(p, 1, "the backup's data"); err != nil {
		t.Error(err)
	}
	var f failure
	if err := roomFor(p, 1<<60, "the backup's data"); !errors.As(err, &f) || f.fatal || f.reason != task.ReasonDiskFull ||
		!strings.Contains(err.Error(), "spec.storage.size") {
		t.Errorf("%v", err)
	}
}

// TestPrepareMemory: applying the log gets half of the container's memory, within bounds, and the default without a
// limit.
func TestPrepareMemory(t *testing.T) {
	for limit, want := range map[string]int64{"max\n": 0, "": 0, "104857600\n": 0, "1073741824\n": 512 << 20,
		"274877906944\n": 8 << 30} {
		if got := prepareMemory(limit); got != want {
			t.Errorf("with the limit %q: %d MiB, want %d", limit, got>>20, want>>20)
		}
	}
}

// TestPrepareArgs: applying the log may open as many files as the container may, whatever the soft limit is.
func TestPrepareArgs(t *testing.T) {
	for want, c := range map[string]struct {
		memory string
		files  uint64
	}{
		"--prepare --target-dir=/d --tmpdir=/t":                           {"max", 0},
		"--prepare --target-dir=/d --tmpdir=/t --open-files-limit=524288": {"max", 524288},
		"--prepare --target-dir=/d --tmpdir=/t --use-memory=512M --open-files-limit=1048576": {"1073741824",
			math.MaxUint64},
	} {
		if have := strings.Join(prepareArgs("/d", "/t", c.memory, c.files), " "); have != want {
			t.Errorf("%s\nwant %s", have, want)
		}
	}
}
