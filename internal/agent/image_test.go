package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agent/procs"
)

func TestServerVersion(t *testing.T) {
	for script, want := range map[string]string{
		"echo 'mariadbd  Ver 10.11.18-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)'": "10.11.18-MariaDB",
		"echo '[ERROR] libpmem.so.1 is missing'; exit 127":                                           "exit code 127: libpmem.so.1 is missing",
		"echo what": "exit code 0",
	} {
		path := filepath.Join(t.TempDir(), "mariadbd")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		got, err := serverVersion(context.Background(), &procs.Table{}, path)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}
