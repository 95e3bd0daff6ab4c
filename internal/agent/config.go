package agent

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/peers"
	"github.com/galera-operator/galera-operator/internal/agent/prove"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// watchTime is how long others are looked at often after the component has changed.
const watchTime = 20 * time.Second

// onFiles is called when a mounted file may have changed.
func (a *agent) onFiles() {
	if a.certs.Read() {
		a.updateSubject()
		a.loadCertificates()
	}
	a.config.Read()
	a.checkRoot()
}

// onTick is called every second.
func (a *agent) onTick() {
	a.watchTransfer()
	a.watchGiving()
	a.watchHang(time.Now())
	a.endExamination(time.Now())
	a.enforceStop()
	a.orders.Tick()
	a.volume.Tick()
	if !a.draining {
		a.image.Tick()
	}
	a.loadCertificates()
	a.checkRoot()
	a.checkUpgrade()
}

// checkRoot keeps root's password what the Secret says. The member with index 0 does it for all: the change is replicated.
func (a *agent) checkRoot() {
	if !Serves(a.status) || a.status.Index != 0 || a.run.stopping {
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
	if !Serves(a.status) || !a.run.served || a.run.stopping {
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
	if Serves(a.status) {
		a.config.SetLive()
	}
}

// updateSubject tells the prover and the asker what there is now.
func (a *agent) updateSubject() {
	if a.config.Node == nil {
		return
	}
	config, output, run := a.config.Node, a.config.Output, a.config.Running()
	s := prove.Subject{Address: a.Address, Arbitrator: config.Arbitrator, Credentials: prove.Credentials{Roots: a.certs.Installed().Roots},
		Password: a.root.Password, Running: a.status != nil && a.proc != nil, TransferEncrypted: servercnf.TransferEncrypted(output.MyCnf)}
	for _, p := range config.Members {
		if p.Name != a.Name {
			s.Peers = append(s.Peers, p)
		}
	}
	if a.proc != nil {
		s.Mode, s.Clients = run.Output.Socket, run.Clients
	}
	if a.certs.Installed().ID != "" {
		pair := a.certs.Installed().Pair
		s.Pair = &pair
	}
	a.prove.Set(s, fmt.Sprint(s.Running, s.Mode, s.Clients, s.TransferEncrypted, a.certs.Loaded().ID, a.certs.Installed().ID, pidOf(a), s.Peers,
		config.Arbitrator != nil))
	a.donorOK.Store(config.StateTransfer.Method == servercnf.MariaBackup)
}

func pidOf(a *agent) int {
	if a.proc == nil {
		return 0
	}
	return a.proc.PID
}

// onPeers takes the other members' answers to a question that was asked at a time.
func (a *agent) onPeers(asked time.Time, views map[string]agentapi.PeerView) {
	if asked.Before(a.peersFrom) {
		return
	}
	a.peers = views
	a.findDonor()
	a.adoptLineage()
	if Serves(a.status) && a.run.served && time.Now().After(a.watchUntil) {
		a.asking.Set(peers.PaceIdle)
	}
}

// askAnew forgets what the others said: whoever is let go by an order joins nobody that served before it. The
// order is also how a member learns of a recovery, and it must not look for a component that has just ended.
func (a *agent) askAnew() {
	if a.proc == nil {
		a.peers, a.peersFrom = nil, time.Now()
	}
	a.asking.Now()
}

// watchPeers looks at the others often for a while: the component has changed, and whoever goes down
// before it knows of a new line of history would look as if it had gone on without the others.
func (a *agent) watchPeers() {
	a.watchUntil = time.Now().Add(watchTime)
	if a.run.served {
		a.asking.Set(peers.PaceJoining)
	}
	a.asking.Now()
}

// adoptLineage keeps a serving member's lineage that of its component: it is part of whatever line
// the component's other members are in.
func (a *agent) adoptLineage() {
	if !Serves(a.status) {
		return
	}
	for _, p := range primaryPeers(a.peers) {
		if p.ClusterUUID == a.status.ClusterUUID && p.State != galera.NodeJoining {
			a.orders.TakeLineage(p.Lineage)
		}
	}
}
