package agent

import (
	"fmt"

	"github.com/galera-operator/galera-operator/internal/agent/prove"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
)

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
	a.vitals.SetDonorReady(config.StateTransfer.Method == servercnf.MariaBackup)
}

func pidOf(a *agent) int {
	if a.proc == nil {
		return 0
	}
	return a.proc.PID
}
