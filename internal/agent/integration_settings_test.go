//go:build integration

package agent_test

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func (s *scenario) liveSettings() {
	n := s.node(2)
	pid := n.serverPID()
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.TLS.Clients = galera.PolicyPreferred })
	n.until("open for clients without TLS", 60*time.Second, func(r agentapi.Report) bool {
		return r.TLS.Channels[agentapi.ChannelClients].Observed == agentapi.ObservedMixed && !r.Config.RestartNeeded
	})
	if _, err := n.plainSQL("SELECT 1"); err != nil {
		s.Errorf("a login without TLS: %v", err)
	}
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.TLS.Clients = galera.PolicyRequired })
	n.until("closed again", 60*time.Second, func(r agentapi.Report) bool {
		f := r.TLS.Channels[agentapi.ChannelClients]
		return f.Observed == agentapi.ObservedTLS && f.PlaintextRefused
	})
	if err := n.refusesPlaintext(); err != nil {
		s.Error(err)
	}
	if n.serverPID() != pid {
		s.Error("mariadbd was restarted")
	}
}

func (s *scenario) renew() {
	before := map[string]string{}
	for _, n := range s.world.nodes {
		before[n.name] = n.serverPID()
	}
	old, err := s.node(0).report()
	check(s.T, err)
	began := time.Now()
	s.world.publishCertificate(s.world.leaf())
	for _, n := range s.world.nodes {
		r := n.until("serving the new certificate", 60*time.Second, func(r agentapi.Report) bool {
			return r.TLS.PublishedSerial != old.TLS.PublishedSerial && r.TLS.LoadedSerial == r.TLS.PublishedSerial &&
				r.TLS.Channels[agentapi.ChannelReplication].Serial == r.TLS.PublishedSerial &&
				r.TLS.Channels[agentapi.ChannelClients].Serial == r.TLS.PublishedSerial
		})
		if r.Server.Size != 3 || n.serverPID() != before[n.name] {
			s.Errorf("%s: size %d, pid %s, was %s", n.name, r.Server.Size, n.serverPID(), before[n.name])
		}
	}
	s.Logf("published to observed on all: %s", time.Since(began).Round(time.Millisecond))
	s.write(0)
	s.intact()
}

func (s *scenario) badPair() {
	good, goodKey := s.world.leaf()
	other, _ := s.world.leaf()
	loaded, err := s.node(0).report()
	check(s.T, err)
	s.world.publishCertificate(other, goodKey)
	for _, n := range s.world.nodes {
		r := n.until("complaining", 30*time.Second, func(r agentapi.Report) bool { return r.TLS.Problem != "" })
		if r.TLS.LoadedSerial != loaded.TLS.LoadedSerial || r.Server == nil {
			s.Errorf("%s: %+v", n.name, r.TLS)
		}
	}
	s.world.publishCertificate(good, goodKey)
	for _, n := range s.world.nodes {
		n.until("content", 30*time.Second, func(r agentapi.Report) bool {
			return r.TLS.Problem == "" && r.TLS.LoadedSerial != loaded.TLS.LoadedSerial
		})
	}
}

func (s *scenario) stopStart() {
	n := s.node(1)
	began := time.Now()
	o, _ := n.send(agentapi.OrderStop, s.epoch, galera.Position{}, s.uuid)
	r := n.until("stopped", 60*time.Second, done(o.ID))
	s.Logf("stop: %s", time.Since(began).Round(time.Millisecond))
	if r.Phase != galera.PhaseStopped || !r.Position.Known() || r.Data != galera.DataPresent {
		s.Errorf("%+v", r)
	}
	n.stop(true)
	n.start()
	n.until("stopped still, after a new pod", 20*time.Second,
		func(r agentapi.Report) bool { return r.Phase == galera.PhaseStopped })
	s.write(0)
	if _, r := n.send(agentapi.OrderBootstrap, s.epoch+1, r.Position, s.uuid); r.State != agentapi.OrderRefused {
		s.Errorf("bootstrap next to a Primary component: %+v", r)
	}
	s.epoch++
	n.send(agentapi.OrderStart, s.epoch, galera.Position{}, s.uuid)
	n.until("started", 60*time.Second, synced(3))
	s.intact()
}
