package agent

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const rootAgain = 2 * time.Second

// checkRoot sets root's password where it is not what the Secret says. The member with index 0 does it
// for all: the change is replicated.
func (a *agent) checkRoot() {
	if a.root.busy || !Serves(a.status) || a.status.Index != 0 || a.run.stopping || time.Now().Before(a.root.retryAt) {
		return
	}
	word := a.rootPassword()
	if word == "" {
		a.root.problem = "the root password has not been published"
		a.rootSet()
		return
	}
	hash := agentapi.NativeHash(word)
	if a.root.applied == hash {
		a.rootSet()
		return
	}
	a.root.busy = true
	proc := a.proc
	go func() {
		err := a.conn.EnsureRoot(context.Background(), word)
		a.post(func() {
			a.root.busy = false
			if err != nil {
				a.root.retryAt = time.Now().Add(rootAgain)
				a.Logger.Warn("root's password could not be set", "error", err)
				return
			}
			a.root.applied, a.root.problem = hash, ""
			if a.proc == proc {
				a.rootSet()
			}
		})
	}()
}

// rootPassword reads root's password, "" while there is none.
func (a *agent) rootPassword() string {
	password, err := os.ReadFile(filepath.Join(a.Places.Root, agentapi.RootPasswordKey))
	if err != nil {
		return ""
	}
	return agentapi.RootPassword(password)
}

// rootSet ends an initialisation, whose last part root's password is.
func (a *agent) rootSet() {
	if a.run.kind != agentapi.OrderInitialise || !a.run.served {
		return
	}
	if a.run.born {
		if a.current != nil && a.current.ID == a.run.order {
			a.finish(a.current.ID, agentapi.OrderDone, a.root.problem)
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
