package mariadbd

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galera-operator/galera-operator/internal/eventloop"
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

// TestZonesAreTriedAgain: an attempt that fails is reported, and repeated after growing pauses, an hour at most; the
// member that takes over, the next server, and an attempt that succeeds begin anew.
func TestZonesAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, attempts, failing := eventloop.NewQueue(), 0, true
		z := NewZones(queue.Loop(slog.New(slog.DiscardHandler)), platform.Places{}, &platform.ProcessTable{}, "agent",
			func(context.Context, string) (string, []string, error) {
				attempts++
				if failing {
					return "", nil, errors.New("no space left")
				}
				return zonesMark + "9999z", nil, nil
			})
		// pause returns how long it takes until the next attempt has ended.
		pause := func() time.Duration {
			began, before := time.Now(), attempts
			for attempts == before {
				z.Check(time.Now())
				select {
				case event := <-queue.Events:
					event()
				case <-time.After(time.Second):
				}
			}
			return time.Since(began)
		}
		for i, want := range []time.Duration{0, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute,
			16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
			if got := pause().Truncate(30 * time.Second); got != want || z.Failure() != "no space left" {
				t.Errorf("attempt %d after %s, want %s; %q is reported", i+1, got, want, z.Failure())
			}
		}
		z.Yield()
		if got := pause().Truncate(30 * time.Second); got != 0 || z.Failure() == "" {
			t.Errorf("a member that takes over tries after %s; %q", got, z.Failure())
		}
		if z.Yield(); z.Failure() != "" {
			t.Errorf("a member that need not fill them reports %q", z.Failure())
		}
		failing = false
		if pause(); z.Failure() != "" {
			t.Errorf("after an attempt that succeeded: %q", z.Failure())
		}
		if got := pause().Truncate(30 * time.Second); got != zonesInterval {
			t.Errorf("the next check after %s", got)
		}
	})
}
