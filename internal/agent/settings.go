package agent

import (
	"maps"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// checkTime bounds the check of the settings, which takes a fraction of a second.
const checkTime = 20 * time.Second

// settingsCheck is a check of settings, that is under way or has just ended.
type settingsCheck struct {
	text string // the option file it is about
	busy bool
	err  error
}

// checkSettings lets mariadbd look at new settings before they replace the old ones: refused ones
// must never wait on the disk for the next crash to bring them up. That takes a while: the configuration is
// read again when it is known.
func (a *agent) checkSettings(config agentapi.NodeConfig, output servercnf.Output) (known bool, why error) {
	if a.image.Mariadbd == "" || len(config.Settings) == 0 || a.config != nil && maps.Equal(a.config.Settings, config.Settings) {
		return true, nil
	}
	c, text := a.checking, output.MyCnf.Render()
	switch {
	case c.busy:
		return false, nil
	case c.text == text:
		a.checking = settingsCheck{} // an answer counts once: the next look at the same files asks again
		return true, c.err
	}
	draft := a.Places.MyCnf() + ".new"
	if err := datadir.WriteFile(draft, []byte(text), 0o600); err != nil {
		return true, err
	}
	a.checking = settingsCheck{text: text, busy: true}
	ctx, cancel := a.workerContext(checkTime)
	go func() {
		defer cancel()
		err := server.CheckSettings(ctx, &a.table, server.Command{
			Path: a.image.Mariadbd, Args: []string{"--defaults-file=" + draft}, Env: server.Env(a.Places),
		}, a.Places.Tmp)
		a.post(func() {
			a.checking = settingsCheck{text: text, err: err}
			a.readConfig()
		})
	}()
	return false, nil
}
