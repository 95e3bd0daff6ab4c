package mariadbd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/platform"
)

func TestServerVersion(t *testing.T) {
	for script, want := range map[string]string{
		"echo 'mariadbd  Ver 10.11.18-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)'": "10.11.18-MariaDB",
		"echo '[ERROR] libpmem.so.1 is missing'; exit 127": "exit code 127: " +
			"libpmem.so.1 is missing",
		"echo what": "exit code 0",
	} {
		path := filepath.Join(t.TempDir(), "mariadbd")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		got, err := ServerVersion(context.Background(), &platform.ProcessTable{}, path)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}

func TestOldSocat(t *testing.T) {
	for version, old := range map[string]bool{
		"socat by Gerhard Rieger\nsocat version 1.7.4.4 on 06 Nov 2022": true, "socat version 1.8.0.3 on 03 Sep": false,
		"socat version 2.0.0-b9": false, "": false, "no such program": false,
	} {
		if got := OldSocat(version); got != old {
			t.Errorf("%q: %v", version, got)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for line, want := range map[string]string{
		"mariadbd  Ver 11.8.6-MariaDB-0+deb13u1 from Debian for debian-linux-gnu on x86_64 (x)":      "11.8.6-MariaDB",
		"mariadbd  Ver 10.11.19-MariaDB-ubu2204 for debian-linux-gnu on x86_64 (mariadb.org binary)": "10.11.19-MariaDB",
		"something else": "",
	} {
		if got := parseVersion(line); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
