package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/image"
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
	a.readConfig()
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

// readConfig takes a new NodeConfig over. One that cannot be used changes nothing.
func (a *agent) readConfig() {
	data, err := os.ReadFile(filepath.Join(a.Places.Config, agentapi.ConfigKey))
	if err != nil {
		a.configTrouble(err)
		return
	}
	var config agentapi.NodeConfig
	if err := json.Unmarshal(data, &config); err != nil {
		a.configTrouble(fmt.Errorf("%s: %w", agentapi.ConfigKey, err))
		return
	}
	if err := servercnf.Check(config, a.Name); err != nil {
		a.configTrouble(err)
		return
	}
	output := servercnf.Build(servercnf.Input{
		CPUFlags: a.image.CPUFlags,
		Config:   config, Name: a.Name, Address: a.Address, Provider: a.image.Provider, User: a.user,
		Places: a.Places, OpenSSLTool: image.Have("openssl"), OldSocat: a.image.OldSocat,
	})
	if a.config != nil && a.config.Revision == config.Revision && sameOutput(a.output, output) {
		a.config.Hibernated, a.configProblem = config.Hibernated, ""
		return
	}
	if known, err := a.checkSettings(config, output); !known {
		return
	} else if err != nil {
		a.configTrouble(err)
		return
	}
	a.configProblem = ""
	if err := a.writeConfig(output); err != nil {
		a.configTrouble(err)
		return
	}
	a.Logger.Info("configuration read", "revision", config.Revision)
	a.config, a.output = &config, output
	a.image.Missing = servercnf.Missing(servercnf.Needed(config), image.Have)
	a.retryAt = time.Time{}
	a.updateSubject()
	a.setLive()
}

func sameOutput(x, y servercnf.Output) bool {
	return x.MyCnf.Render() == y.MyCnf.Render() && x.OpenSSL == y.OpenSSL && x.Scripts == y.Scripts
}

func (a *agent) configTrouble(err error) {
	if a.configProblem != err.Error() {
		a.Logger.Error("the configuration cannot be used", "error", err)
	}
	a.configProblem = err.Error()
}

// writeConfig puts the rendered files where mariadbd, OpenSSL and the scripts read them. The
// scripts read [sst] at every transfer, so this takes effect for transfers at once.
func (a *agent) writeConfig(o servercnf.Output) error {
	for path, text := range map[string]string{
		a.Places.OpenSSLCnf(): o.OpenSSL,
		a.Places.ScriptEnv():  o.Scripts,
		a.Places.MyCnf():      o.MyCnf.Render(),
	} {
		if err := datadir.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// setLive gives a running server the settings it can take over without a restart.
func (a *agent) setLive() {
	if a.setting || !Serves(a.status) || a.config == nil || a.liveTried == a.liveKey() {
		return
	}
	a.setting = true
	key, proc, output, clients := a.liveKey(), a.proc, a.output, a.config.TLS.Clients
	// Without certificates in the running server, requiring TLS would lock every client out.
	options := output.Live
	if a.run.output.Hash != output.Hash {
		options = nil
	}
	go func() {
		ctx := context.Background()
		err := a.conn.SetGlobal(ctx, options)
		a.post(func() {
			a.setting = false
			if a.proc != proc {
				return
			}
			if err != nil {
				a.Logger.Warn("settings could not be changed", "error", err)
				return
			}
			a.liveTried = key
			if len(options) > 0 {
				a.run.clients = clients
			}
			a.updateSubject()
		})
	}()
}

// liveKey changes when live settings have to be set again.
func (a *agent) liveKey() string {
	return fmt.Sprint(a.run.output.Hash, a.output.Hash, a.output.Live, a.proc.PID)
}

// updateSubject tells the prover and the asker what there is now.
func (a *agent) updateSubject() {
	if a.config == nil {
		return
	}
	s := *a.subject.Load()
	s.Peers = s.Peers[:0:0]
	for _, p := range a.config.Members {
		if p.Name != a.Name {
			s.Peers = append(s.Peers, p)
		}
	}
	s.Address, s.Arbitrator, s.Password = a.Address, a.config.Arbitrator, a.rootPassword
	s.Running = a.status != nil && a.proc != nil
	s.TransferEncrypted = servercnf.TransferEncrypted(a.output.MyCnf)
	s.Mode, s.Clients = "", ""
	if a.proc != nil {
		s.Mode, s.Clients = a.run.output.Socket, a.run.clients
	}
	s.Roots = a.certs.Installed().Roots
	s.Pair = nil
	if a.certs.Installed().ID != "" {
		pair := a.certs.Installed().Pair
		s.Pair = &pair
	}
	content := fmt.Sprint(s.Running, s.Mode, s.Clients, s.TransferEncrypted, a.certs.Loaded().ID, a.certs.Installed().ID, pidOf(a), s.Peers, a.config.Arbitrator != nil)
	changed := content != a.subjectWas
	if changed {
		s.Key, s.Since, a.subjectWas = s.Key+1, time.Now(), content
	}
	a.subject.Store(&s)
	a.donorOK.Store(a.config.StateTransfer.Method == servercnf.MariaBackup)
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
