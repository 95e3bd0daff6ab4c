package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestKeysOfABackup: what cannot be read is refused before anything is copied, and keys come only to a Job that needs
// them.
func TestKeysOfABackup(t *testing.T) {
	file, password, err := atrest.Make()
	if err != nil {
		t.Fatal(err)
	}
	own, err := atrest.Fingerprints(file, password)
	if err != nil {
		t.Fatal(err)
	}
	other := map[string]string{"1": "ffff"}
	for name, c := range map[string]struct {
		backup, cluster map[string]string
		mounted         bool
		want            string
		installed       bool
	}{
		"in clear":                          {nil, nil, false, "", false},
		"in clear, into encryption":         {nil, own, true, "", false},
		"encrypted, into clear":             {own, nil, false, "has no spec.encryption", false},
		"encrypted with other keys":         {other, own, true, "key 1 has other bytes", false},
		"encrypted with the cluster's":      {own, own, true, "", true},
		"encrypted, and the Secret is gone": {own, own, false, "missing", false},
	} {
		p := places{Places: platform.Places{Keys: t.TempDir(), Run: t.TempDir()}}
		if c.mounted {
			for name, data := range map[string][]byte{atrest.KeyFile: file, atrest.PasswordFile: password} {
				if err := os.WriteFile(filepath.Join(p.Keys, name), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		err := takeKeys(task.Restore{Keys: c.cluster}, manifest.Manifest{Keys: c.backup}, p)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		var f failure
		if err != nil && !errors.As(err, &f) {
			t.Errorf("%s: no reason: %v", name, err)
		}
		if datadir.HasKeys(p.Places, own) != c.installed {
			t.Errorf("%s: the keys are installed: %v", name, !c.installed)
		}
		if info, err := os.Stat(filepath.Join(p.KeyFiles(), atrest.KeyFile)); c.installed && (err != nil ||
			info.Mode().Perm() != 0o400) {
			t.Errorf("%s: others may read the keys: %v", name, info)
		}
	}
}

// TestManifestHasTheKeysOfTheStream: a Job that waited while encryption was switched on, or off, writes down what the
// server had that gave the backup, and what its data directory was created with.
func TestManifestHasTheKeysOfTheStream(t *testing.T) {
	own := map[string]string{"1": "a"}
	m, _ := ended(manifest.Manifest{}, agentapi.BackupEnd{Keys: own, Algorithm: "AES_CBC",
		Created: map[string]string{"x": "y"}}, time.Now())
	if m.Keys["1"] != "a" || m.Created["x"] != "y" || m.Algorithm != "AES_CBC" {
		t.Errorf("switched on: %+v", m)
	}
	m, _ = ended(manifest.Manifest{Keys: own, Algorithm: "AES_CTR"}, agentapi.BackupEnd{}, time.Now())
	if m.Keys != nil || m.Algorithm != "" {
		t.Errorf("switched off: %+v", m)
	}
}

// TestAlgorithmOfABackup: a cluster that encrypts otherwise could not read the data, and is refused before the copy.
func TestAlgorithmOfABackup(t *testing.T) {
	m := manifest.Manifest{Keys: map[string]string{"1": "a"}, Algorithm: "AES_CTR"}
	err := takeKeys(task.Restore{Keys: m.Keys, Algorithm: "AES_CBC"}, m, places{})
	var f failure
	if err == nil || !errors.As(err, &f) || !strings.Contains(err.Error(), "AES_CTR, and the cluster's with AES_CBC") {
		t.Errorf("%v", err)
	}
	p := places{Places: platform.Places{Keys: t.TempDir(), Run: t.TempDir()}}
	for _, c := range [][2]string{{"AES_CTR", "AES_CTR"}, {"", "AES_CTR"}, {"AES_CBC", ""}} {
		m.Algorithm = c[0]
		if err := takeKeys(task.Restore{Keys: m.Keys, Algorithm: c[1]}, m, p); err != nil &&
			strings.Contains(err.Error(), "are encrypted with") {
			t.Errorf("%q into %q: %v", c[0], c[1], err)
		}
	}
}
