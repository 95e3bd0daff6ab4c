//go:build integration

package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestEncryptedVolumeWithoutItsKeys: on a volume whose data are encrypted nothing is started without their keys,
// whether the last server stopped in order or was killed, and nothing is changed. With them the data are as they were.
func TestEncryptedVolumeWithoutItsKeys(t *testing.T) {
	t.Parallel()
	right, fingerprints := keys(t)
	other, otherFingerprints := keys(t)
	given := func(fingerprints map[string]string) func(*agentapi.NodeConfig) {
		return func(c *agentapi.NodeConfig) {
			if c.AtRest = nil; fingerprints != nil {
				c.AtRest = &agentapi.AtRest{State: agentapi.AtRestEncrypted, Algorithm: "AES_CTR", Keys: fingerprints,
					CacheInMemory: true}
			}
		}
	}
	w := newWorld(t, 1, given(fingerprints))
	n := w.nodes[0]
	n.mount("keys", right)
	s := &scenario{T: t, world: w}
	n.start()
	n.until("waiting", 60*time.Second, waiting)
	s.formAgain()
	for _, orderly := range []bool{true, false} {
		n.stop(orderly)
		before := n.fingerprint()
		for _, c := range []struct {
			files        map[string][]byte
			fingerprints map[string]string
			refused      string
		}{
			{nil, nil, "the node is given no keys"},
			{other, otherFingerprints, "key 1 has other bytes"},
		} {
			n.mount("keys", c.files)
			w.publishConfig(given(c.fingerprints))
			n.start()
			r := n.until("refusing the volume", 60*time.Second, failedBy(agentapi.FailureKeys))
			if !strings.Contains(r.Failure.Message, c.refused) || r.Position.Known() {
				t.Errorf("stopped in order %v: %+v at %s", orderly, r.Failure, r.Position)
			}
			n.stop(true)
			if n.fingerprint() != before {
				t.Errorf("stopped in order %v, %s: the data were changed", orderly, c.refused)
			}
		}
		n.mount("keys", right)
		w.publishConfig(given(fingerprints))
		n.start()
		r := n.until("waiting with its position", 60*time.Second, func(r agentapi.Report) bool {
			return waiting(r) && r.Position.Known()
		})
		s.epoch++
		o, result := n.send(agentapi.OrderBootstrap, s.epoch, r.Position, s.uuid)
		if result.State != agentapi.OrderAccepted {
			t.Fatalf("%+v", result)
		}
		n.until("bootstrapped", 90*time.Second, done(o.ID))
		s.all(90 * time.Second)
		s.intact()
	}
}
