package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// ProbeHandler is the probe port's handler.
type ProbeHandler struct {
	Reports *ReportStore
	// Alive returns when the agent's loop last ran.
	Alive func() time.Time
	// DonorReady reports whether a node that gives its state to another still serves (it does while the
	// transfer method does not block it).
	DonorReady func() bool
	// Metrics answers Prometheus.
	Metrics http.Handler
}

// stuck is how long the loop may stand still before the agent counts as dead.
const stuck = 45 * time.Second

// Handler returns the routes. Any client that reaches the pod may call them.
func (p ProbeHandler) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+agentapi.PathLive, p.Live)
	mux.HandleFunc("GET "+agentapi.PathReady, p.ready)
	mux.Handle("GET "+agentapi.PathMetrics, p.Metrics)
	return mux
}

// Live answers whether the loop turns.
func (p ProbeHandler) Live(w http.ResponseWriter, _ *http.Request) {
	if still := time.Since(p.Alive()); still > stuck {
		http.Error(w, fmt.Sprintf("the agent's loop has not turned for %s", still.Round(time.Second)),
			http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

func (p ProbeHandler) ready(w http.ResponseWriter, _ *http.Request) {
	if why := notReady(p.Reports.Get(), p.DonorReady()); why != "" {
		http.Error(w, why, http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

// notReady returns the reason why a node must get no clients, "" when it may.
func notReady(r agentapi.Report, donorReady bool) string {
	switch {
	case r.Draining:
		return "draining"
	case r.Phase != galera.PhaseRunning || r.Server == nil:
		return "mariadbd does not answer: " + string(r.Phase)
	case r.Server.Component != galera.ComponentPrimary:
		return "the component is " + string(r.Server.Component)
	case r.Server.ClusterUUID == "" || r.Server.ClusterUUID == galera.ZeroUUID:
		return "the component has no history"
	case !r.Server.Ready:
		return "wsrep is not ready"
	case r.Data == galera.DataIncomplete:
		return "the received SST is not synced to disk yet"
	case r.Server.State == galera.NodeSynced, r.Server.State == galera.NodeDonor && donorReady:
		return ""
	}
	return "the node is " + string(r.Server.State)
}

// PeerView is the part of a report other members may know.
func PeerView(r agentapi.Report) agentapi.PeerView {
	v := agentapi.PeerView{Name: r.Name, Cluster: r.Cluster, Draining: r.Draining, Data: r.Data, Position: r.Position,
		Lineage: r.Lineage, LoggedSince: r.LoggedSince,
		Primary: r.Primary != "" && r.Primary == r.Name, DataBytes: r.DataBytes, Donation: r.Donation,
		LastDonation: r.LastDonation, Settling: r.Settling, Scheduler: r.Scheduler,
		Channel: r.Channel, ChannelUntil: r.ChannelUntil, ChannelFenced: r.ChannelFenced, ChannelEnds: r.ChannelEnds,
		ChannelSource: r.ChannelSource,
		Version:       r.Image.ServerVersion, Tables: r.Tables, Socket: r.Config.Socket}
	// A server that was sent SIGKILL makes nothing Primary, however long its end takes.
	v.Forming = !r.Killed && r.Order != nil && r.Order.State == agentapi.OrderAccepted && orders.MakesPrimary(r.Order.Kind)
	if r.Server != nil {
		v.Component, v.State, v.ClusterUUID = r.Server.Component, r.Server.State, r.Server.ClusterUUID
		v.Members = r.Server.Members
	}
	return v
}
