package config

import (
	"context"
	"fmt"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// Server is the running mariadbd, as this package uses it.
type Server interface {
	SetGlobal(ctx context.Context, options []mycnf.Option) error
}

// Run is the configuration one run of mariadbd has.
type Run struct {
	// Output is what it was started with, Clients what is in force on port 3306.
	Output  Output
	Clients galera.ChannelPolicy
	// Settings are the user's.
	Settings map[string]string

	pid int
}

// live is how far the settings have got that a running server takes over.
type live struct {
	tried string // configuration and process whose live settings were set last
	busy  bool
}

// ForStart is the configuration a server that is started now will have.
func (r *Manager) ForStart() Run {
	return Run{Output: r.Output, Clients: r.Node.TLS.Clients, Settings: r.Node.Settings}
}

// Started notes that a server was started.
func (r *Manager) Started(pid int, run Run) {
	r.run = run
	r.run.pid = pid
	r.live.tried = ""
}

// Exited notes that it has ended.
func (r *Manager) Exited() { r.run = Run{} }

// Running is the configuration of the running server, zero when there is none.
func (r *Manager) Running() Run { return r.run }

// SetLive gives a server that serves the settings it can take over without a restart.
func (r *Manager) SetLive() {
	key := fmt.Sprint(r.run.Output.Hash, r.Output.Hash, r.Output.Live, r.run.pid)
	if r.live.busy || r.Node == nil || r.live.tried == key {
		return
	}
	r.live.busy = true
	pid, clients := r.run.pid, r.Node.TLS.Clients
	// Without certificates in the running server, requiring TLS would lock every client out.
	options := r.Output.Live
	if r.run.Output.Hash != r.Output.Hash {
		options = nil
	}
	go func() {
		err := r.server.SetGlobal(context.Background(), options)
		r.loop.Post(func() {
			r.live.busy = false
			if r.run.pid != pid {
				return
			}
			if err != nil {
				r.loop.Logger.Warn("settings could not be changed", "error", err)
				return
			}
			r.live.tried = key
			if len(options) > 0 {
				r.run.Clients = clients
			}
			r.events.Applied()
		})
	}()
}
