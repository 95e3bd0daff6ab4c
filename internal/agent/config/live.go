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
	// FirstEncrypted returns an id that is larger than those of all clients that have logged in over the network without
	// TLS. It fails while the server does not require TLS.
	FirstEncrypted(ctx context.Context) (id int64, err error)
	// EndBefore ends those clients with ids below a limit that are between two transactions, and returns how many there
	// were with such ids, the others included.
	EndBefore(ctx context.Context, limit int64) (count int, err error)
}

// Run is the configuration one run of mariadbd has.
type Run struct {
	// Output is what it was started with, Clients what is in force on port 3306.
	Output  Output
	Clients galera.ChannelPolicy
	// Settings are the user's.
	Settings map[string]string

	pid      int
	sessions sessions
}

// live is how far the settings have got that a running server takes over.
type live struct {
	tried string // configuration and process whose live settings were set last
	busy  bool
}

// ForStart is the configuration a server that is started now will have.
func (r *Manager) ForStart() Run {
	return Run{Output: r.Output, Clients: r.Node.TLS.Clients, Settings: r.Node.Settings,
		sessions: atStart(r.Node.TLS.Clients)}
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

// SetLive gives a server that serves the settings it can take over without a restart, and then ends the sessions of
// clients that one of them comes too late for.
func (r *Manager) SetLive() {
	if r.live.busy || r.Node == nil {
		return
	}
	key := fmt.Sprint(r.run.Output.Hash, r.Output.Hash, r.Output.Live, r.run.pid)
	if r.live.tried == key {
		endSessions(r)
		return
	}
	r.live.busy, r.live.tried = true, ""
	pid, clients := r.run.pid, r.Node.TLS.Clients
	// Without certificates in the running server, requiring TLS would lock every client out.
	options := r.Output.Live
	if r.run.Output.Hash != r.Output.Hash {
		options = nil
	}
	if len(options) > 0 && clients != galera.PolicyRequired {
		r.run.sessions = sessions{} // also when this fails: some of it may be in force
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
