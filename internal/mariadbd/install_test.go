package mariadbd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/platform"
)

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
