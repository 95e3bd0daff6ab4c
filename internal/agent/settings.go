package agent

import (
	"context"
	"maps"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// checkTime bounds the check of the settings, which takes a fraction of a second.
const checkTime = 20 * time.Second

// checkSettings lets mariadbd look at new settings before they replace the old ones: refused ones
// must never wait on the disk for the next crash to bring them up.
func (a *agent) checkSettings(config agentapi.NodeConfig, output servercnf.Output) error {
	if a.mariadb == "" || len(config.Settings) == 0 || a.config != nil && maps.Equal(a.config.Settings, config.Settings) {
		return nil
	}
	draft := a.Places.MyCnf() + ".new"
	if err := datadir.WriteFile(draft, []byte(output.MyCnf.Render()), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	return server.CheckSettings(ctx, &a.table, server.Command{
		Path: a.mariadb, Args: []string{"--defaults-file=" + draft}, Env: a.serverEnv(),
	}, a.Places.Tmp)
}
