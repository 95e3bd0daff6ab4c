package agent

import "github.com/galera-operator/galera-operator/internal/agentapi"

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
