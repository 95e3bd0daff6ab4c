package arbitrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/metrics"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// publish makes the Report of the present state.
func (a *arbitrator) publish(step Step) {
	if a.handover.Holds(a.proc == nil || a.counted && len(a.proved.Channels) > 0) {
		return
	}
	r := agentapi.Report{
		Name: a.Name, Protocol: agentapi.Protocol, AgentVersion: a.Version, AgentDigest: a.Digest, AgentArch: runtime.GOARCH,
		Phase: a.phase(), Draining: a.draining, Restarts: a.restarts, Failure: a.failure, Primary: a.primary,
		Image:  agentapi.ImageReport{ProviderVersion: a.version, CPUFlags: a.cpuFlags},
		Config: agentapi.ConfigReport{Problem: a.configProblem, RestartNeeded: a.stale()},
		TLS: agentapi.TLSReport{Installed: a.installed.ID, PublishedSerial: a.published.Serial, PublishedCAs: a.published.CAs,
			Channels: maps.Clone(a.proved.Channels), Peers: maps.Clone(a.proved.Peers)},
	}
	if a.garbd == "" {
		r.Image.Missing = []string{"garbd"}
		r.Failure = &agentapi.Failure{Reason: agentapi.FailureNoArbitrator,
			Message: "the image has no garbd (in Debian the package galera-arbitrator-4): use an image that has it"}
	}
	r.Cluster = agentapi.Identity{Namespace: a.Namespace}
	if a.config != nil {
		r.Cluster, r.Config.Loaded = a.config.Identity(), a.config.Revision
	}
	if a.published.Problem != nil {
		r.TLS.Problem = a.published.Problem.Error()
	}
	if a.proc != nil {
		r.Arbitration = &agentapi.Arbitration{Process: a.process, Counted: a.counted}
		r.Config.Socket, r.Config.Suites = a.run.Socket, a.run.Suites
		r.TLS.Loaded, r.TLS.LoadedSerial, r.TLS.TrustedCAs = a.pair.ID, a.pair.Serial, slices.Clone(a.pair.CAs)
		if a.pair.ID != "" {
			notAfter := a.pair.NotAfter.UTC()
			r.TLS.LoadedNotAfter = &notAfter
		}
	} else {
		r.Waiting = step.Why
	}
	a.handover.Report(&r)
	a.reports.Set(r)
}

// serve opens the two ports.
func (a *arbitrator) serve(ctx context.Context) error {
	a.beat.Store(time.Now().UnixNano())
	if err := api.Serve(ctx, &a.sockets, agentapi.ProbePort, a.probes(), nil, a.Logger); err != nil {
		return err
	}
	control := api.ControlHandler{Reports: a.reports, Order: a.takeOrder, Primary: func(p agentapi.Primary) {
		a.post(func() { a.primary = p.Name })
	}, Replace: a.handover.Take}
	return api.Serve(ctx, &a.sockets, agentapi.ControlPort, control.Handler(),
		api.TLSConfig(func() api.ControlIdentity { return *a.ident.Load() }), a.Logger)
}

// takeOrder takes the one order there is: to end the garbd it names. Another one follows as soon as there is
// something to arbitrate. One that is gone has been ended.
func (a *arbitrator) takeOrder(ctx context.Context, o agentapi.Order) (agentapi.OrderResult, error) {
	if o.Kind != agentapi.OrderRestart {
		return agentapi.OrderResult{State: agentapi.OrderRefused, Message: fmt.Sprintf("an arbitrator knows no %s", o.Kind)},
			nil
	}
	answer := make(chan agentapi.OrderResult, 1)
	a.post(func() {
		if a.proc == nil || a.process != o.ID {
			answer <- agentapi.OrderResult{State: agentapi.OrderDone}
			return
		}
		a.ordered = true
		answer <- agentapi.OrderResult{State: agentapi.OrderAccepted}
	})
	select {
	case r := <-answer:
		return r, nil
	case <-ctx.Done():
		return agentapi.OrderResult{}, errors.New("too busy")
	}
}

// probes are for kubelet, Prometheus and people.
func (a *arbitrator) probes() http.Handler {
	mux := http.NewServeMux()
	probe := api.ProbeHandler{Reports: a.reports, Alive: func() time.Time { return time.Unix(0, a.beat.Load()) }}
	mux.HandleFunc("GET "+agentapi.PathLive, probe.Live)
	mux.HandleFunc("GET "+agentapi.PathReady, func(w http.ResponseWriter, _ *http.Request) {
		if r := a.reports.Get(); r.Draining || r.Arbitration == nil || !r.Arbitration.Counted {
			http.Error(w, "no member counts this arbitrator: "+r.Waiting, http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	own := metrics.NewCollector(metrics.ArbitratorFamilies(),
		func() metrics.Facts { return metrics.Facts{Report: a.reports.Get(), Now: time.Now()} })
	mux.Handle("GET "+agentapi.PathMetrics, metrics.NewHandler(own, nil))
	return mux
}
