package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestKeysOfAServerAreRecorded: the keys with which a server has read encrypted data are those of the data, though it
// was not known with which keys they were encrypted. A server that has none records none.
func TestKeysOfAServerAreRecorded(t *testing.T) {
	for mode, refused := range map[string]bool{"": false, agentapi.ModeEncrypts: true, agentapi.ModeHolds: true} {
		a := fresh(t)
		file, password, err := atrest.Make()
		if err != nil {
			t.Fatal(err)
		}
		for path, data := range map[string][]byte{
			filepath.Join(a.Places.KeyFiles(), atrest.KeyFile):      file,
			filepath.Join(a.Places.KeyFiles(), atrest.PasswordFile): password,
			filepath.Join(a.Places.Data, "ib_logfile0"):             {0x80, 'P', 'h', 'y', 's'},
		} {
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		a.run.Proc = agenttest.Server(t)
		a.config.Started(a.run.Proc.PID, config.Run{Output: config.Output{AtRest: mode}})
		a.run.Status = &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true,
			ClusterUUID: agenttest.UUID}
		a.firstServed()
		other := map[string]string{"1": "of other bytes"}
		if got := datadir.CheckKeys(a.Places.Data, a.markers(), other) != nil; got != refused {
			t.Errorf("%q: other keys are refused: %v", mode, got)
		}
	}
}
