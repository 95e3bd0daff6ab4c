package mariadbd

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agent/platform/paths"
	"github.com/galera-operator/galera-operator/internal/agent/platform/procs"
)

// TestWriteZones: a tool of the image that fails costs the named time zones, and not the first database; nothing of its output is used.
func TestWriteZones(t *testing.T) {
	for name, c := range map[string]struct {
		script               string
		interrupted          bool
		written, logs, fails bool
	}{
		"it works":       {"echo 'INSERT INTO time_zone_name VALUES (1);'", false, true, false, false},
		"it fails":       {"echo INSERT; echo 'no such zone' >&2; exit 3", false, false, true, false},
		"it is killed":   {"kill -SEGV $$", false, false, true, false},
		"an interrupted": {"sleep 60", true, false, false, true},
	} {
		dir, logged := t.TempDir(), false
		tool := filepath.Join(dir, "tool")
		if err := os.WriteFile(tool, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if c.interrupted {
			cancel()
		}
		m := Maker{Table: &procs.Table{}, Places: paths.Places{Tmp: dir}, Log: func(string) { logged = true }}
		written, err := m.writeZones(ctx, tool, filepath.Join(dir, "zones.sql"))
		cancel()
		if written != c.written || logged != c.logs || (err != nil) != c.fails {
			t.Errorf("%s: written %t, logged %t, %v", name, written, logged, err)
		}
	}
}
