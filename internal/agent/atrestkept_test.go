//go:build integration

package agent_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestEncryptedVolumeWithoutItsKeys: on a volume whose data are encrypted nothing is started without their keys, nor by
// a server of an earlier series, whether the last server stopped in order or was killed, and nothing is changed. With
// them the data are as they were.
func TestEncryptedVolumeWithoutItsKeys(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	for _, orderly := range []bool{true, false} {
		k.n.stop(orderly)
		k.refused(nil, nil, "the node is given no keys")
		other, otherFingerprints := keys(t)
		k.refused(other, k.given(agentapi.AtRestEncrypted, otherFingerprints), "key 1 has other bytes")
		k.n.image = oldImage
		for _, files := range []map[string][]byte{k.files, nil} {
			r := k.failed(files, k.given(agentapi.AtRestEncrypted, k.fingerprints), agentapi.FailureDowngrade,
				agentapi.FailureKeys)
			if files != nil && r.Failure.Reason != agentapi.FailureDowngrade {
				t.Errorf("by an earlier series: %+v", r.Failure)
			}
		}
		k.n.image = image
		k.bootstrap(agentapi.AtRestEncrypted)
		k.s.intact()
	}
}

// TestVolumeOfAnInterruptedDecryption: a table that was not decrypted before the keys went is found, though the redo
// log and the dictionary are in clear: a server would start, and serve without the table.
func TestVolumeOfAnInterruptedDecryption(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.n.mustSQL("CREATE TABLE app.kept (id INT PRIMARY KEY, v INT) ENCRYPTED=YES; INSERT INTO app.kept VALUES (1, 2)")
	k.n.stop(true)
	k.bootstrap(agentapi.AtRestDecrypted)
	k.n.until("decrypting all but one table", 180*time.Second, func(r agentapi.Report) bool {
		return mode(agentapi.ModeHolds)(r) && k.n.mustSQL("SELECT COUNT(*) FROM "+
			"information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE ENCRYPTION_SCHEME <> 0 AND NAME <> 'app/kept'") == "0"
	})
	k.n.stop(true)
	k.refused(nil, nil, "are encrypted (app/kept.ibd), and the node is given no keys")
	k.bootstrap(agentapi.AtRestDecrypted)
	k.s.intact()
	k.n.mustSQL("ALTER TABLE app.kept ENCRYPTED=NO")
	altered := time.Now()
	k.n.until("decrypting all", 180*time.Second, func(r agentapi.Report) bool { // Aria's tables, too
		return mode(agentapi.ModeHolds)(r) && r.AtRest.FullAt.After(altered) && r.AtRest.EncryptedFiles == 0
	})
	k.n.stop(true)
	k.n.mount("keys", nil)
	k.s.world.publishConfig(k.given("", nil))
	k.n.start()
	k.n.until("needing no keys", 60*time.Second, func(r agentapi.Report) bool { return waiting(r) && r.Position.Known() })
}

// kept is a node whose volume is kept, while what it is given changes.
type kept struct {
	*testing.T
	s            *scenario
	n            *node
	files        map[string][]byte
	fingerprints map[string]string
}

// newKept starts one node that encrypts.
func newKept(t *testing.T) *kept {
	t.Helper()
	k := &kept{T: t}
	k.files, k.fingerprints = keys(t)
	w := newWorld(t, 1, k.given(agentapi.AtRestEncrypted, k.fingerprints))
	k.n, k.s = w.nodes[0], &scenario{T: t, world: w}
	k.n.mount("keys", k.files)
	k.n.start()
	k.n.until("waiting", 60*time.Second, waiting)
	k.s.formAgain()
	return k
}

// given is a node's configuration with keys of these fingerprints, or with none.
func (k *kept) given(state string, fingerprints map[string]string) func(*agentapi.NodeConfig) {
	return func(c *agentapi.NodeConfig) {
		if c.AtRest = nil; fingerprints != nil {
			c.AtRest = &agentapi.AtRest{State: state, Algorithm: "AES_CTR", Keys: fingerprints, CacheInMemory: true}
		}
	}
}

// failed starts the node with these keys until it has failed for one of the reasons, stops it, and compares the data.
func (k *kept) failed(files map[string][]byte, config func(*agentapi.NodeConfig), reasons ...string) agentapi.Report {
	k.Helper()
	before := k.n.fingerprint()
	k.n.mount("keys", files)
	if config == nil {
		config = k.given("", nil)
	}
	k.s.world.publishConfig(config)
	k.n.start()
	r := k.n.until("refusing the volume", 60*time.Second, func(r agentapi.Report) bool {
		return slices.ContainsFunc(reasons, func(reason string) bool { return failedBy(reason)(r) })
	})
	k.n.stop(true)
	if k.n.fingerprint() != before {
		k.Errorf("%+v: the data were changed", r.Failure)
	}
	return r
}

// refused starts the node with keys that are not those of the data.
func (k *kept) refused(files map[string][]byte, config func(*agentapi.NodeConfig), why string) {
	k.Helper()
	r := k.failed(files, config, agentapi.FailureKeys)
	if !strings.Contains(r.Failure.Message, why) || r.Position.Known() {
		k.Errorf("want %q, have %+v at %s", why, r.Failure, r.Position)
	}
}

// bootstrap starts the node with the keys of its data, and lets it serve.
func (k *kept) bootstrap(state string) {
	k.Helper()
	k.n.mount("keys", k.files)
	k.s.world.publishConfig(k.given(state, k.fingerprints))
	k.n.start()
	r := k.n.until("waiting with its position", 60*time.Second, func(r agentapi.Report) bool {
		return waiting(r) && r.Position.Known()
	})
	k.s.epoch++
	o, result := k.n.send(agentapi.OrderBootstrap, k.s.epoch, r.Position, k.s.uuid)
	if result.State != agentapi.OrderAccepted {
		k.Fatalf("%+v", result)
	}
	k.n.until("bootstrapped", 90*time.Second, done(o.ID))
	k.s.all(90 * time.Second)
}
