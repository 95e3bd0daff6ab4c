package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestUsableAtRest: a server is started without keys only while nothing can be encrypted, writes in clear until it is
// to encrypt, and has its cache in memory where its pod has a volume for it. Its backups name the keys that it has.
func TestUsableAtRest(t *testing.T) {
	file, password, err := atrest.Make()
	if err != nil {
		t.Fatal(err)
	}
	own, err := atrest.Fingerprints(file, password)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		state             string
		mounted, recorded bool
		cache             bool
		starts            bool
		mode              string
		tables            string
	}{
		"prepared, not mounted":   {agentapi.AtRestPrepared, false, true, true, true, "", ""},
		"prepared":                {agentapi.AtRestPrepared, true, true, true, true, agentapi.ModeHolds, "OFF"},
		"prepared, other keys":    {agentapi.AtRestPrepared, true, false, true, true, "", ""},
		"encrypted":               {agentapi.AtRestEncrypted, true, true, true, true, agentapi.ModeEncrypts, "FORCE"},
		"encrypted, no volume":    {agentapi.AtRestEncrypted, true, true, false, true, agentapi.ModeEncrypts, "FORCE"},
		"encrypted, not mounted":  {agentapi.AtRestEncrypted, false, true, true, false, "", ""},
		"decrypted":               {agentapi.AtRestDecrypted, true, true, true, true, agentapi.ModeHolds, "OFF"},
		"decrypted, other keys":   {agentapi.AtRestDecrypted, true, false, true, false, "", ""},
		"decrypted, not mounted":  {agentapi.AtRestDecrypted, false, true, true, false, "", ""},
		"in clear":                {"", false, false, true, true, "", ""},
		"in clear, still mounted": {"", true, true, true, true, "", ""},
	} {
		p := platform.Places{Keys: t.TempDir(), Run: t.TempDir(), Cache: filepath.Join(t.TempDir(), "cache")}
		if c.mounted {
			for name, data := range map[string][]byte{atrest.KeyFile: file, atrest.PasswordFile: password} {
				if err := os.WriteFile(filepath.Join(p.Keys, name), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if c.cache {
			if err := os.Mkdir(p.Cache, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		var wanted *agentapi.AtRest
		if c.state != "" {
			wanted = &agentapi.AtRest{State: c.state, Algorithm: "AES_CTR", Keys: own, CacheInMemory: true}
			if !c.recorded {
				wanted.Keys = map[string]string{"1": "other"}
			}
		}
		m := Manager{keys: takeKeys(p, wanted)}
		a, can := usableAtRest(p, wanted, m.keys)
		tables, _ := mycnf.File{{Name: "mysqld", Options: AtRestOptions(p, a)}}.Get("mysqld", "innodb_encrypt_tables")
		if can != c.starts || atRestMode(a) != c.mode || tables != c.tables {
			t.Errorf("%s: starts %v, mode %q, innodb_encrypt_tables %q", name, can, atRestMode(a), tables)
		}
		if (m.keys.missing() == nil) != c.starts {
			t.Errorf("%s: %+v", name, m.keys.missing())
		}
		m.Node, m.places, m.run.Output.AtRest = &agentapi.NodeConfig{AtRest: a}, p, c.mode
		keys, algorithm, err := m.ServerKeys()
		if err != nil || (keys["1"] == own["1"]) != (c.mode != "") || (algorithm == "AES_CTR") != (c.mode != "") {
			t.Errorf("%s: the server has the keys %v of %q: %v", name, keys, algorithm, err)
		}
		if a != nil && a.CacheInMemory != c.cache {
			t.Errorf("%s: cache in memory: %v", name, a.CacheInMemory)
		}
	}
}
