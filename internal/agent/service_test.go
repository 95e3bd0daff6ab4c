package agent

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestOnlyOneThatServedLeavesService(t *testing.T) {
	a := &agent{}
	in := agentapi.Server{Component: galera.ComponentPrimary, Ready: true}
	alone := agentapi.Server{Component: galera.ComponentNonPrimary}
	see := func(s agentapi.Server) {
		a.status = &s
		a.watchService()
	}
	if see(alone); a.service.Away() {
		t.Fatal("a start is no loss of service")
	}
	a.run.served = true
	if see(alone); !a.service.Away() {
		t.Fatal("it is away")
	}
	if see(in); a.service.Away() {
		t.Fatal("it is back")
	}
	a.leaveService()
	a.run.stopping = true
	see(in)
	if !a.service.Away() {
		t.Error("it says that it serves, but it stops and refuses queries")
	}
}
