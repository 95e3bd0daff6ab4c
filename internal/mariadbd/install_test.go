package mariadbd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestWriteZones: a tool of the image that fails costs the named time zones, and not the first database; nothing of its
// output is used.
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
		m := Maker{Table: &platform.ProcessTable{}, Places: platform.Places{Tmp: dir}, Log: func(string) { logged = true }}
		written, err := m.writeZones(ctx, tool, filepath.Join(dir, "zones.sql"))
		cancel()
		if written != c.written || logged != c.logs || (err != nil) != c.fails {
			t.Errorf("%s: written %t, logged %t, %v", name, written, logged, err)
		}
	}
}

// TestLaunchWithoutFiles: a server starts although the directory for files of SQL statements cannot be made, as on a
// full volume, and gets one that gives access to nothing: mariadbd ends without any.
func TestLaunchWithoutFiles(t *testing.T) {
	dir := t.TempDir()
	p := platform.Places{Volume: dir, Data: filepath.Join(dir, "data"), Run: filepath.Join(dir, "run"),
		Tmp: filepath.Join(dir, "tmp")}
	server := filepath.Join(dir, "mariadbd")
	for path, text := range map[string]string{server: "#!/bin/sh\necho args: \"$@\"\n", p.Files(): "in the way"} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{p.Run, p.Tmp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		proc, err := Launch(&platform.ProcessTable{}, p, Command{Path: server, Args: []string{"--first"},
			Log: func(string) {}},
			func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		<-proc.Done()
		if got, want := strings.Join(proc.Exit().Lines, ""), "args: --first --secure-file-priv="+filepath.Join(p.Run,
			"no-files"); got != want {
			t.Errorf("%s", got)
		}
	}
	if info, err := os.Stat(filepath.Join(p.Run, "no-files")); err != nil || !info.IsDir() || info.Mode().Perm() != 0 {
		t.Errorf("%v, %v", info, err)
	}
}
