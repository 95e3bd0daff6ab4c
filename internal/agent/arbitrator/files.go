package arbitrator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// readFiles is called when a mounted file may have changed. What was read is for the next garbd: the one
// that runs takes nothing over.
func (a *arbitrator) readFiles() {
	a.readCertificates()
	a.configProblem = ""
	if err := a.readConfig(); err != nil {
		a.configProblem = err.Error()
		a.Logger.Error("the configuration cannot be used", "error", err)
	}
	a.updateSubject()
}

// adoptInstalled takes over the private copy an earlier run of this container has made.
func (a *arbitrator) adoptInstalled() {
	if material, err := certs.Read(a.Places.PrivateTLS()); err == nil && len(material.Cert) > 0 {
		if b := certs.Judge(material, time.Now()); b.Problem == nil {
			a.installed = b
		}
	}
}

// readCertificates judges what is published and keeps a private copy when it is good and new.
func (a *arbitrator) readCertificates() {
	material, err := certs.Read(a.Places.TLS)
	if err != nil {
		a.Logger.Warn("the published certificate cannot be read", "error", err)
		return
	}
	a.published = certs.Judge(material, time.Now())
	if a.published.Problem == nil && a.published.ID != a.installed.ID {
		if err := certs.Install(a.published, a.Places); err != nil {
			a.Logger.Error("the certificate cannot be installed", "error", err)
			return
		}
		a.Logger.Info("certificate installed", "serial", a.published.Serial)
		a.installed = a.published
	}
	id := api.ControlIdentity(certs.Identify(a.installed, a.published))
	a.ident.Store(&id)
}

func (a *arbitrator) readConfig() error {
	data, err := os.ReadFile(filepath.Join(a.Places.Config, agentapi.ConfigKey))
	if err != nil {
		return err
	}
	var node agentapi.NodeConfig
	if err := json.Unmarshal(data, &node); err != nil {
		return fmt.Errorf("%s: %w", agentapi.ConfigKey, err)
	}
	if len(node.Members) == 0 {
		return fmt.Errorf("%s names no members", agentapi.ConfigKey)
	}
	if err := cmp.Or(node.CheckNamespace(a.Namespace), config.Check(node, node.Members[0].Name)); err != nil {
		return err
	}
	a.config = &node
	a.LogFormat(node.LogFormat)
	a.wanted = config.BuildArbitrator(config.Input{Config: node, Address: a.Address, Places: a.Places,
		CPUFlags: a.cpuFlags})
	return nil
}

// updateSubject passes the present state to the prover and the asker.
func (a *arbitrator) updateSubject() {
	if a.config == nil {
		return
	}
	before := *a.subject.Load()
	s := before
	s.Running, s.Socket = a.proc != nil, ""
	if a.proc != nil {
		s.Socket = a.run.Socket
	}
	s.Address, s.Peers, s.Cluster = a.Address, a.config.Members, a.config.Identity()
	s.Roots, s.Pair = a.installed.Roots, nil
	if a.installed.ID != "" {
		pair := a.installed.Pair
		s.Pair = &pair
	}
	if s.Roots != before.Roots && before.Roots != nil { // the nodes are given another pair at the same time
		s.NotBefore = time.Now().Add(certs.AfterReload)
	}
	changed := s.Running != before.Running || s.Socket != before.Socket || !slices.Equal(s.Peers, before.Peers) ||
		s.Roots != before.Roots
	if changed {
		s.Key, s.Since = s.Key+1, time.Now()
	}
	a.subject.Store(&s)
	if changed {
		a.prover.Kick()
	}
}

// phase returns what the arbitrator is doing.
func (a *arbitrator) phase() galera.Phase {
	switch {
	case a.proc == nil && (a.garbd == "" || a.failure != nil):
		return galera.PhaseFailed
	case a.proc == nil:
		return galera.PhaseWaiting
	case !a.stopping.IsZero():
		return galera.PhaseStopping
	case a.counted:
		return galera.PhaseRunning
	}
	return galera.PhaseStarting
}
