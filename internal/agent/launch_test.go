package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// reader reads its transfer method as mariadbd does: from the option file, unless it gets another.
const reader = `#!/bin/sh
conf=${1#--defaults-file=}
method=$(sed -n 's/^wsrep_sst_method *= *//p' "$conf")
for arg; do
	case "$arg" in --wsrep-sst-method=*) method=${arg#*=} ;; esac
done
echo "$method" >"$(dirname "$conf")/method.tmp" && mv "$(dirname "$conf")/method.tmp" "$(dirname "$conf")/method"
`

// TestJoinUsesTheMethodItNoted: the option file may be another one by the time mariadbd reads it. By rsync a copy is
// written over the data, and only the note shows then that they are none any more.
func TestJoinUsesTheMethodItNoted(t *testing.T) {
	names := map[string]string{config.MariaBackup: "mariabackup", config.Rsync: "rsync"}
	for noted, later := range map[string]string{
		config.MariaBackup: config.Rsync,
		config.Rsync:       config.MariaBackup,
	} {
		t.Run(noted+", then "+later, func(t *testing.T) {
			a := fresh(t)
			dir := a.Places.Run
			if err := os.MkdirAll(a.Places.Tmp, 0o750); err != nil {
				t.Fatal(err)
			}
			a.image.Mariadbd = filepath.Join(dir, "mariadbd")
			if err := os.WriteFile(a.image.Mariadbd, []byte(reader), 0o700); err != nil {
				t.Fatal(err)
			}
			configured := func(method string) (*agentapi.NodeConfig, config.Output) {
				c := &agentapi.NodeConfig{StateTransfer: agentapi.StateTransferConfig{Method: method}}
				return c, config.Build(config.Input{Config: *c, Name: a.Name, Address: a.Address, Places: a.Places})
			}
			_, changed := configured(later)
			if err := os.WriteFile(a.Places.MyCnf(), []byte(changed.MyCnf.Render()), 0o600); err != nil {
				t.Fatal(err)
			}
			a.config.Node, a.config.Output = configured(noted)
			a.exam.Found = process.Found{Data: galera.DataPresent, Position: agenttest.At(7)}
			a.start.ToJoin(lifecycle.JoinDecision{})
			select {
			case <-a.queue.Events: // started
			case <-time.After(time.Minute):
				t.Fatal("nothing is started")
			}
			var method []byte
			agenttest.Until(t, "it has read its options", func() (ok bool) {
				var err error
				method, err = os.ReadFile(filepath.Join(dir, "method"))
				return err == nil
			})
			note, err := a.markers().Joining()
			if err != nil || note == nil || note.Method != noted || string(method) != names[noted]+"\n" {
				t.Errorf("uses %q, noted is %+v (%v)", method, note, err)
			}
		})
	}
}
