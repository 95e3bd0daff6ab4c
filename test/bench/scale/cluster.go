package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	size = 3
	// startTime and joinTime are what a simulated server needs.
	startTime = 2 * time.Second
	joinTime  = time.Second
)

// cluster is a simulated Galera cluster.
type cluster struct {
	members  []*agent
	slowness atomic.Int64 // of the agents' answers

	mu       sync.Mutex
	history  string
	seqno    int64
	view     int64
	epoch    int64
	revision string
	bundle   certs.Bundle
}

// agent is a simulated agent with its server.
type agent struct {
	cluster *cluster
	name    string
	address string
	reports *api.ReportStore

	// The rest is the cluster's.
	up    bool
	data  bool
	order *agentapi.OrderRecord
}

// newCluster makes the nth cluster. Its agents have addresses of the loopback network.
func newCluster(key types.NamespacedName, n int) *cluster {
	c := &cluster{}
	for i := range size {
		a := &agent{cluster: c, name: fmt.Sprintf("%s-%d", key.Name, i), address: fmt.Sprintf("127.%d.%d.%d", 1+n/200,
			1+n%200, i+1)}
		a.reports = api.NewReportStore(agentapi.Report{Name: a.name, Boot: "1", Protocol: agentapi.Protocol,
			Phase: galera.PhaseWaiting, Data: galera.DataEmpty})
		c.members = append(c.members, a)
	}
	return c
}

func (c *cluster) member(i int) *agent { return c.members[i] }

// change changes the cluster, and reports.
func (c *cluster) change(edit func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	edit()
	for _, a := range c.members {
		a.reports.Set(a.report())
	}
}

func (c *cluster) load(data map[string]string) {
	var config agentapi.NodeConfig
	if text, ok := data[agentapi.ConfigKey]; ok && json.Unmarshal([]byte(text), &config) == nil {
		c.change(func() { c.revision = config.Revision })
	}
}

func (c *cluster) install(data map[string][]byte) {
	b := certs.Judge(certs.Material{Cert: data["tls.crt"], Key: data["tls.key"], CA: data["ca.crt"],
		ControlCA: data[agentapi.ControlCAKey], ClientCA: data[agentapi.ClientCAKey]}, time.Now())
	if b.Problem == nil {
		c.change(func() { c.bundle = b })
	}
}

// crash ends all servers at once.
func (c *cluster) crash() {
	c.change(func() {
		for _, a := range c.members {
			a.up = false
		}
	})
}

// whole reports whether all servers are Primary.
func (c *cluster) whole() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up() == size
}

func (c *cluster) up() (n int) {
	for _, a := range c.members {
		if a.up {
			n++
		}
	}
	return n
}

// report is what an agent says. The cluster is locked.
func (a *agent) report() agentapi.Report {
	c := a.cluster
	r := agentapi.Report{Name: a.name, Protocol: agentapi.Protocol, Phase: galera.PhaseWaiting, Data: galera.DataEmpty,
		Order:  a.order,
		Config: agentapi.ConfigReport{Loaded: c.revision}}
	r.Image.ServerVersion, r.Image.Provider, r.Image.ProviderVersion = "11.8.6-MariaDB",
		"/usr/lib/galera/libgalera_smm.so", "26.4.23"
	b := c.bundle
	r.TLS.Installed, r.TLS.PublishedSerial, r.TLS.PublishedCAs = b.ID, b.Serial, b.CAs
	if a.data {
		r.Data, r.Position = galera.DataPresent, galera.Position{UUID: c.history, Seqno: c.seqno}
		r.Lineage.Epoch = c.epoch
	}
	if !a.up {
		return r
	}
	fact := agentapi.ChannelFact{Observed: agentapi.ObservedTLS, Protocol: "TLSv1.3", Cipher: "TLS_AES_128_GCM_SHA256",
		Serial:   b.Serial,
		Verified: true, PlaintextRefused: true, CheckedAt: time.Now()}
	r.Phase = galera.PhaseRunning
	r.Config.Socket = galera.SocketStrict
	r.TLS.Loaded, r.TLS.LoadedSerial, r.TLS.TrustedCAs = b.ID, b.Serial, b.CAs
	r.TLS.Channels = map[string]agentapi.ChannelFact{agentapi.ChannelReplication: fact,
		agentapi.ChannelStateTransfer: fact, agentapi.ChannelClients: fact}
	r.TLS.Peers = map[string]agentapi.ChannelFact{}
	r.Server = &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: c.history,
		ViewID: c.view, Size: c.up(), Ready: true}
	for _, m := range c.members {
		r.TLS.Peers[m.name] = fact
		if m.up {
			r.Server.Members = append(r.Server.Members, m.name)
		}
	}
	return r
}

// carryOut takes an order, and begins what a real agent needs seconds for.
func (a *agent) carryOut(_ context.Context, o agentapi.Order) (agentapi.OrderResult, error) {
	c, known := a.cluster, false
	var state agentapi.OrderState
	c.change(func() {
		if known = a.order != nil && a.order.ID == o.ID; !known {
			a.order = &agentapi.OrderRecord{Order: o, State: agentapi.OrderAccepted, At: time.Now()}
			if o.Kind == agentapi.OrderRestart {
				a.up = false
			}
			if o.Kind == agentapi.OrderStart {
				a.done()
			}
		}
		state = a.order.State
	})
	switch {
	case known:
	case o.Kind == agentapi.OrderInitialise, o.Kind == agentapi.OrderBootstrap:
		time.AfterFunc(startTime, func() { c.bootstrap(a, o) })
	default:
		time.AfterFunc(startTime, c.join)
	}
	return agentapi.OrderResult{State: state}, nil
}

// done ends the order. The cluster is locked; reports hold the record of before.
func (a *agent) done() {
	if a.order != nil {
		record := *a.order
		record.State = agentapi.OrderDone
		a.order = &record
	}
}

func (c *cluster) bootstrap(a *agent, o agentapi.Order) {
	c.change(func() {
		if c.history == "" {
			c.history = uuid.NewString()
		}
		c.seqno, c.view, c.epoch = c.seqno+1, c.view+1, o.Epoch
		a.up, a.data = true, true
		a.done()
	})
	time.AfterFunc(joinTime, c.join)
}

// join lets everyone in who waits, as agents do that see a Primary component.
func (c *cluster) join() {
	c.change(func() {
		if c.up() == 0 {
			return
		}
		c.view++
		for _, m := range c.members {
			m.up, m.data = true, true
			m.done()
		}
	})
}
