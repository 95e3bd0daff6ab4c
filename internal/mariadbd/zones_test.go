package mariadbd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestWriteZones: what a failed tool has printed is not completed, so that it cannot replace the tables.
func TestWriteZones(t *testing.T) {
	for name, c := range map[string]struct {
		script      string
		interrupted bool
		want        string
		failed      error
	}{
		"it works":       {"echo 'INSERT INTO t VALUES (1);'", false, "before INSERT INTO t VALUES (1);\nafter", nil},
		"no tool":        {"", false, "before ", nil},
		"it fails":       {"echo INSERT; echo 'no such zone' >&2; exit 3", false, "", errTool},
		"it is killed":   {"kill -SEGV $$", false, "", errTool},
		"an interrupted": {"sleep 60", true, "", context.Canceled},
	} {
		dir, tool := t.TempDir(), ""
		if c.script != "" {
			tool = filepath.Join(dir, "tool")
			if err := os.WriteFile(tool, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		if c.interrupted {
			cancel()
		}
		path := filepath.Join(dir, "zones.sql")
		err := writeZones(ctx, &platform.ProcessTable{}, platform.Places{Tmp: dir}, tool, path, "before ", "after")
		cancel()
		if !errors.Is(err, c.failed) {
			t.Errorf("%s: %v, want %v", name, err, c.failed)
		}
		written, _ := os.ReadFile(path)
		if c.failed == nil && string(written) != c.want || c.failed != nil && strings.Contains(string(written), "after") {
			t.Errorf("%s: %q", name, written)
		}
	}
}

// TestZonesOf: the version is the one that the image's own list of zones begins with.
func TestZonesOf(t *testing.T) {
	for text, want := range map[string]string{
		"# version 2026b\n# redo posix_only\n": "2026b", "# version 2026b-dirty\n": "2026b", "# version 2026b": "2026b",
		"# version 2026zz\n": "2026zz", "# version 2026\n": "", "# This file\n# version 2026b\n": "", "": "",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "tzdata.zi"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := zonesOf(dir); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := zonesOf(t.TempDir()); got != "" {
		t.Errorf("no zones: %q", got)
	}
}

// TestZonesLater: only later zones replace those of the tables, whichever node asks.
func TestZonesLater(t *testing.T) {
	for _, c := range []struct {
		image, comment string
		want           bool
	}{
		{"2026b", "Time zone names", true}, // MariaDB's own comment
		{"2026b", "", true},
		{"2026b", "time zones of 2026a", true},
		{"2026b", "time zones of 2026b", false},
		{"2026b", "time zones of 2026c", false},
		{"2027a", "time zones of 2026zz", true},
		{"", "Time zone names", false},
		{"", "time zones of 2026a", false},
	} {
		if got := zonesLater(c.image, c.comment); got != c.want {
			t.Errorf("%q in an image, %q in the tables: %t", c.image, c.comment, got)
		}
	}
}
