package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// checkRoot keeps root's password what the Secret says. The member with index 0 does it for all: the change is replicated.
func (a *agent) checkRoot() {
	if !lifecycle.Serves(a.status) || a.status.Index != 0 || a.run.stopping {
		return
	}
	proc := a.proc
	a.root.Check(func() {
		if a.proc == proc {
			a.rootSet()
		}
	})
}

// checkUpgrade has the system tables upgraded where the server is of another series.
func (a *agent) checkUpgrade() {
	if !lifecycle.Serves(a.status) || !a.run.served || a.run.stopping {
		return
	}
	proc, markers, to := a.proc, a.markers, a.image.ServerVersion
	a.upgrade.Check(server.Upgrading{From: a.versions.Tables, To: to,
		Record:  func() error { return markers.SetVersions(made(to)) },
		Done:    func() { a.versions = made(to) },
		Running: func() bool { return a.proc == proc && !a.run.stopping }})
}

// loadCertificates lets a running server load the installed pair.
func (a *agent) loadCertificates() {
	if a.status != nil && !a.run.stopping {
		a.certs.Load(a.status.Component == galera.ComponentPrimary)
	}
}

// configTaken is called when another configuration has been taken over.
func (a *agent) configTaken() {
	a.retryAt = time.Time{}
	a.updateSubject()
	a.setLive()
}

// setLive gives a server that serves the settings it can take over without a restart.
func (a *agent) setLive() {
	if lifecycle.Serves(a.status) {
		a.config.SetLive()
	}
}

// rootSet ends an initialisation, whose last part root's password is.
func (a *agent) rootSet() {
	if a.run.kind != agentapi.OrderInitialise || !a.run.served {
		return
	}
	if a.run.born {
		if a.orders.Current != nil && a.orders.Current.ID == a.run.order {
			a.orders.Finish(a.orders.Current.ID, agentapi.OrderDone, a.root.Problem())
		}
		return
	}
	if a.run.noting {
		return
	}
	a.run.noting = true
	proc := a.proc
	a.volume.Do(a.markers.ClearInitialising, func(err error) {
		if a.proc != proc {
			return
		}
		a.run.noting = false
		if err != nil {
			a.Logger.Error("a note cannot be removed", "error", err)
			return
		}
		a.run.born = true
		a.rootSet()
	})
}
