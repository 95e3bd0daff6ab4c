package agent

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Paces of asking the other members.
const (
	paceWaiting = 500 * time.Millisecond
	paceJoining = time.Second
	paceIdle    = 15 * time.Second
	// watchTime is how long others are looked at often after the component has changed.
	watchTime = 20 * time.Second
)

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
	a.recordEnds()
	a.volume.Tick()
	if !a.draining {
		a.image.Tick()
	}
	a.loadCertificates()
	a.checkRoot()
	a.checkUpgrade()
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
	s := *a.subject.Load()
	s.Peers = s.Peers[:0:0]
	for _, p := range a.config.Node.Members {
		if p.Name != a.Name {
			s.Peers = append(s.Peers, p)
		}
	}
	s.Address, s.Arbitrator, s.Password = a.Address, a.config.Node.Arbitrator, a.rootPassword
	s.Running = a.status != nil && a.proc != nil
	s.TransferEncrypted = servercnf.TransferEncrypted(a.config.Output.MyCnf)
	s.Mode, s.Clients = "", ""
	if a.proc != nil {
		run := a.config.Running()
		s.Mode, s.Clients = run.Output.Socket, run.Clients
	}
	s.Roots = a.certs.Installed().Roots
	s.Pair = nil
	if a.certs.Installed().ID != "" {
		pair := a.certs.Installed().Pair
		s.Pair = &pair
	}
	content := fmt.Sprint(s.Running, s.Mode, s.Clients, s.TransferEncrypted, a.certs.Loaded().ID, a.certs.Installed().ID, pidOf(a), s.Peers, a.config.Node.Arbitrator != nil)
	changed := content != a.subjectWas
	if changed {
		s.Key, s.Since, a.subjectWas = s.Key+1, time.Now(), content
	}
	a.subject.Store(&s)
	a.donorOK.Store(a.config.Node.StateTransfer.Method == servercnf.MariaBackup)
	if changed {
		a.prover.Kick()
	}
}

func pidOf(a *agent) int {
	if a.proc == nil {
		return 0
	}
	return a.proc.PID
}

func (a *agent) setPace(pace time.Duration) {
	if time.Duration(a.pace.Swap(int64(pace))) > pace {
		a.askNow()
	}
}

func (a *agent) askNow() {
	select {
	case a.look <- struct{}{}:
	default:
	}
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
		a.setPace(paceIdle)
	}
}

// askAnew forgets what the others said: whoever is let go by an order joins nobody that served before it. The
// order is also how a member learns of a recovery, and it must not look for a component that has just ended.
func (a *agent) askAnew() {
	if a.proc == nil {
		a.peers, a.peersFrom = nil, time.Now()
	}
	a.askNow()
}

// watchPeers looks at the others often for a while: the component has changed, and whoever goes down
// before it knows of a new line of history would look as if it had gone on without the others.
func (a *agent) watchPeers() {
	a.watchUntil = time.Now().Add(watchTime)
	if a.run.served {
		a.setPace(paceJoining)
	}
	a.askNow()
}

// adoptLineage keeps a serving member's lineage that of its component: it is part of whatever line
// the component's other members are in.
func (a *agent) adoptLineage() {
	if !Serves(a.status) {
		return
	}
	for _, p := range primaryPeers(a.peers) {
		if p.ClusterUUID == a.status.ClusterUUID && p.State != galera.NodeJoining {
			a.takeLineage(p.Lineage)
		}
	}
}

func (a *agent) takeLineage(l galera.Lineage) {
	if l.Epoch > max(a.book.Content().Lineage.Epoch, a.lineAsked) {
		a.setLineage(l, func(error) {})
	}
}

// setLineage records the line; after a failure it is asked for again by whoever wants it.
func (a *agent) setLineage(l galera.Lineage, done func(error)) {
	a.lineAsked = l.Epoch
	a.record(a.book.SetLineage(l), func(err error) {
		if a.lineAsked == l.Epoch {
			a.lineAsked = 0
		}
		if err != nil {
			a.Logger.Error("the line of history could not be recorded", "error", err)
		}
		done(err)
	})
}
