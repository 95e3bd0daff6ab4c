package plugin

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestBackupObject: an increment is made only where it is asked for; how long a chain may be is the API's default.
func TestBackupObject(t *testing.T) {
	for name, c := range map[string]struct {
		f    backupFlags
		want string
	}{
		"a full one":   {backupFlags{store: "offsite", name: "n"}, `"clusterRef":{"name":"shop"},"storeRef":{"name":"offsite"}}`},
		"an increment": {backupFlags{store: "offsite", incremental: true}, `"storeRef":{"name":"offsite"},"incremental":{}}`},
		"tested": {backupFlags{store: "offsite", verify: "Restore", identity: "k", incremental: true},
			`"incremental":{},"verify":"Restore","identitySecretRef":{"name":"k"}}`},
	} {
		b := c.f.object("demo", "shop")
		spec, err := json.Marshal(b.Spec)
		if err != nil || !strings.HasSuffix(string(spec), c.want) || b.Namespace != "demo" || b.Name != c.f.name {
			t.Errorf("%s: %s, %v", name, spec, err)
		}
	}
}
