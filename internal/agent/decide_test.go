package agent

import (
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	uuidA = "90e0b86f-e577-11f1-b9b1-fa90d5744545"
	uuidB = "11111111-2222-3333-4444-555555555555"
)

func at(seqno int64) galera.Position { return galera.Position{UUID: uuidA, Seqno: seqno} }

func primary(name string, edit func(*agentapi.PeerView)) map[string]agentapi.PeerView {
	p := agentapi.PeerView{Name: name, Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: uuidA, Position: at(100)}
	if edit != nil {
		edit(&p)
	}
	return map[string]agentapi.PeerView{name: p}
}
